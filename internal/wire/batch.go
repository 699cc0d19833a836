package wire

// MaxBatch is how many messages a batch may have. Each may start work, so the
// length in bytes alone does not bound what one batch can cost.
const MaxBatch = 1000

// Batch splits a JSON-RPC batch (section 6), which is an array, into its
// elements, in their order. The parts alias raw. If raw starts as anything but an array,
// isBatch is false and nothing else is known of raw.
//
// The array as a whole must be valid JSON, or none of it can be told; what its
// elements are is for [Scan] to find out, one by one, for each has its own
// answer. So Batch does not look at UniqueKeys. An empty batch is [NotMessage],
// one of more than [MaxBatch] elements [TooLarge]. The error, if any, is an
// [*Error].
func Batch(raw []byte, lim Limits) (parts [][]byte, isBatch bool, err error) {
	s, fault := newScanner(raw, lim)
	if fault != nil {
		return nil, false, fault
	}
	s.unique = false
	start := space(raw, 0)
	if start == len(raw) || raw[start] != '[' {
		return nil, false, nil
	}
	i, more := s.enter(start, ']')
	for more {
		// An element may be as deep as a message on its own.
		end, fault := s.value(i, 0)
		if fault != nil {
			return nil, true, fault
		}
		if len(parts) == MaxBatch {
			return nil, true, &Error{Reason: TooLarge, Offset: i, detail: "more messages in a batch than allowed"}
		}
		parts = append(parts, raw[i:end:end])
		if i, more, fault = s.next(end, ']'); fault != nil {
			return nil, true, fault
		}
	}
	if i = space(raw, i); i < len(raw) {
		return nil, true, malformed(i, "something follows the value")
	}
	if len(parts) == 0 {
		return nil, true, &Error{Reason: NotMessage, Offset: start, detail: "an empty batch"}
	}
	return parts, true, nil
}

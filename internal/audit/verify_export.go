package audit

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// longestLine is more than an entry has.
const longestLine = 16 << 20

// VerifyExport reads an export in JSONL and tells what in it is not as it was
// written; head is as for [Log.Verify]. Each entry proves itself with the hash
// of the one before it, which stands beside it, so that also what a filter has
// picked out can be verified; its last line proves that it is whole. An error
// with the code audit_export_invalid says which line is none of an export.
func VerifyExport(r io.Reader, head *Head) (*Report, error) {
	x := &exportVerifier{report: &Report{}, head: head}
	in := bufio.NewReaderSize(r, 64<<10)
	all := sha256.New()
	for n := 1; ; n++ {
		text, err := readLine(in)
		if errors.Is(err, io.EOF) && len(text) == 0 {
			break
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, invalidLine(n, "it cannot be read, or is too long", err)
		}
		if x.sealed {
			return nil, invalidLine(n, "it comes after the last one", nil)
		}
		if err := x.line(n, text, hex.EncodeToString(all.Sum(nil))); err != nil {
			return nil, err
		}
		all.Write(text)
	}
	x.end()
	if !x.sealed {
		x.changed("its last line is missing, and with it perhaps more of its end")
	}
	return x.report, nil
}

func invalidLine(n int, detail string, err error) error {
	return hub.E(message.AuditExportInvalid, err, "line", strconv.Itoa(n), "detail", detail)
}

// readLine returns a line with its end.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		some, err := in.ReadSlice('\n')
		line = append(line, some...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > longestLine {
			return line, err
		}
	}
}

type exportVerifier struct {
	report  *Report
	head    *Head
	at      *verifier
	entries int64
	sealed  bool
}

// line verifies a line; before is the digest of all before it.
func (x *exportVerifier) line(n int, text []byte, before string) error {
	if bytes.HasPrefix(text, []byte(`{"export":`)) {
		return x.seal(n, text, before)
	}
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return invalidLine(n, "it is not the JSON of an entry", err)
	}
	if l.Node == "" {
		return invalidLine(n, "it names no chain", nil)
	}
	x.entries++
	if x.at == nil || x.at.Node != l.Node {
		x.end()
		x.at = newVerifier(x.report, l.Node, nil)
		if x.head != nil && x.head.Node == l.Node {
			x.at.heads = []position{{x.head.Seq, x.head.Hash}}
		}
	}
	x.at.exported(&l)
	return nil
}

// exported verifies an entry with the hash that stands beside it.
func (v *verifier) exported(l *line) {
	e := &entry{node: l.Node, seq: l.Seq, at: l.At, kind: l.Kind, call: l.Call, body: string(l.Body), hash: l.Hash}
	switch {
	case v.Entries == 0:
		v.First = e.seq
		if e.seq > 1 {
			v.report.Gaps++
		}
	case e.seq <= v.Last:
		v.report.add(v.Node, e.seq, message.AuditEntryChanged) // it was moved
	case e.seq > v.Last+1:
		v.report.Gaps++
	case l.Prev != v.Hash:
		v.report.add(v.Node, e.seq, message.AuditEntryChanged)
	}
	v.Entries++
	right := l.Prev == "" && e.seq > 1 || e.sum(l.Prev) == e.hash && (e.seq > 1 || l.Prev == origin(v.Node))
	if !right {
		v.report.add(v.Node, e.seq, message.AuditEntryChanged)
	}
	v.prev, v.other = l.Prev, ""
	v.signature(e, right)
	v.head(e)
	v.Last, v.Hash = e.seq, e.hash
}

// end ends a chain.
func (x *exportVerifier) end() {
	if x.at != nil {
		x.at.end()
		x.at = nil
	}
}

// seal verifies the last line.
func (x *exportVerifier) seal(n int, text []byte, before string) error {
	var s seal
	if err := json.Unmarshal(text, &s); err != nil {
		return invalidLine(n, "it is not the JSON of a last line", err)
	}
	x.sealed = true
	e := &s.Export
	again, err := encodeLine(&s)
	switch {
	case err != nil:
		return invalidLine(n, "it is not the JSON of a last line", err)
	case e.Entries != x.entries:
		x.changed("it has " + strconv.FormatInt(x.entries, 10) + " entries, and was written with " + strconv.FormatInt(e.Entries, 10))
	case e.SHA256 != before:
		x.changed("a byte of it was changed, or a line was moved")
	case !e.claim().signedBy(e.Node, e.Key, e.Signature), !bytes.Equal(again, text):
		x.changed("its last line does not bear the signature of the chain's key")
	}
	return nil
}

func (x *exportVerifier) changed(detail string) {
	x.report.add("", 0, message.AuditExportChanged, "detail", detail)
}

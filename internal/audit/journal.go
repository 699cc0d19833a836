package audit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/toolcrib/toolcrib/internal/atomicfile"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// journal is what stands between a call and the database: what may change
// something is appended to a file, which costs a hundredth of a transaction, and
// taken over into the chain with all that came meanwhile. There are two files, and
// one is written while the database takes over what the other one has.
//
// A file is written from its beginning again and again. What is left in it of an
// earlier generation does not count, as every record is of the generation that
// the file's head names. It is one goroutine's at a time; see [inbox].
type journal struct {
	segments [2]segment
	written  int    // which of them is written
	used     bool   // it has records
	free     bool   // the other one has none that the database lacks
	last     uint64 // generation
	buf      []byte // what is to be written
	broken   error  // why nothing is written any more until the database has all there is

	sync func(*os.File) error // makes what a file holds outlast a loss of power
}

// segment is one of the files.
type segment struct {
	file       *os.File
	generation uint64
	size       int64
}

// longestSegment is how large a file may become while the database cannot be
// written: what was refused is told in it as well.
const longestSegment = 64 << 20

var errBehind = errors.New("more waits for the database than there is room for")

const (
	segmentMagic = "TCAUDIT1"
	segmentHead  = len(segmentMagic) + 8 + 4 // the generation, and a sum of it
	recordHead   = 4 + 4                     // the length of what follows, and a sum of it
)

// castagnoli is the table of the sums.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// openJournal opens the files in dir, which is made if it is not there, and
// returns what stands in them, in the order in which it came. Nothing may be
// written before that is in the database and reset was called.
func openJournal(dir string) (j *journal, left []*op, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	j = &journal{sync: dataSync}
	defer func() {
		if err != nil {
			_ = j.close() // the error is the one before
		}
	}()
	read := make([][]*op, len(j.segments))
	for i := range j.segments {
		s := &j.segments[i]
		if s.file, err = os.OpenFile(filepath.Join(dir, "journal."+strconv.Itoa(i)), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
			return nil, nil, err
		}
		text, err := io.ReadAll(s.file)
		if err != nil {
			return nil, nil, err
		}
		s.generation, read[i] = readSegment(text)
		j.last = max(j.last, s.generation)
	}
	atomicfile.SyncDir(dir)
	atomicfile.SyncDir(filepath.Dir(dir))
	if j.segments[0].generation > j.segments[1].generation {
		slices.Reverse(read)
	}
	return j, slices.Concat(read...), nil
}

// reset empties the journal.
func (j *journal) reset() error {
	for i := range j.segments {
		if err := j.segments[i].file.Truncate(0); err != nil {
			return err
		}
	}
	j.begin(0)
	j.free = true
	return nil
}

func (j *journal) close() error {
	var err error
	for i := range j.segments {
		if f := j.segments[i].file; f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}

// segment is the one that is written.
func (j *journal) segment() *segment { return &j.segments[j.written] }

// append puts a record into what is to be written.
func (j *journal) append(o *op) {
	s := j.segment()
	if j.used = true; j.broken == nil && s.size+int64(len(j.buf)) > longestSegment {
		j.broken = errBehind
	}
	if j.broken == nil {
		j.buf = appendRecord(j.buf, s.generation, o)
	}
}

// write writes what is to be written. After an error nothing is written any more:
// whether the file can be read up to there is not known.
func (j *journal) write() error {
	if j.broken == nil && len(j.buf) > 0 {
		s := j.segment()
		if _, err := s.file.WriteAt(j.buf, s.size); err != nil {
			j.broken = err
		} else {
			s.size += int64(len(j.buf))
		}
	}
	const most = 1 << 20
	if j.buf = j.buf[:0]; cap(j.buf) > most {
		j.buf = nil
	}
	return j.broken
}

// begin has what comes from now on written to a file, from its beginning.
func (j *journal) begin(n int) {
	j.last++
	j.written, j.used, j.free = n, false, false
	s := j.segment()
	s.generation, s.size = j.last, 0
	j.buf = appendHead(j.buf[:0], s.generation)
}

// trim makes files empty that hold only what the database has as well: it may be
// too old to be kept.
func (j *journal) trim() error {
	if !j.free {
		return nil
	}
	err := j.segments[1-j.written].file.Truncate(0)
	if s := j.segment(); !j.used {
		err = errors.Join(err, s.file.Truncate(0))
		s.size = 0
		j.buf = appendHead(j.buf[:0], s.generation)
	}
	return err
}

// journalError says that the journal cannot be written.
func journalError(err error, path string) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return hub.E(message.StoreFull, err, "store", path)
	}
	return hub.E(message.AuditJournalUnusable, err, "path", path)
}

func appendHead(dst []byte, generation uint64) []byte {
	dst = append(dst, segmentMagic...)
	start := len(dst)
	dst = binary.LittleEndian.AppendUint64(dst, generation)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli()))
}

// appendRecord appends an op: the length of the rest, a sum that covers the
// generation too, and then the kind, the time, the call's id, the head and the tail.
func appendRecord(dst []byte, generation uint64, o *op) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, recordHead)...)
	dst = append(dst, o.kind[0])
	dst = binary.AppendVarint(dst, o.at)
	dst = binary.AppendUvarint(dst, uint64(len(o.call)))
	dst = append(dst, o.call...)
	dst = binary.AppendUvarint(dst, uint64(len(o.head)))
	dst = append(dst, o.head...)
	dst = append(dst, o.tail...)
	body := dst[start+recordHead:]
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(body))) //nolint:gosec // of a record, which is bounded
	binary.LittleEndian.PutUint32(dst[start+4:], recordSum(generation, body))
	return dst
}

func recordSum(generation uint64, body []byte) uint32 {
	var g [8]byte
	binary.LittleEndian.PutUint64(g[:], generation)
	return crc32.Update(crc32.Checksum(g[:], castagnoli()), castagnoli(), body)
}

// readSegment reads the records of a file as far as they are whole and of its
// generation, which is 0 if it has none.
func readSegment(text []byte) (generation uint64, ops []*op) {
	if len(text) < segmentHead || string(text[:len(segmentMagic)]) != segmentMagic {
		return 0, nil
	}
	named := text[len(segmentMagic) : segmentHead-4]
	if crc32.Checksum(named, castagnoli()) != binary.LittleEndian.Uint32(text[segmentHead-4:]) {
		return 0, nil
	}
	generation = binary.LittleEndian.Uint64(named)
	for text = text[segmentHead:]; len(text) >= recordHead; {
		length, sum := int64(binary.LittleEndian.Uint32(text)), binary.LittleEndian.Uint32(text[4:])
		if length > int64(len(text)-recordHead) {
			break
		}
		body := text[recordHead : recordHead+length]
		if recordSum(generation, body) != sum {
			break
		}
		o, err := readRecord(body)
		if err != nil {
			break
		}
		ops = append(ops, o)
		text = text[recordHead+length:]
	}
	return generation, ops
}

var errRecord = errors.New("no record of a journal")

func readRecord(body []byte) (*op, error) {
	if len(body) == 0 {
		return nil, errRecord
	}
	o := &op{}
	for _, k := range []kind{kindIntent, kindCall, kindBegun, kindAct} {
		if k[0] == body[0] {
			o.kind = k
		}
	}
	at, n := binary.Varint(body[1:])
	if o.kind == "" || n <= 0 {
		return nil, errRecord
	}
	o.at = at
	call, rest, err := readText(body[1+n:])
	if err != nil {
		return nil, err
	}
	o.call = string(call)
	if o.head, o.tail, err = readText(rest); err != nil {
		return nil, err
	}
	return o, nil
}

// readText reads a text that is preceded by its length.
func readText(body []byte) (text, rest []byte, err error) {
	length, n := binary.Uvarint(body)
	if n <= 0 || length > uint64(len(body)-n) {
		return nil, nil, fmt.Errorf("%w: a text is cut off", errRecord)
	}
	body = body[n:]
	return body[:length:length], body[length:], nil
}

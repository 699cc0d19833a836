package transport

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/toolcrib/toolcrib/internal/wire"
)

const (
	// blockSize is the size of the read buffer, and of the blocks in which a
	// line that does not fit into it is gathered.
	blockSize = 64 << 10

	// maxBatch bounds what one write to the system takes together, and the
	// buffer that a stream keeps for it.
	maxBatch = 64 << 10

	// maxJunk is how much of a junk line is kept. It is more than anybody
	// shows, since half a secret at the cut would not be found.
	maxJunk = 8 << 10

	// blanks is the white space of JSON that can be within a line.
	blanks = " \t\r"
)

// ErrNotSent is in the error for a message of which provably no byte left this
// program, so that sending it again repeats nothing.
var ErrNotSent = errors.New("the message was not sent")

var errStreamClosed = errors.New("the stream is closed")

// LinesOptions set up a [Lines].
type LinesOptions struct {
	// MaxLine is the most bytes that a message to be read may have; 0 stands
	// for 64 MiB.
	MaxLine int

	// Junk, when set, is given each line that is no message, without the white
	// space around it and cut at 8 KiB. It runs within Read; the line is its to
	// keep.
	Junk func(line []byte)
}

// Lines is a duplex stream of messages with one message on each line: stdio of
// MCP ("Transports", the same in all revisions).
//
// Read is for one goroutine; everything else may be called from any.
type Lines struct {
	opt    LinesOptions
	in     *bufio.Reader
	blocks sync.Pool // of *[blockSize]byte
	junked atomic.Int64
	ended  error // why Read ended

	out       io.WriteCloser
	closeOnce sync.Once
	closeErr  error
	writes    sync.Pool // of *write

	mu      sync.Mutex
	changed *sync.Cond // wakes the writer: there is work for it, or fault was set
	waiting []*write   // what nobody has begun to write, in order
	busy    bool       // somebody writes to out: the writer, or a caller to instant
	fault   error      // why nothing can be written any more

	instant *instant // nil if out cannot be written to without waiting
	buf     []byte   // for whoever is busy
}

// NewLines makes a stream that reads from r and writes to w, and must be closed
// in the end. Close closes w, which must end a write that hangs in it; r stays
// its owner's.
func NewLines(r io.Reader, w io.WriteCloser, opt LinesOptions) *Lines {
	return newLines(bufio.NewReaderSize(r, blockSize), w, opt)
}

func newLines(in *bufio.Reader, w io.WriteCloser, opt LinesOptions) *Lines {
	if opt.MaxLine <= 0 {
		opt.MaxLine = DefaultMaxMessage
	}
	l := &Lines{opt: opt, in: in, out: w, instant: newInstant(w)}
	l.changed = sync.NewCond(&l.mu)
	go l.writeAll()
	return l
}

// Junked is the number of lines so far that were skipped because they were no
// messages. Blank lines do not count.
func (l *Lines) Junked() int64 { return l.junked.Load() }

// Read returns the next message, without its line end and the white space
// around it. The bytes are the caller's, with no spare capacity.
//
// Blank lines are skipped, and so is junk such as banners and log lines: any
// line that does not begin with "{", or with "[" and then "{" or "]".
//
// A line of more than MaxLine bytes is discarded as it comes, and Read returns
// a [*TooLargeError]; the next Read goes on behind it. Every other error is
// final, and is [io.EOF] when the stream ended or was closed on this side. A
// last line without a line end is a line too.
func (l *Lines) Read() ([]byte, error) {
	for l.ended == nil {
		msg, err := l.readLine()
		if msg != nil || err != nil {
			return msg, err
		}
	}
	return nil, l.ended
}

// readLine reads one line. It returns nothing for a line that is to be skipped.
// At the end of the stream it sets l.ended.
func (l *Lines) readLine() ([]byte, error) {
	var (
		kind   = blankLine
		length int // from the first byte that is not blank
		line   = gathered{blocks: &l.blocks}
	)
	defer line.release()
	for {
		piece, err := l.in.ReadSlice('\n')
		if err == nil {
			piece = piece[:len(piece)-1]
		}
		if kind == blankLine {
			piece = bytes.TrimLeft(piece, blanks)
		}
		kind = kind.after(piece)
		length += len(piece)
		tooLong := length > l.opt.MaxLine
		if tooLong && kind == messageLine {
			line.release()
			piece = nil
		} else if tooLong || kind == junkLine {
			piece = piece[:min(len(piece), max(0, maxJunk-line.size))]
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			line.add(piece)
			continue
		}
		if err != nil {
			l.ended = final(err)
			if err != io.EOF {
				return nil, nil // half a line that nobody will complete
			}
		}
		switch {
		case kind == blankLine:
			return nil, nil
		case kind != messageLine:
			l.skip(line.join(piece))
			return nil, nil
		case tooLong:
			return nil, &TooLargeError{Limit: l.opt.MaxLine}
		default:
			return line.join(piece), nil
		}
	}
}

// skip accounts for a line that is no message.
func (l *Lines) skip(line []byte) {
	l.junked.Add(1)
	if l.opt.Junk != nil {
		l.opt.Junk(line[:min(len(line), maxJunk)])
	}
}

// final is what the reader of a stream learns from the error that ended it.
// A stream that this side has closed has just ended.
func final(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
		return io.EOF
	}
	return fmt.Errorf("read the stream: %w", err)
}

// lineKind is what a line is, judged by how it begins.
type lineKind uint8

const (
	blankLine   lineKind = iota // white space so far
	openLine                    // "[" and white space so far: may be a batch, or "[INFO] ready"
	messageLine                 // a message, or broken JSON, which others judge
	junkLine
)

// after is the kind of a line of which one more piece is known.
func (k lineKind) after(piece []byte) lineKind {
	for _, c := range piece {
		if k == messageLine || k == junkLine {
			break
		}
		switch {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		case k == blankLine && c == '[':
			k = openLine
		case c == '{', k == openLine && c == ']':
			k = messageLine
		default:
			k = junkLine
		}
	}
	return k
}

// message returns what a frame or an event carries, without white space before
// it; false if that is no message, by the rule for lines.
func message(data []byte) ([]byte, bool) {
	data = bytes.TrimLeft(data, blanks+"\n")
	return data, blankLine.after(data) == messageLine
}

// gathered holds the pieces of a line that was longer than the read buffer, in
// blocks that are used again: growing one slice would cost a large line
// several times its size.
type gathered struct {
	blocks *sync.Pool
	held   []*[blockSize]byte
	size   int
}

func (g *gathered) add(piece []byte) {
	for len(piece) > 0 {
		at := g.size % blockSize
		if at == 0 {
			block, ok := g.blocks.Get().(*[blockSize]byte)
			if !ok {
				block = new([blockSize]byte)
			}
			g.held = append(g.held, block)
		}
		n := copy(g.held[len(g.held)-1][at:], piece)
		g.size += n
		piece = piece[n:]
	}
}

// join returns what was gathered and then last as one line in new bytes,
// without the white space at its end.
func (g *gathered) join(last []byte) []byte {
	last = bytes.TrimRight(last, blanks)
	size := g.size
	if len(last) == 0 {
		size = g.trimmed()
	}
	line := make([]byte, size+len(last))
	copied := 0
	for _, block := range g.held {
		copied += copy(line[copied:size], block[:])
	}
	copy(line[copied:], last)
	return line
}

// trimmed is the size of what was gathered without the white space at its end.
func (g *gathered) trimmed() int {
	size := g.size
	for size > 0 && strings.IndexByte(blanks, g.held[(size-1)/blockSize][(size-1)%blockSize]) >= 0 {
		size--
	}
	return size
}

func (g *gathered) release() {
	for _, block := range g.held {
		g.blocks.Put(block)
	}
	g.held, g.size = nil, 0
}

// write is a message on its way out.
type write struct {
	msg  []byte
	sent int        // how much of msg and its line end went out already
	done chan error // takes the one result
}

// Write sends a message and returns once the system has all of it, or ctx has
// ended. Messages go out whole, in the order of the calls; those of one moment
// go out together. Line breaks in msg, which in valid JSON are white space,
// are sent as spaces.
//
// If errors.Is(err, [ErrNotSent]), no byte of the message has left and none
// will. Any other error leaves open whether the peer has got it: also when ctx
// ended, a message is finished once it was begun. Then msg must stay as it is
// for as long as the stream is open; in all other cases it is the caller's
// again.
func (l *Lines) Write(ctx context.Context, msg []byte) error {
	if ctx.Err() != nil {
		return notSent(context.Cause(ctx))
	}
	w, ok := l.writes.Get().(*write)
	if !ok {
		w = &write{done: make(chan error, 1)}
	}
	w.msg, w.sent = wire.OneLine(msg), 0
	if l.enqueue(w) {
		l.writeInstantly(w)
	}
	select {
	case err := <-w.done:
		l.recycle(w)
		return err
	case <-ctx.Done():
	}
	if l.withdraw(w) {
		l.recycle(w)
		return notSent(context.Cause(ctx))
	}
	select {
	case err := <-w.done:
		l.recycle(w)
		return err
	default:
		// The writer is at it, and its result will come too late.
	}
	return fmt.Errorf("write a message: %w", context.Cause(ctx))
}

// enqueue leaves a message to the writer. It returns true if the caller is to
// write it instantly instead: that saves two changes of goroutine, which cost
// more than the write.
func (l *Lines) enqueue(w *write) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault != nil {
		w.done <- notSent(l.fault)
		return false
	}
	if l.instant != nil && !l.busy && len(l.waiting) == 0 && len(w.msg) < maxBatch {
		l.busy = true
		return true
	}
	// No bound is needed: each entry is a caller that waits.
	l.waiting = append(l.waiting, w)
	l.changed.Signal()
	return false
}

// writeInstantly writes what the system takes without a wait, which is nearly
// always all, and leaves the rest to the writer.
func (l *Lines) writeInstantly(w *write) {
	l.buf = append(append(l.buf[:0], w.msg...), '\n')
	sent, err := l.instant.write(l.buf)
	all := sent == len(l.buf)

	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		err = l.fault // closed meanwhile: the writer is gone
	}
	switch {
	case all:
		w.done <- nil
		err = nil
	case err == nil:
		w.sent = sent
		l.waiting = slices.Insert(l.waiting, 0, w)
	default:
		w.done <- cutOff(sent, len(l.buf), err)
	}
	l.idle(err)
}

// withdraw takes back a message of which nothing was written.
func (l *Lines) withdraw(w *write) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, w)
	if i < 0 || w.sent > 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	return true
}

// recycle keeps w for another message. Its result must have been received, or
// never come.
func (l *Lines) recycle(w *write) {
	w.msg = nil
	l.writes.Put(w)
}

// Close closes the stream to the peer and ends what waits to be written; a
// message that is being written is cut off. It does not end Read, which ends
// as the peer hangs up. Close may be called again and returns the same.
func (l *Lines) Close() error {
	l.closeOnce.Do(func() {
		l.mu.Lock()
		if l.fault == nil {
			l.fault = errStreamClosed
		}
		l.changed.Signal()
		l.mu.Unlock()
		// A child's input is also closed by the end of the child.
		if err := l.out.Close(); !errors.Is(err, os.ErrClosed) {
			l.closeErr = err
		}
	})
	return l.closeErr
}

// idle ends the writing of whoever was busy; an error is the end of it all. It
// must be called with mu held.
func (l *Lines) idle(err error) {
	l.busy = false
	if err != nil && l.fault == nil {
		l.fault = fmt.Errorf("write to the stream: %w", err)
	}
	if l.fault != nil || len(l.waiting) > 0 {
		l.changed.Signal()
	}
}

// writeAll is the goroutine that writes what cannot be written instantly. It
// can wait for a peer that does not read, while no caller has to.
func (l *Lines) writeAll() {
	var batch []*write
	for {
		batch = l.take(batch[:0])
		if len(batch) == 0 {
			return
		}
		err := l.writeBatch(batch)
		clear(batch)
		l.mu.Lock()
		l.idle(err)
		l.mu.Unlock()
	}
}

// take waits for messages and returns those that go into one write: one at
// least, and none after the stream has failed.
func (l *Lines) take(batch []*write) []*write {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.fault == nil && (l.busy || len(l.waiting) == 0) {
		l.changed.Wait()
	}
	if l.fault != nil {
		for _, w := range l.waiting {
			w.done <- cutOff(w.sent, len(w.msg)+1, l.fault)
		}
		l.waiting = nil
		return nil
	}
	size := 0
	for _, w := range l.waiting {
		size += len(w.msg) + 1
		if len(batch) > 0 && size > maxBatch {
			break
		}
		batch = append(batch, w)
	}
	l.waiting = slices.Delete(l.waiting, 0, len(batch))
	l.busy = true
	return batch
}

// writeBatch writes messages and tells each caller how its message fared.
func (l *Lines) writeBatch(batch []*write) error {
	var (
		sent = batch[0].sent // counts from the beginning of the first message
		buf  = l.buf[:0]
		err  error
	)
	// What does not fit into buf is written from where it is, all but its end:
	// with that the line end needs no write of its own.
	if first := batch[0].msg; len(first) >= maxBatch {
		const last = 4 << 10
		sent, err = l.out.Write(first[:len(first)-last])
		buf = append(append(buf, first[len(first)-last:]...), '\n')
	} else {
		for _, w := range batch {
			buf = append(append(buf, w.msg...), '\n')
		}
	}
	l.buf = buf
	if err == nil {
		var n int
		n, err = l.out.Write(buf[batch[0].sent:])
		sent += n
	}
	begin := 0
	for _, w := range batch {
		size := len(w.msg) + 1
		if err == nil {
			w.done <- nil
		} else {
			w.done <- cutOff(sent-begin, size, err)
		}
		begin += size
	}
	return err
}

// cutOff is the result for a message of which sent of size bytes went out when
// the stream failed.
func cutOff(sent, size int, err error) error {
	switch {
	case sent >= size:
		return nil
	case sent <= 0:
		return notSent(err)
	default:
		return fmt.Errorf("write a message, of which %d of %d bytes went out: %w", sent, size, err)
	}
}

func notSent(err error) error { return fmt.Errorf("%w: %w", ErrNotSent, err) }

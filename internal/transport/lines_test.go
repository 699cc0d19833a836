package transport

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// discard is the writing side of a stream that is only read.
type discard struct{ io.Writer }

func (discard) Close() error { return nil }

// reader makes a stream that reads r by a buffer of the smallest size.
func reader(t testing.TB, r io.Reader, opt LinesOptions) *Lines {
	t.Helper()
	l := newLines(bufio.NewReaderSize(r, 16), discard{io.Discard}, opt)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// readAll reads to the end and returns what Read did, errors as text.
func readAll(t testing.TB, l *Lines) (got []string, end error) {
	t.Helper()
	for {
		msg, err := l.Read()
		switch {
		case errors.As(err, new(*TooLargeError)):
			got = append(got, err.Error())
		case err != nil:
			if again, same := l.Read(); again != nil || same != err {
				t.Errorf("after the end: %q, %v", again, same)
			}
			return got, err
		default:
			if cap(msg) != len(msg) {
				t.Errorf("%d bytes in %d", len(msg), cap(msg))
			}
			got = append(got, string(msg))
		}
	}
}

func TestRead(t *testing.T) {
	const over = "a message of more than 40 bytes"
	long := strings.Repeat("x", 100)
	tests := []struct {
		name string
		in   string
		want []string
		junk []string
	}{
		{"nothing", "", nil, nil},
		{"messages", "{\"a\":1}\n[{}]\n{}\n", []string{`{"a":1}`, `[{}]`, `{}`}, nil},
		{"carriage returns", "{\"a\":1}\r\n\r\n{}\r\n", []string{`{"a":1}`, `{}`}, nil},
		{"white space", " \t{} \t\n" + strings.Repeat(" ", 50) + "\n" + strings.Repeat(" ", 50) + "{}" + strings.Repeat(" ", 20) + "\n", []string{"{}", "{}"}, nil},
		{"white space only behind the buffer", `{"a":"23456789"}` + "\r\n", []string{`{"a":"23456789"}`}, nil},
		{"no last line end", "{}\n{\"a\":1}", []string{`{}`, `{"a":1}`}, nil},
		{"half a message", "{}\n{\"a\"", []string{`{}`, `{"a"`}, nil},
		{"banner", "Welcome!\n{}\n  DEBUG: {}\r\nbye", []string{"{}"}, []string{"Welcome!", "DEBUG: {}", "bye"}},
		{"log lines in brackets", "[INFO] {}\n[12:30] x\n[]\n[ {}]\n[\n", []string{"[]", "[ {}]"}, []string{"[INFO] {}", "[12:30] x", "["}},
		{"late brackets", "[" + strings.Repeat(" ", 30) + "{}]\n[" + strings.Repeat(" ", 30) + "x\n", []string{"[" + strings.Repeat(" ", 30) + "{}]"}, []string{"[" + strings.Repeat(" ", 30) + "x"}},
		{"as long as allowed", "{" + long[:38] + "}\n{}\n", []string{"{" + long[:38] + "}", "{}"}, nil},
		{"too long", "{" + long[:39] + "}\n{}\n{" + long + "}\n\n{\"a\":1}\n", []string{over, "{}", over, `{"a":1}`}, nil},
		{"too long at the end", "{}\n{" + long, []string{"{}", over}, nil},
		{"long junk", long + "\n{}\n", []string{"{}"}, []string{long}},
		{"broken", "{x}\n{\n}\n\x00\n", []string{"{x}", "{"}, []string{"}", "\x00"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var junk []string
			l := reader(t, strings.NewReader(test.in), LinesOptions{MaxLine: 40, Junk: func(line []byte) { junk = append(junk, string(line)) }})
			got, err := readAll(t, l)
			if err != io.EOF {
				t.Errorf("end: %v", err)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
			if !slices.Equal(junk, test.junk) || l.Junked() != int64(len(test.junk)) {
				t.Errorf("junk %q (%d), want %q", junk, l.Junked(), test.junk)
			}
		})
	}
}

func TestJunkIsCut(t *testing.T) {
	var junk []byte
	l := reader(t, strings.NewReader(strings.Repeat("x", 3*maxJunk)+"\n{}"), LinesOptions{Junk: func(line []byte) { junk = line }})
	if got, _ := readAll(t, l); !slices.Equal(got, []string{"{}"}) {
		t.Errorf("%q", got)
	}
	if len(junk) != maxJunk || cap(junk) != maxJunk {
		t.Errorf("%d bytes in %d", len(junk), cap(junk))
	}
}

func TestReadErrors(t *testing.T) {
	broken := errors.New("broken")
	half := func(err error) io.Reader {
		return io.MultiReader(strings.NewReader("{}\n{\"half\""), iotest.ErrReader(err))
	}
	for _, test := range []struct{ in, want error }{
		{broken, broken},
		{os.ErrClosed, io.EOF},
		{io.ErrClosedPipe, io.EOF},
	} {
		got, err := readAll(t, reader(t, half(test.in), LinesOptions{}))
		if !slices.Equal(got, []string{"{}"}) || !errors.Is(err, test.want) {
			t.Errorf("%v: %q, %v", test.in, got, err)
		}
	}
}

// pattern is an endless reader of a byte.
type pattern byte

func (p pattern) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(p)
	}
	return len(b), nil
}

func TestLongLinesAndMemory(t *testing.T) {
	const (
		mib   = 1 << 20
		limit = 8 * mib
		slack = mib
	)
	line := func(first string, size int64) io.Reader {
		return io.MultiReader(strings.NewReader(first), io.LimitReader(pattern('x'), size-int64(len(first))), strings.NewReader("\n{}"))
	}
	for _, test := range []struct {
		name string
		in   io.Reader
		most uint64
		ok   func(msg []byte, err error) bool
	}{
		{"too long", line("{", 24*mib), limit + slack, func(_ []byte, err error) bool { return errors.As(err, new(*TooLargeError)) }},
		{"as long as allowed", line("{", limit), 2*limit + slack, func(msg []byte, _ error) bool { return len(msg) == limit && msg[limit-1] == 'x' }},
		{"junk", line("x", 24*mib), slack, nil},
		{"white space", io.MultiReader(io.LimitReader(pattern(' '), 24*mib), strings.NewReader("\n{}")), slack, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := NewLines(test.in, discard{io.Discard}, LinesOptions{MaxLine: limit})
			defer l.Close()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if test.ok != nil {
				if msg, err := l.Read(); !test.ok(msg, err) {
					t.Errorf("%d bytes, %v", len(msg), err)
				}
			}
			if msg, err := l.Read(); string(msg) != "{}" || err != nil {
				t.Errorf("the next line: %.20q, %v", msg, err)
			}
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > test.most {
				t.Errorf("%d MiB allocated", used/mib)
			}
		})
	}
}

// FuzzLines checks that however the bytes come in, the messages are those of
// the whole cut at its line ends.
func FuzzLines(f *testing.F) {
	f.Add([]byte("{}\n[{}]\r\n\n junk\n{\"a\":1}"), []byte{1, 2, 3})
	f.Add([]byte("[ \n[x\n[]\n[                    {}]\n"), []byte{16, 15, 17})
	f.Add([]byte("{01234567890123456789012345678901234567890123456789}\n{}\n"), []byte{255})
	f.Add([]byte(" \t \r                    {}            \r \n\r\r\n\x00\n}{\n"), []byte{})
	f.Fuzz(func(t *testing.T, data, cuts []byte) {
		const limit = 48
		var want, wantJunk []string
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			line = bytes.TrimLeft(line, " \t\r")
			inside := ""
			if len(line) > 0 {
				inside = strings.TrimLeft(string(line[1:]), " \t\r")
			}
			switch {
			case len(line) == 0:
			case line[0] != '{' && (line[0] != '[' || !strings.HasPrefix(inside, "{") && !strings.HasPrefix(inside, "]")):
				wantJunk = append(wantJunk, strings.TrimRight(string(line[:min(len(line), maxJunk)]), " \t\r"))
			case len(line) > limit:
				want = append(want, (&TooLargeError{Limit: limit}).Error())
			default:
				want = append(want, strings.TrimRight(string(line), " \t\r"))
			}
		}
		var junk []string
		l := reader(t, &cutReader{data, cuts}, LinesOptions{MaxLine: limit, Junk: func(line []byte) { junk = append(junk, string(line)) }})
		got, err := readAll(t, l)
		if err != io.EOF {
			t.Errorf("end: %v", err)
		}
		if !slices.Equal(got, want) || !slices.Equal(junk, wantJunk) {
			t.Errorf("got  %q junk %q\nwant %q junk %q", got, junk, want, wantJunk)
		}
	})
}

// cutReader gives out data in pieces of the sizes of cuts, then the rest.
type cutReader struct{ data, cuts []byte }

func (r *cutReader) Read(b []byte) (int, error) {
	if len(r.cuts) > 0 && len(b) > 0 {
		b = b[:min(len(b), int(r.cuts[0]))]
		r.cuts = r.cuts[1:]
	}
	n := copy(b, r.data)
	r.data = r.data[n:]
	if len(r.data) == 0 && (n == 0 || n%2 == 0) { // the end comes with the data, or after it
		return n, io.EOF
	}
	return n, nil
}

package transport_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/toolcrib/toolcrib/internal/transport"
)

func readEvents(t testing.TB, r io.Reader, limit int) ([]transport.Event, error) {
	t.Helper()
	er := transport.NewEventReader(r, limit)
	defer er.Release()
	var all []transport.Event
	for {
		e, err := er.Next()
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
}

// The cases are those of the HTML standard, section 9.2.6, and what servers do.
func TestEventReader(t *testing.T) {
	for name, tt := range map[string]struct {
		in   string
		want []transport.Event
	}{
		"one":            {"data: x\n\n", []transport.Event{{Data: []byte("x")}}},
		"no space":       {"data:x\n\n", []transport.Event{{Data: []byte("x")}}},
		"two spaces":     {"data:  x\n\n", []transport.Event{{Data: []byte(" x")}}},
		"several lines":  {"data: a\ndata: b\ndata\n\n", []transport.Event{{Data: []byte("a\nb\n")}}},
		"CR LF":          {"event: message\r\nid: 7\r\ndata: x\r\n\r\ndata: y\r\n\r\n", []transport.Event{{Name: "message", ID: "7", Data: []byte("x")}, {ID: "7", Data: []byte("y")}}},
		"CR":             {"data: x\r\rdata: y\r\r", []transport.Event{{Data: []byte("x")}, {Data: []byte("y")}}},
		"comments":       {": hello\n\n:\n\ndata: x\n: between\n\n", []transport.Event{{Data: []byte("x")}}},
		"priming":        {"id: 1\ndata: \n\ndata: x\n\n", []transport.Event{{ID: "1", Data: []byte{}}, {ID: "1", Data: []byte("x")}}},
		"retry":          {"retry: 1500\n\nretry: soon\n\ndata: x\n\n", []transport.Event{{Retry: 1500 * time.Millisecond}, {Data: []byte("x")}}},
		"id with NUL":    {"id: a\x00\ndata: x\n\n", []transport.Event{{Data: []byte("x")}}},
		"byte order":     {"\xef\xbb\xbfdata: x\n\n", []transport.Event{{Data: []byte("x")}}},
		"unknown fields": {"dat: no\ndata: x\ndatax: no\n\n", []transport.Event{{Data: []byte("x")}}},
		"unfinished":     {"data: x\n\ndata: lost", []transport.Event{{Data: []byte("x")}}},
		"empty":          {"", nil},
	} {
		for how, wrap := range map[string]func(io.Reader) io.Reader{
			"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader,
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				got, err := readEvents(t, wrap(strings.NewReader(tt.in)), 1<<20)
				if !errors.Is(err, io.EOF) {
					t.Fatal(err)
				}
				if len(got) != len(tt.want) {
					t.Fatalf("got %q, want %q", got, tt.want)
				}
				for i := range got {
					if got[i].Name != tt.want[i].Name || got[i].ID != tt.want[i].ID || got[i].Retry != tt.want[i].Retry || !bytes.Equal(got[i].Data, tt.want[i].Data) {
						t.Errorf("event %d: got %q, want %q", i, got[i], tt.want[i])
					}
				}
			})
		}
	}
}

func TestEventReaderLimit(t *testing.T) {
	big := strings.Repeat("x", 100_000)
	for _, in := range []string{"data: " + big + "\n\n", big + "\n\n", ": " + big + "\n\n", "data: " + big} {
		_, err := readEvents(t, strings.NewReader(in), 50_000)
		if _, ok := errors.AsType[*transport.TooLargeError](err); !ok {
			t.Errorf("%.20q...: %v", in, err)
		}
		if got, err := readEvents(t, strings.NewReader(in), 200_000); !errors.Is(err, io.EOF) {
			t.Errorf("%.20q...: %d events, %v", in, len(got), err)
		}
	}
}

// An event that is too large costs itself alone, wherever the limit is reached
// and however its lines end.
func TestEventReaderGoesOn(t *testing.T) {
	big := strings.Repeat("x", 1000)
	for _, in := range []string{
		"data: " + big + "|", "data: " + big + "|data: " + big + "|id: 1|", big + "|data|", ": " + big + "|data|",
		"data: x|data: " + big[:500] + "|", // reached at the end of a line
		strings.Repeat("data|", 600),       // by the ends of lines alone
		strings.Repeat("data:|", 600),
	} {
		for _, end := range []string{"\n", "\r\n", "\r"} {
			for how, wrap := range map[string]func(io.Reader) io.Reader{
				"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader,
			} {
				stream := strings.ReplaceAll(in+"|data: y||data: z||", "|", end)
				er := transport.NewEventReader(wrap(strings.NewReader(stream)), 500)
				_, err := er.Next()
				if _, ok := errors.AsType[*transport.TooLargeError](err); !ok {
					t.Errorf("%.20q, %q, %s: %v", in, end, how, err)
				}
				for _, want := range []string{"y", "z"} {
					if e, err := er.Next(); string(e.Data) != want {
						t.Errorf("%.20q, %q, %s: then %q, %v, want %q", in, end, how, e.Data, err, want)
					}
				}
				er.Release()
			}
		}
	}
}

// FuzzEventReader: how a stream is cut into reads makes no difference, and a
// message that is framed as an event comes back.
func FuzzEventReader(f *testing.F) {
	f.Add("data: x\n\n", "m")
	f.Add("event: message\r\ndata: {\"a\":1}\r\n\r\n: c\rdata\r\r", "{}")
	f.Add("\xef\xbb\xbfid\n\nid:\x00\nretry: 9\ndata:", "\n")
	f.Add(strings.Repeat("data\n", 7)+"\n", "x")
	f.Fuzz(func(t *testing.T, stream, msg string) {
		whole, err1 := readEvents(t, strings.NewReader(stream), 1000)
		bytewise, err2 := readEvents(t, iotest.OneByteReader(strings.NewReader(stream)), 1000)
		if (err1 == io.EOF) != (err2 == io.EOF) || len(whole) != len(bytewise) {
			t.Fatalf("%q: %q, %v; byte by byte %q, %v", stream, whole, err1, bytewise, err2)
		}
		for i := range whole {
			if !bytes.Equal(whole[i].Data, bytewise[i].Data) || whole[i].ID != bytewise[i].ID {
				t.Fatalf("%q: %q, byte by byte %q", stream, whole[i], bytewise[i])
			}
		}
		// With a limit that is reached, it still comes to the end, in the same steps.
		if a, b := steps(stream, iotest.OneByteReader), steps(stream, func(r io.Reader) io.Reader { return r }); a != b || strings.HasPrefix(a, "more") {
			t.Fatalf("%q: %s; byte by byte %s", stream, b, a)
		}
		if strings.ContainsAny(msg, "\r\n") || msg == "" {
			return
		}
		got, _ := readEvents(t, strings.NewReader("event: message\ndata: "+msg+"\n\n"), 1<<20)
		if len(got) != 1 || string(got[0].Data) != msg {
			t.Fatalf("%q came back as %q", msg, got)
		}
	})
}

// steps is what reading a stream with a small limit gives, in short.
func steps(stream string, wrap func(io.Reader) io.Reader) string {
	const limit = 4
	er := transport.NewEventReader(wrap(strings.NewReader(stream)), limit)
	defer er.Release()
	var b strings.Builder
	for {
		e, err := er.Next()
		_, tooLarge := errors.AsType[*transport.TooLargeError](err)
		switch {
		case tooLarge:
			b.WriteString("!")
		case err != nil:
			return b.String()
		case len(e.Data) > limit:
			return "more than the limit"
		default:
			b.WriteString("<" + string(e.Data) + ">")
		}
	}
}

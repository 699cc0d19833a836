package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/proc"
)

func startChild(t testing.TB, mode string, opt LinesOptions) *Stdio {
	t.Helper()
	s, err := StartStdio(proc.Spec{
		Command: os.Args[0],
		Env: map[string]string{
			childMode:    mode,
			"GORACE":     "atexit_sleep_ms=0",
			"GOCOVERDIR": t.TempDir(),
		},
	}, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStdio(t *testing.T) {
	var junk []string
	s := startChild(t, "echo", LinesOptions{Junk: func(line []byte) { junk = append(junk, string(line)) }})
	large := fmt.Sprintf(`{"large":%q}`, strings.Repeat("x", 300_000))
	sent := make(chan error, 1)
	go func() {
		sent <- errors.Join(
			s.Write(t.Context(), []byte(`{"id":1}`)),
			s.Write(t.Context(), []byte(large)),
			s.Write(t.Context(), []byte("{\n\"id\":\n2}")),
		)
	}()
	for _, want := range []string{`{"id":1}`, large, `{ "id": 2}`} {
		if msg, err := s.Read(); string(msg) != want || err != nil {
			t.Fatalf("%.30q, %v, want %.30q", msg, err, want)
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if want := []string{"Welcome to the echo server!", "[INFO] ready"}; !slices.Equal(junk, want) || s.Junked() != 2 {
		t.Errorf("junk %q", junk)
	}
	for range 2 {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if got := s.Process().Exit(); got != "exit status 0" {
		t.Errorf("exit %q", got)
	}
	if msg, err := s.Read(); err != io.EOF {
		t.Errorf("read after the end: %q, %v", msg, err)
	}
	if err := s.Write(t.Context(), []byte("{}")); !errors.Is(err, ErrNotSent) {
		t.Errorf("write after the end: %v", err)
	}
}

func TestStdioChildCrashes(t *testing.T) {
	s := startChild(t, "crash", LinesOptions{})
	for _, want := range []string{`{"jsonrpc":"2.0"}`, `{"half"`} {
		if msg, err := s.Read(); string(msg) != want || err != nil {
			t.Errorf("%q, %v, want %q", msg, err, want)
		}
	}
	if _, err := s.Read(); err != io.EOF {
		t.Errorf("the end: %v", err)
	}
	<-s.Process().Done()
	if err := s.Write(t.Context(), []byte("{}")); !errors.Is(err, ErrNotSent) {
		t.Errorf("write after the end: %v", err)
	}
	if exit, stderr := s.Process().Exit(), s.Process().Stderr(); exit != "exit status 7" || stderr != "out of luck\n" {
		t.Errorf("exit %q, standard error %q", exit, stderr)
	}
}

func TestStdioDoesNotStart(t *testing.T) {
	if _, err := StartStdio(proc.Spec{Command: "./none", Dir: t.TempDir()}, LinesOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// One message to a child and back, one at a time.
func BenchmarkStdio(b *testing.B) {
	for _, size := range []int{150, 16 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := startChild(b, "echo", LinesOptions{})
			msg := fmt.Appendf(nil, `{"a":%q}`, bytes.Repeat([]byte("x"), size-8))
			b.SetBytes(int64(2 * len(msg)))
			b.ReportAllocs()
			sent := make(chan error, 1)
			for b.Loop() {
				// What does not fit into the pipe must be read while it is written.
				if size > maxBatch {
					go func() { sent <- s.Write(b.Context(), msg) }()
				} else {
					sent <- s.Write(b.Context(), msg)
				}
				if got, err := s.Read(); err != nil || len(got) != len(msg) {
					b.Fatal(len(got), err)
				}
				if err := <-sent; err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Many at a time, as from many callers.
func BenchmarkStdioParallel(b *testing.B) {
	s := startChild(b, "echo", LinesOptions{})
	msg := fmt.Appendf(nil, `{"a":%q}`, bytes.Repeat([]byte("x"), 142))
	b.ReportAllocs()
	b.SetParallelism(8)
	back := make(chan struct{}, 1024)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, err := s.Read(); err != nil {
				return
			}
			back <- struct{}{}
		}
	}()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := s.Write(b.Context(), msg); err != nil {
				b.Error(err)
				return
			}
			<-back
		}
	})
	_ = s.Close(b.Context())
	<-done
}

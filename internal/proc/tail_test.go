package proc

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestTail(t *testing.T) {
	var tail Tail
	if tail.String() != "" || tail.Lines() != nil {
		t.Error("the zero Tail is not empty")
	}
	n, err := tail.Write([]byte("one\r\ntwo\n\nfour"))
	if n != 14 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if got := tail.String(); got != "one\r\ntwo\n\nfour" {
		t.Errorf("%q", got)
	}
	if got := tail.Lines(); !slices.Equal(got, []string{"one", "two", "", "four"}) {
		t.Errorf("%q", got)
	}
}

// However it is written, a Tail ends as the whole does, and begins with a line.
func TestTailKeepsTheEnd(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var tail Tail
		var all strings.Builder
		for all.Len() < 3*tailSize {
			var chunk strings.Builder
			for chunk.Len() < random.IntN(tailSize+tailSize/2) {
				chunk.WriteString(strings.Repeat(string(rune('a'+random.IntN(26))), random.IntN(90)) + "\n")
			}
			_, _ = tail.Write([]byte(chunk.String()))
			all.WriteString(chunk.String())
		}
		end := all.String()[all.Len()-tailSize:]
		if _, want, _ := strings.Cut(end, "\n"); tail.String() != want {
			t.Fatalf("wrong end of %d bytes", all.Len())
		}
	}
}

func TestTailOfOneLongLine(t *testing.T) {
	var tail Tail
	_, _ = tail.Write([]byte(strings.Repeat("x", 2*tailSize)))
	if got := tail.String(); got != strings.Repeat("x", tailSize) {
		t.Errorf("%d bytes", len(got))
	}
}

func TestTailFromMany(t *testing.T) {
	var tail Tail
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				_, _ = tail.Write([]byte("a whole line\n"))
				_ = tail.String()
			}
		})
	}
	all.Wait()
	for _, line := range tail.Lines() {
		if line != "a whole line" {
			t.Fatalf("%q", line)
		}
	}
}

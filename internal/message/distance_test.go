package message_test

import (
	"testing"

	"github.com/toolcrib/toolcrib/internal/message"
)

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "", 3},
		{"abc", "abc", 0},
		{"abc", "abd", 1},
		{"abc", "acb", 2},
		{"kitten", "sitting", 3},
		{"Berlin", "Berlin/", 1},
	} {
		if got := message.Distance(test.a, test.b); got != test.want {
			t.Errorf("from %q to %q: %d, want %d", test.a, test.b, got, test.want)
		}
		if back := message.Distance(test.b, test.a); back != test.want {
			t.Errorf("from %q to %q: %d, want %d", test.b, test.a, back, test.want)
		}
	}
}

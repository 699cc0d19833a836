//go:build unix

package proc

import "testing"

func BenchmarkStartStop(b *testing.B) {
	for b.Loop() {
		p, err := Start(Spec{Command: "true"})
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Stop(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

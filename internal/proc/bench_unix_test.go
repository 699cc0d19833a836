//go:build unix

package proc

import "testing"

func BenchmarkStartStop(b *testing.B) {
	ledger, err := OpenLedger(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	for name, spec := range map[string]Spec{
		"alone":  {Command: "true"},
		"ledger": {Command: "true", Ledger: ledger, Key: "true"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				p, err := Start(spec)
				if err != nil {
					b.Fatal(err)
				}
				if err := p.Stop(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package proc

import "testing"

// Kill waits for nobody, however stubborn, and takes the trees of this hub only.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	mine, others := openLedger(t, dir), openLedger(t, dir)
	spare := child(t, "stubborn", graces(never, never), func(s *Spec) { s.Ledger = others })
	ready(t, spare)
	var killed []*Process
	for _, mode := range []string{"stubborn", "litter"} {
		p := child(t, mode, graces(never, never), func(s *Spec) { s.Ledger = mine })
		ready(t, p)
		killed = append(killed, p)
	}
	mine.Kill()
	for _, p := range killed {
		<-p.Done() // the graces of Stop are for ever
	}
	if spare.Exit() != "" {
		t.Error("the tree of another hub was killed")
	}
}

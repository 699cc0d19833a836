package proc

import (
	"os"
	"testing"
	"time"
)

func TestMeasure(t *testing.T) {
	const mib = 1 << 20
	quiet, busy := child(t, "cat"), child(t, "use:64")
	litter := child(t, "litter", graces(time.Millisecond, time.Millisecond))
	gone := child(t, "exit:0")
	ready(t, quiet)
	ready(t, busy)
	waitForLitter(t, litter)
	<-gone.Done()

	usage := Measure(map[string][]int{
		"quiet":  {quiet.PID()},
		"both":   {quiet.PID(), busy.PID()}, // counted for one of the two names
		"litter": {litter.PID()},
		"gone":   {gone.PID()},
		"none":   nil,
	})
	if len(usage) != 5 {
		t.Errorf("%+v", usage)
	}
	if u := usage["gone"]; u != (Usage{}) {
		t.Errorf("gone: %+v", u)
	}
	if u := usage["litter"]; u.Processes != 3 || u.RSS < 3*mib {
		t.Errorf("litter: %+v", u)
	}
	if n := usage["quiet"].Processes + usage["both"].Processes; n != 2 {
		t.Errorf("%d processes", n)
	}
	u := Measure(map[string][]int{"busy": {busy.PID()}})["busy"]
	if u.Processes != 1 || u.RSS < 64*mib || u.RSS > 256*mib || u.CPU < 0.25 || u.CPU > 10 {
		t.Errorf("busy: %+v", u)
	}
	if u := Measure(nil); len(u) != 0 {
		t.Errorf("%+v", u)
	}
}

func waitForLitter(t *testing.T, p *Process) {
	t.Helper()
	lines := make([]byte, 0, 100)
	for n := 0; n < 3; {
		var b [1]byte
		if _, err := p.Stdout().Read(b[:]); err != nil {
			t.Fatalf("%q: %v", lines, err)
		}
		lines = append(lines, b[0])
		if b[0] == '\n' {
			n++
		}
	}
}

func TestParseStat(t *testing.T) {
	const text = "42 (a) Z (b) S 1 40 40 0 -1 4194560 1 2 3 4 100 50 25 25 20 0 1 0 777 4096 10 18446744073709551615 1 1\n"
	s, ok := parseStat([]byte(text))
	want := stat{entry: entry{pid: 42, parent: 1, group: 40, start: 777}, cpu: 2, rss: 10 * int64(os.Getpagesize())}
	if !ok || s.pid != want.pid || s.parent != want.parent || s.group != want.group || s.start != want.start ||
		s.zombie || s.kernel || s.cpu != want.cpu || s.rss != want.rss {
		t.Errorf("%+v, %v", s, ok)
	}
	for _, bad := range []string{"", "42", "42 (", "42 )(", "42 (a)", "42 (a) S 1 2 3", "x" + text[2:]} {
		if s, ok := parseStat([]byte(bad)); ok {
			t.Errorf("%q: %+v", bad, s)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	for _, pid := range []int{1, os.Getpid()} {
		f.Add(new(procfs).read(pid, "stat"))
	}
	f.Fuzz(func(_ *testing.T, text []byte) { parseStat(text) })
}

func BenchmarkMeasure(b *testing.B) {
	groups := map[string][]int{"self": {os.Getpid()}}
	for b.Loop() {
		Measure(groups)
	}
}

func BenchmarkBearers(b *testing.B) {
	for b.Loop() {
		bearers()
	}
}

package proc

import (
	"strings"
	"testing"
)

const someMark = "0123456789abcdef-fedcba9876543210"

func TestRecordComesBack(t *testing.T) {
	want := record{
		Version: recordVersion, Mark: someMark, Key: "名前\n", Command: "npx",
		Boot: "b", Space: "pid:[1]", Cgroup: "/sys/fs/cgroup/a/toolcrib-" + someMark,
	}
	got, err := parseRecord(someMark, want.birth())
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	want.identity = identity{PID: 7, Start: 1 << 60}
	got, err = parseRecord(someMark, append(want.birth(), line(want.identity)...))
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestBadRecords(t *testing.T) {
	first := string(record{Mark: someMark, Command: "a"}.birth())
	for name, text := range map[string]string{
		"cut":           strings.TrimSuffix(first, "}\n"),
		"no end":        strings.TrimSuffix(first, "\n"),
		"no JSON":       "hello\n",
		"another form":  "[]\n",
		"version":       strings.Replace(first, `"version":1`, `"version":2`, 1),
		"mark":          strings.Replace(first, someMark, strings.ToUpper(someMark), 1),
		"half a line":   first + `{"pid":12`,
		"everybody":     first + `{"pid":-1,"start":1}`,
		"our group":     first + `{"pid":0,"start":1}`,
		"init":          first + `{"pid":1,"start":1}`,
		"no start":      first + `{"pid":12}`,
		"group":         first + `{"pid":"12","start":1}`,
		"foreign group": string(record{Mark: someMark, Cgroup: "/sys/fs/cgroup/system.slice"}.birth()),
		"relative":      string(record{Mark: someMark, Cgroup: "toolcrib-" + someMark}.birth()),
	} {
		if r, err := parseRecord(someMark, []byte(text)); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func FuzzParseRecord(f *testing.F) {
	first := record{Mark: someMark, Key: "k", Command: "c", Boot: "b", Space: "s", Cgroup: "/x/toolcrib-" + someMark}.birth()
	f.Add([]byte(nil))
	f.Add(first)
	f.Add(append(first, `{"pid":2,"start":3}`...))
	f.Add([]byte(`{"version":1,"mark":"` + someMark + `","pid":5,"start":6}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseRecord(someMark, data)
		if err != nil {
			return
		}
		if r.Mark != someMark || r.PID == 1 || r.PID < 0 || (r.PID == 0) != (r.Start == 0) {
			t.Errorf("%+v", r)
		}
		if r.Cgroup != "" && !strings.HasSuffix(r.Cgroup, "/toolcrib-"+someMark) {
			t.Errorf("the cgroup %q", r.Cgroup)
		}
	})
}

package config

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
)

func TestSetGroup(t *testing.T) {
	const text = `{
  // all of them
  "mcpServers": {},
  "groups": {
    // for code
    "coding": {
      "servers": ["git"], // and more
      "icon": "x",
      "exclude": ["git__push"]
    }
  }
}
`
	for _, test := range []struct {
		name, text string
		group      hub.Group
		want       string
	}{
		{
			"changed", text,
			hub.Group{Name: "coding", Description: "d", Servers: []string{"git", "files"}},
			`    // for code
    "coding": {
      "servers": ["git", "files"], // and more
      "icon": "x",
      "description": "d"
    }
`,
		},
		{
			"new", text,
			hub.Group{Name: "home", Rename: map[string]string{"b": "2", "a": "1"}},
			`    },
    "home": {
      "rename": {
        "a": "1",
        "b": "2"
      }
    }
  }
`,
		},
		{
			"first", "{\n  \"mcpServers\": {}\n}\n",
			hub.Group{Name: "g", Tools: []string{"a*"}},
			`  "mcpServers": {},
  "groups": {
    "g": {
      "tools": ["a*"]
    }
  }
}
`,
		},
		{"blank", "", hub.Group{Name: "g"}, "\"groups\": {\n    \"g\": {}\n  }\n}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := SetGroup([]byte(test.text), test.group)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(got), test.want) {
				t.Errorf("got:\n%s", got)
			}
			again, err := SetGroup(got, test.group)
			if err != nil || !bytes.Equal(again, got) {
				t.Errorf("set again, %v:\n%s", err, again)
			}
			c, _, err := Parse("f", got, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := &Config{Groups: []hub.Group{test.group}}
			for _, g := range c.Groups {
				if g.Name == test.group.Name && sameViews(want, &Config{Groups: []hub.Group{g}}) {
					return
				}
			}
			t.Errorf("it is read as %+v", c.Groups)
		})
	}
	for _, bad := range []string{`[]`, `{"groups": []}`, `{"groups": {"g": 1}}`, `{`} {
		if got, err := SetGroup([]byte(bad), hub.Group{Name: "g"}); err == nil {
			t.Errorf("%s becomes %s", bad, got)
		}
	}
}

// checkGroups sets and removes a group in any text, and reports what is lost by it.
func checkGroups(t *testing.T, text []byte, name string) {
	t.Helper()
	g := hub.Group{Name: name, Servers: []string{"s"}, Rename: map[string]string{"a": "b"}}
	set, err := SetGroup(text, g)
	if err != nil {
		return
	}
	before, err := plant(text)
	if err != nil {
		t.Fatal(err)
	}
	after, err := plant(set)
	if err != nil || before.root.IsStandard() && !after.root.IsStandard() {
		t.Fatalf("set, it cannot be parsed, or is no plain JSON: %v\n%s", err, set)
	}
	if again, err := SetGroup(set, g); err != nil || !bytes.Equal(again, set) {
		t.Errorf("set twice, it becomes\n%s\nfrom\n%s\n%v", again, set, err)
	}
	if _, err := Keys(text); err == nil { // else there are no entries to be compared
		others(t, text, set, "")
	}
	removed, found, err := RemoveGroup(set, name)
	if err != nil || !found {
		t.Fatalf("it is not there: %v\n%s", err, set)
	}
	if gone, err := plant(removed); err != nil || before.root.IsStandard() && !gone.root.IsStandard() {
		t.Fatalf("removed, it cannot be parsed, or is no plain JSON: %v\n%s", err, removed)
	}
	if _, found, _ := RemoveGroup(removed, name); found {
		t.Errorf("it is there still:\n%s", removed)
	}
	if _, _, err := Parse("f", text, nil); err == nil && isGroupName(name) {
		c, _, err := Parse("f", set, nil)
		if err != nil || !slices.ContainsFunc(c.Groups, func(is hub.Group) bool {
			return sameViews(&Config{Groups: []hub.Group{is}}, &Config{Groups: []hub.Group{g}})
		}) {
			t.Errorf("it is read as another one: %v\n%s", err, set)
		}
	}
}

func TestRemoveGroup(t *testing.T) {
	const text = `{
  "groups": {
    // first
    "a": {},
    // second
    "b": {} // it
  }
}
`
	got, found, err := RemoveGroup([]byte(text), "b")
	if want := "{\n  \"groups\": {\n    // first\n    \"a\": {}\n  }\n}\n"; err != nil || !found || string(got) != want {
		t.Errorf("found %v, error %v:\n%s", found, err, got)
	}
	for _, other := range []string{text, "", "{}", `{"groups": []}`} {
		if got, found, err := RemoveGroup([]byte(other), "c"); found || err != nil || string(got) != other {
			t.Errorf("found %v, error %v:\n%s", found, err, got)
		}
	}
}

// TestViewsAreDifferent shows that each thing that is said of a group or a
// client is a difference, and of the views only.
func TestViewsAreDifferent(t *testing.T) {
	const base = `{"groups":{"g":{"description":"d","servers":["s"],"tools":["t"],"exclude":["e"],"rename":{"a":"b"}}},"clients":[{"client":"c"}]}`
	parse := func(text string) *Config {
		c, _, err := Parse("f", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if d := Diff(parse(base), parse(base)); d.Views {
		t.Error("the same views differ")
	}
	for _, change := range [][2]string{
		{`"g"`, `"h"`},
		{`"d"`, `"x"`},
		{`["s"]`, `["x"]`},
		{`["t"]`, `["x"]`},
		{`["e"]`, `["x"]`},
		{`"a":"b"`, `"a":"x"`},
		{`"client":"c"`, `"client":"c","maxTools":3`},
	} {
		d := Diff(parse(base), parse(strings.Replace(base, change[0], change[1], 1)))
		if !d.Views || d.Added != nil || d.Changed != nil || d.Removed != nil {
			t.Errorf("%v: %+v", change, d)
		}
	}
}

// TestNamesInGroupsAreShown keeps names of tools from being taken for those of
// secrets.
func TestNamesInGroupsAreShown(t *testing.T) {
	const text = `{"groups":{"env":{"servers":["token"]},"token":{"rename":{"vault__token":"get_it"}}}}`
	got, err := Masked([]byte(text))
	if err != nil || string(got) != text {
		t.Errorf("%v: %s", err, got)
	}
}

package control_test

import (
	"testing"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// seen is what callers of a group see.
func (s *shop) seen(group string) (*catalog.View, error) {
	return s.catalog.View(hub.Viewer{Group: group})
}

// A group is in the file and in the catalog as soon as it is set, and comments
// around it stay.
func TestGroupFromBeginningToEnd(t *testing.T) {
	s := open(t, "{\n  // mine\n  \"groups\": {\n    \"old\": {} // stays\n  }\n}\n")
	if _, err := s.seen("old"); err != nil {
		t.Errorf("the group of the file is not there at the start: %v", err)
	}
	added, err := s.SetGroup(hub.Group{Name: "new", Servers: []string{"calculator"}}, "")
	if err != nil || !added {
		t.Fatalf("added %v, %v", added, err)
	}
	s.wantText("{\n  // mine\n  \"groups\": {\n    \"old\": {}, // stays\n    \"new\": {\n      \"servers\": [\"calculator\"]\n    }\n  }\n}\n")
	if _, err := s.seen("new"); err != nil {
		t.Error(err)
	}
	g, etag, err := s.Group("new")
	if err != nil || len(g.Servers) != 1 || etag != s.ETag() {
		t.Errorf("the group is %+v, %q, %v", g, etag, err)
	}
	if added, err = s.SetGroup(hub.Group{Name: "new", Description: "d"}, etag); err != nil || added {
		t.Errorf("added %v, %v", added, err)
	}
	_, err = s.SetGroup(hub.Group{Name: "new"}, etag)
	wantCode(t, err, message.ConfigStale)
	wantCode(t, s.RemoveGroup("new", etag), message.ConfigStale)
	text := s.text()
	for _, bad := range []hub.Group{{Name: ""}, {Name: "a b"}, {Name: "x", Rename: map[string]string{"a": "b c"}}, {Name: "x", Servers: []string{"a", "a"}}} {
		_, err := s.SetGroup(bad, "")
		wantCode(t, err, message.ConfigInvalid)
	}
	s.wantText(text)
	if err := s.RemoveGroup("new", ""); err != nil {
		t.Error(err)
	}
	wantCode(t, s.RemoveGroup("new", ""), message.GroupUnknown)
	_, err = s.seen("new")
	wantCode(t, err, message.GroupUnknown)
	if got := s.Groups(); len(got) != 1 || got[0].Name != "old" {
		t.Errorf("the groups are %+v", got)
	}
}

// A file that cannot be used leaves the groups as they are; one that can puts its
// own in force, and so does a text that is put.
func TestGroupsByReload(t *testing.T) {
	s := open(t, `{"groups":{"a":{}}}`)
	s.write(`{"groups":{"b":[]}}`)
	_, err := s.Reload()
	wantCode(t, err, message.ConfigInvalid)
	_, err = s.SetGroup(hub.Group{Name: "c"}, "")
	wantCode(t, err, message.ConfigBroken)
	if _, err := s.seen("a"); err != nil {
		t.Error(err)
	}
	s.write(`{"groups":{"b":{}}}`)
	check, err := s.Reload()
	if err != nil || !check.Diff.Views {
		t.Errorf("%+v, %v", check, err)
	}
	_, err = s.seen("a")
	wantCode(t, err, message.GroupUnknown)
	var put control.Check
	if put, err = s.Put([]byte(`{"groups":{"b":{}},"clients":[{"client":"x","maxTools":3}]}`), s.ETag()); err != nil || !put.Diff.Views {
		t.Errorf("%+v, %v", put, err)
	}
	view, err := s.catalog.View(hub.Viewer{Client: "X"})
	if err != nil || view.Profile().MaxTools != 3 {
		t.Errorf("the profile is not in force: %v", err)
	}
}

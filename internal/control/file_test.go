package control_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/builtin"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/message"
)

// The whole file is shown masked and may come back so; it is written only for
// who knows which text is replaced.
func TestPut(t *testing.T) {
	const file = "{\n  // keep\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\", \"env\": {\"API_KEY\": \"tell-nobody\"}}\n  }\n}\n"
	s := open(t, file)
	text, etag, err := s.Text()
	if err != nil || strings.Contains(string(text), "tell-nobody") {
		t.Fatalf("the text is %s, %v", text, err)
	}
	if etag == config.ETag([]byte(file)) {
		t.Error("the ETag is a hash of the secrets")
	}
	if etag != s.ETag() {
		t.Errorf("the ETag is %s, and then %s", etag, s.ETag())
	}
	_, err = s.Put(text, `"other"`)
	wantCode(t, err, message.ConfigStale)
	next := strings.Replace(string(text), `"command": "x"`, `"command": "y"`, 1)
	check, err := s.Put([]byte(next), etag)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Changes{Changed: []string{"a"}, Restarted: []string{"a"}, Unchanged: builtin.Keys()}, check.Diff); diff != "" {
		t.Errorf("the diff is wrong (-want +got)\n%s", diff)
	}
	want := strings.Replace(file, `"x"`, `"y"`, 1)
	s.wantText(want)
	_, err = s.Put(text, etag)
	wantCode(t, err, message.ConfigStale)
	if s.ETag() == etag {
		t.Error("another text has the same ETag")
	}
	_, err = s.Put([]byte(`{"mcpServers":{"a":{}}}`), s.ETag())
	wantCode(t, err, message.ConfigInvalid)
	_, err = s.Put([]byte(""), s.ETag())
	wantCode(t, err, message.ConfigInvalid)
	s.wantText(want)
	s.write(`{"mcpServers":{}}`) // by hand, after the text was read
	_, err = s.Put([]byte(`{}`), s.ETag())
	wantCode(t, err, message.ConfigStale)
}

// A file that is not there yet has an ETag, too, and so can be made.
func TestPutNewFile(t *testing.T) {
	s := open(t, "")
	text, etag, err := s.Text()
	if len(text) > 0 || etag == "" || err != nil {
		t.Fatalf("the text is %q, %q, %v", text, etag, err)
	}
	if _, err := s.Put([]byte(`{"mcpServers":{"a":{"command":"a"}}}`), etag); err != nil {
		t.Fatal(err)
	}
	s.wantText(`{"mcpServers":{"a":{"command":"a"}}}`)
	if src := s.Source(); !src.Exists || !src.Defines("a") {
		t.Errorf("what is known of the file is %+v", src)
	}
}

// A check says what would change and changes nothing.
func TestCheck(t *testing.T) {
	const file = `{"mcpServers":{"a":{"command":"a","env":{"X":"hidden"}},"b":{"command":"b"}}}`
	s := open(t, file)
	check, err := s.Check([]byte(`{"mcpServers":{"a":{"command":"a","env":{"X":"${unchanged}"}},"c":{"command":"c","odd":1}}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := config.Changes{Added: []string{"c"}, Removed: []string{"b"}, Unchanged: append(builtin.Keys(), "a")}
	if diff := cmp.Diff(want, check.Diff); diff != "" {
		t.Errorf("the diff is wrong (-want +got)\n%s", diff)
	}
	if len(check.Warnings) != 1 || !strings.Contains(check.Warnings[0].Detail.String(), "odd") {
		t.Errorf("the warnings are %v", check.Warnings)
	}
	for _, text := range []string{`{`, `{"mcpServers":{"c":{"command":"${unchanged}"}}}`} {
		_, err := s.Check([]byte(text))
		wantCode(t, err, message.ConfigInvalid)
	}
	s.wantText(file)
	if got := s.keys(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the fleet has %q", got)
	}
	s.write(`{`) // nothing is unchanged then, and a whole text can be checked all the same
	if _, err := s.Check([]byte(`{"mcpServers":{}}`)); err != nil {
		t.Error(err)
	}
	if _, err := s.Check([]byte(`{"mcpServers":{"a":{"command":"${unchanged}"}}}`)); err == nil || !strings.Contains(err.Error(), "there is none") {
		t.Errorf("the error is %v", err)
	}
}

func TestImport(t *testing.T) {
	const (
		file  = `{"mcpServers":{"same":{"command":"s","env":{"K":"${env:K}"}},"other":{"command":"mine"}}}`
		claim = `{"mcpServers":{"same":{"command":"s","env":{"K":"${env:K}"}},"other":{"command":"theirs"},"new":{"command":"n","env":{"TOKEN":"import-secret"}}}}`
	)
	plan := control.Imported{Form: "toolcrib", New: []string{"new"}, Same: []string{"same"}, Clashing: []string{"other"}}
	t.Run("dry run", func(t *testing.T) {
		s := open(t, file)
		s.write(strings.Replace(file, "mine", "edited", 1)) // by hand, and not for a dry run to put in force
		got, err := s.Import([]byte(claim), control.ImportOptions{Replace: true, DryRun: true})
		if diff := cmp.Diff(plan, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
		if v, err := s.Server("other"); err != nil || v.Definition.Command != "mine" {
			t.Errorf("the dry run has changed %+v, %v", v.Definition, err)
		}
		if len(s.sealed()) > 0 {
			t.Errorf("the dry run has sealed %v", s.sealed())
		}
	})
	t.Run("what is new", func(t *testing.T) {
		s := open(t, file)
		got, err := s.Import([]byte(claim), control.ImportOptions{})
		want := plan
		want.Written = []string{"new"}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
		wantSealed(t, s, map[string]string{"new.env.TOKEN": "import-secret"})
		if v, err := s.Server("other"); err != nil || v.Definition.Command != "mine" {
			t.Errorf("the clashing one is %+v, %v", v.Definition, err)
		}
		// Known again, though its secret is sealed.
		again, err := s.Import([]byte(claim), control.ImportOptions{})
		if err != nil || !slices.Equal(again.Same, []string{"same", "new"}) || len(again.Written) > 0 {
			t.Errorf("the second import is %+v, %v", again, err)
		}
	})
	t.Run("replace, disabled, some", func(t *testing.T) {
		s := open(t, file)
		got, err := s.Import([]byte(claim), control.ImportOptions{Keys: []string{"other"}, Replace: true, Disabled: true})
		if err != nil || !slices.Equal(got.Written, []string{"other"}) {
			t.Fatalf("imported %+v, %v", got, err)
		}
		if v, err := s.Server("other"); err != nil || v.Definition.Command != "theirs" || v.Definition.Enabled {
			t.Errorf("the server is %+v, %v", v.Definition, err)
		}
	})
	t.Run("bad", func(t *testing.T) {
		s := open(t, file)
		_, err := s.Import([]byte(claim), control.ImportOptions{Keys: []string{"nobody"}})
		wantCode(t, err, message.ImportKeyUnknown)
		_, err = s.Import([]byte(`{"mcpServers":{"x":{}}}`), control.ImportOptions{})
		wantCode(t, err, message.ConfigInvalid)
		s.readOnly()
		got, err := s.Import([]byte(claim), control.ImportOptions{})
		wantCode(t, err, message.ConfigUnwritable)
		if len(got.Written) > 0 || len(s.sealed()) > 0 {
			t.Errorf("an import that failed has left %v, %v", got.Written, s.sealed())
		}
	})
}

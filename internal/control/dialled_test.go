package control_test

import (
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/message"
)

// An endpoint is in the file, without its token, and in force as soon as it is set;
// it comes back masked, is told when only the token is another one, and takes the
// token with it when it goes.
func TestEndpointFromBeginningToEnd(t *testing.T) {
	s := open(t, "{\n  // mine\n  \"xiaozhi\": {\n    \"endpoints\": {\n      \"old\": { \"url\": \"ws://old\" } // stays\n    }\n  }\n}\n")
	added, err := s.SetDialled(config.Endpoints, "new", []byte(`{"url":"wss://h/mcp/?token=one+two/=","group":"home"}`), "")
	if err != nil || !added {
		t.Fatalf("added %v, %v", added, err)
	}
	s.wantText("{\n  // mine\n  \"xiaozhi\": {\n    \"endpoints\": {\n      \"old\": { \"url\": \"ws://old\" }, // stays\n" +
		"      \"new\": {\n        \"url\": \"wss://h/mcp/?token=${secret:xiaozhi.endpoints.new.url}\",\n        \"group\": \"home\"\n      }\n    }\n  }\n}\n")
	wantSealed(t, s, map[string]string{"xiaozhi.endpoints.new.url": "one+two/="})
	if all := s.inForce.Load().Endpoints; len(all) != 2 || all[1].Name != "new" || all[1].Group != "home" {
		t.Errorf("in force are %+v", all)
	}
	secrets, err := s.Secrets()
	if err != nil || len(secrets) != 1 || strings.Join(secrets[0].Used, " ") != "xiaozhi" {
		t.Errorf("the secrets are %+v, %v", secrets, err)
	}
	text := s.text()
	entry, etag, err := s.Dialled(config.Endpoints, "new")
	if err != nil || etag != s.ETag() || strings.Contains(string(entry), "one") {
		t.Fatalf("%s, %q, %v", entry, etag, err)
	}
	if added, err = s.SetDialled(config.Endpoints, "new", entry, etag); err != nil || added {
		t.Errorf("put %s back: %v, %v", entry, added, err)
	}
	s.wantText(text)

	// A value in clear that somebody has written by hand stays when it is put back masked.
	s.write(strings.Replace(text, "ws://old", "ws://old?token=by-hand", 1))
	if _, err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	entry, _, err = s.Dialled(config.Endpoints, "old")
	if err != nil || strings.Contains(string(entry), "by-hand") {
		t.Errorf("%s, %v", entry, err)
	}
	if _, err = s.SetDialled(config.Endpoints, "old", entry, ""); err != nil || !strings.Contains(s.text(), "by-hand") {
		t.Errorf("%v\n%s", err, s.text())
	}

	text = s.text()
	if _, err = s.SetDialled(config.Endpoints, "new", []byte(`{"url":"wss://h/mcp/?token=other","group":"home"}`), ""); err != nil {
		t.Error(err)
	}
	s.wantText(text)
	wantSealed(t, s, map[string]string{"xiaozhi.endpoints.new.url": "other"})
	select {
	case told := <-s.redials:
		if told != "endpoints/new" {
			t.Errorf("%s is dialled anew", told)
		}
	default:
		t.Error("nobody is told of the new token")
	}

	_, err = s.SetDialled(config.Endpoints, "new", []byte(`{}`), `"other"`)
	wantCode(t, err, message.ConfigStale)
	wantCode(t, s.RemoveDialled(config.Endpoints, "new", `"other"`), message.ConfigStale)
	for name, entry := range map[string]string{"a b": `{"url":"ws://h"}`, "x": `{"url":"http://h"}`, "y": `{}`, "z": `[]`, "u": `{"url":"${unchanged}"}`} {
		_, err := s.SetDialled(config.Endpoints, name, []byte(entry), "")
		wantCode(t, err, message.ConfigInvalid)
	}
	s.wantText(text)
	wantCode(t, s.RemoveDialled(config.Backends, "new", ""), message.BackendUnknown)
	if err := s.RemoveDialled(config.Endpoints, "new", ""); err != nil {
		t.Error(err)
	}
	wantSealed(t, s, map[string]string{})
	wantCode(t, s.RemoveDialled(config.Endpoints, "new", ""), message.EndpointUnknown)
	_, _, err = s.Dialled(config.Endpoints, "new")
	wantCode(t, err, message.EndpointUnknown)
	if len(s.redials) > 0 {
		t.Errorf("%s is dialled anew", <-s.redials)
	}
}

// A backend's token is sealed as well, and a change that is refused seals nothing.
func TestBackendFromBeginningToEnd(t *testing.T) {
	s := open(t, "")
	if _, err := s.SetDialled(config.Backends, "b", []byte(`{"ota":"https://h/?k=one","token":"two"}`), ""); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"xiaozhi.backends.b.ota": "one", "xiaozhi.backends.b.token": "two"}
	wantSealed(t, s, want)
	_, err := s.SetDialled(config.Backends, "b", []byte(`{"ota":"https://h/?k=three","token":"four","maxList":1}`), "")
	wantCode(t, err, message.ConfigInvalid)
	wantSealed(t, s, want)
	if _, err := s.SetDialled(config.Backends, "b", []byte(`{"url":"ws://h","token":"${secret:xiaozhi.backends.b.token}"}`), ""); err != nil {
		t.Error(err)
	}
	wantSealed(t, s, map[string]string{"xiaozhi.backends.b.token": "two"})
	if b := s.inForce.Load().Backends; len(b) != 1 || b[0].Token != "${secret:xiaozhi.backends.b.token}" {
		t.Errorf("in force are %+v", b)
	}
	if err := s.RemoveDialled(config.Backends, "b", ""); err != nil {
		t.Error(err)
	}
	wantSealed(t, s, map[string]string{})
}

// An endpoint of xiaozhi.config.json gets settings of its own, and is emptied when
// it is removed.
func TestEndpointOfXiaozhiFile(t *testing.T) {
	s := open(t, `{"mcpEndpoint": ["wss://a?token=t1", "wss://b?token=t2"], "mcpServers": {}, "theirs": {"x": 1}}`)
	entry, _, err := s.Dialled(config.Endpoints, "endpoint-2")
	if err != nil || string(entry) != "{}" {
		t.Errorf("%s, %v", entry, err)
	}
	if added, err := s.SetDialled(config.Endpoints, "endpoint-2", []byte(`{"deadline":"9s"}`), ""); err != nil || added {
		t.Errorf("%v, %v", added, err)
	}
	if all := s.inForce.Load().Endpoints; len(all) != 2 || all[1].URL != "wss://b?token=t2" || all[1].Deadline.Seconds() != 9 {
		t.Errorf("in force are %+v", all)
	}
	if err := s.RemoveDialled(config.Endpoints, "endpoint", ""); err != nil {
		t.Error(err)
	}
	if all := s.inForce.Load().Endpoints; len(all) != 1 || all[0].Name != "endpoint-2" || !strings.Contains(s.text(), `"theirs": {"x": 1}`) {
		t.Errorf("in force are %+v", all)
	}
}

// Endpoints of another program's file are taken over once, sealed, under names that
// are free; not if servers were selected.
func TestEndpointsAreImported(t *testing.T) {
	s := open(t, `{"xiaozhi":{"endpoints":{"endpoint":{"url":"ws://mine"}}}}`)
	const file = `{"mcpEndpoint":["wss://a/?token=one","ws://mine",""],"connection":{"heartbeatInterval":5000},"mcpServers":{"x":{"command":"x"}}}`
	take := func(opt control.ImportOptions, want string) {
		t.Helper()
		done, err := s.Import([]byte(file), opt)
		if got := strings.Join(done.Endpoints, " "); err != nil || got != want {
			t.Errorf("%+v takes over %q, want %q; %v", opt, got, want, err)
		}
	}
	take(control.ImportOptions{Keys: []string{"x"}, DryRun: true}, "")
	take(control.ImportOptions{DryRun: true}, "endpoint-2")
	wantSealed(t, s, map[string]string{})
	take(control.ImportOptions{}, "endpoint-2")
	wantSealed(t, s, map[string]string{"xiaozhi.endpoints.endpoint-2.url": "one"})
	take(control.ImportOptions{}, "")
	if all := s.inForce.Load().Endpoints; len(all) != 2 || all[1].Name != "endpoint-2" || all[1].Ping.Seconds() != 5 || !all[1].Enabled {
		t.Errorf("in force are %+v", all)
	}
}

// An endpoint and a backend never have the same name, whichever was there first.
func TestDialledNamesAreOnes(t *testing.T) {
	for _, first := range []config.Dialled{config.Endpoints, config.Backends} {
		second := config.Backends
		if first == config.Backends {
			second = config.Endpoints
		}
		s := open(t, "")
		if _, err := s.SetDialled(first, "school", []byte(`{"url":"ws://a"}`), ""); err != nil {
			t.Fatal(err)
		}
		text := s.text()
		_, err := s.SetDialled(second, "school", []byte(`{"url":"ws://b"}`), "")
		wantCode(t, err, message.ConfigInvalid)
		s.wantText(text)
	}
}

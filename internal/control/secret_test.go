package control_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Secrets go into the store and not into the file; they come back masked, and
// are forgotten when nobody refers to them any more.
func TestSealing(t *testing.T) {
	s := open(t, "")
	s.add("a", `{"command":"x","env":{"API_KEY":"one-secret","PLAIN":"text"}}`)
	s.add("b", `{"url":"https://b.example/mcp","headers":{"X-Key":"two-secret"},"apiKey":"three-secret"}`)
	wantSealed(t, s, map[string]string{"a.env.API_KEY": "one-secret", "b.headers.X-Key": "two-secret", "b.apiKey": "three-secret"})
	if text := s.text(); strings.Contains(text, "-secret") || !strings.Contains(text, "${secret:a.env.API_KEY}") {
		t.Errorf("the file is %s", text)
	}
	entry, _, err := s.Entry("a")
	if err != nil {
		t.Fatal(err)
	}
	before := s.text()
	if err := s.Change("a", entry); err != nil {
		t.Fatalf("put %s back: %v", entry, err)
	}
	s.wantText(before)
	wantSealed(t, s, map[string]string{"a.env.API_KEY": "one-secret", "b.headers.X-Key": "two-secret", "b.apiKey": "three-secret"})

	if err := s.Change("b", []byte(`{"url":"https://b.example/mcp","headers":{"X-Key":"four-secret"}}`)); err != nil {
		t.Fatal(err)
	}
	wantSealed(t, s, map[string]string{"a.env.API_KEY": "one-secret", "b.headers.X-Key": "four-secret"})
	if err := s.Remove("b"); err != nil {
		t.Fatal(err)
	}
	wantSealed(t, s, map[string]string{"a.env.API_KEY": "one-secret"})
}

func wantSealed(t *testing.T, s *shop, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, s.sealed()); diff != "" {
		t.Errorf("what is sealed is wrong (-want +got)\n%s", diff)
	}
}

// A value that another server refers to as well, and one that a person has
// sealed, stay when a server is removed.
func TestValuesOfOthersStay(t *testing.T) {
	s := open(t, "")
	if err := s.SetSecret("my.token", "by-hand"); err != nil {
		t.Fatal(err)
	}
	s.add("a", `{"command":"x","env":{"API_KEY":"shared-secret","TOKEN":"${secret:my.token}"}}`)
	s.add("b", `{"command":"x","env":{"KEY":"${secret:a.env.API_KEY}"}}`)
	used := map[string][]string{}
	list, err := s.Secrets()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range list {
		used[one.Name] = one.Used
	}
	if diff := cmp.Diff(map[string][]string{"a.env.API_KEY": {"a", "b"}, "my.token": {"a"}}, used); diff != "" {
		t.Errorf("who uses what is wrong (-want +got)\n%s", diff)
	}
	if err := s.Remove("a"); err != nil {
		t.Fatal(err)
	}
	wantSealed(t, s, map[string]string{"a.env.API_KEY": "shared-secret", "my.token": "by-hand"})
	if err := s.DeleteSecret("my.token"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, s.DeleteSecret("my.token"), message.SecretUnknown)
	wantCode(t, s.SetSecret("a b", "x"), message.SecretRefused)
}

// A change that fails leaves the store as it was, whatever it fails by.
func TestFailedChangeSealsNothing(t *testing.T) {
	for _, test := range []struct {
		name  string
		entry string
		spoil func(s *shop)
		code  message.Code
	}{
		{"the entry makes no sense", `{"url":"no-url","headers":{"X-Key":"new-secret"}}`, func(*shop) {}, message.ConfigInvalid},
		{"the file cannot be written", `{"url":"https://a.example","headers":{"X-Key":"new-secret","Z-New":"newer-secret"}}`, (*shop).readOnly, message.ConfigUnwritable},
		{
			"one of the values cannot be sealed", `{"url":"https://a.example","headers":{"X-Key":"new-secret","Z-Long":"` + strings.Repeat("x", 65<<10) + `"}}`,
			func(*shop) {}, message.SecretRefused,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := open(t, "")
			s.add("a", `{"url":"https://a.example","headers":{"X-Key":"old-secret"}}`)
			before := s.text()
			test.spoil(s)
			err := s.Change("a", []byte(test.entry))
			wantCode(t, err, test.code)
			if err != nil && strings.Contains(err.Error(), "new-secret") {
				t.Errorf("the error tells the secret: %v", err)
			}
			s.wantText(before)
			wantSealed(t, s, map[string]string{"a.headers.X-Key": "old-secret"})
		})
	}
}

// A server that runs gets a value that is sealed anew under the same name,
// though its definition is what it was.
func TestNewValueReachesTheServer(t *testing.T) {
	s := open(t, "")
	entry := func(key string) string {
		return faultServer(t, `"env":{"API_KEY":"`+key+`","GORACE":"atexit_sleep_ms=0"}`)
	}
	s.add("a", entry("first-secret"))
	s.add("idle", entry("first-secret"))
	if err := s.Start(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	before := s.text()
	pid := status(t, s, "a").PID
	if err := s.Change("a", []byte(entry("first-secret"))); err != nil {
		t.Fatal(err)
	}
	if now := status(t, s, "a"); now.PID != pid || now.State != hub.StateReady {
		t.Errorf("nothing has changed, and the server is %+v", now)
	}
	for _, key := range []string{"a", "idle"} {
		if err := s.Change(key, []byte(entry("second-secret"))); err != nil {
			t.Fatal(err)
		}
	}
	s.wantText(before)
	if err := s.Start(t.Context(), "a"); err != nil { // waits for the one that is starting
		t.Fatal(err)
	}
	if now := status(t, s, "a").PID; now == pid || now == 0 {
		t.Errorf("the process is still %d", now)
	}
	if state := status(t, s, "idle").State; state != hub.StateIdle {
		t.Errorf("the other server is %s", state)
	}
}

func status(t *testing.T, s *shop, key string) hub.Status {
	t.Helper()
	v, err := s.Server(key)
	if err != nil {
		t.Fatal(err)
	}
	return v.Status
}

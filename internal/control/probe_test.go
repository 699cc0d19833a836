package control_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// steps writes down how far a test came: the steps that passed, and with a ! the
// one that failed.
func steps(p control.Probe) string {
	var all []string
	for _, s := range p.Passed {
		all = append(all, string(s))
	}
	if p.Failed != "" {
		all = append(all, "!"+string(p.Failed))
	}
	return strings.Join(all, " ")
}

func TestProbe(t *testing.T) {
	locked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer locked.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
	}))
	defer page.Close()
	const quick = `"env":{"GORACE":"atexit_sleep_ms=0"}`
	fault := func(name string) string { return faultServer(t, `"args":["-fault","`+name+`"]`, quick) }
	s := open(t, `{"mcpServers":{"secretive":{"command":"toolcrib-no-such-program","env":{"API_KEY":"${env:TOOLCRIB_TEST_NOT_SET}"}}}}`)
	for _, test := range []struct {
		name, key, entry string
		want             string
		code             message.Code
	}{
		{"built in", "calculator", "", "config handshake version auth tools", ""},
		{"process", "", faultServer(t, quick), "config command start handshake version auth tools", ""},
		{"disabled", "", faultServer(t, quick, `"enabled":false`), "config command start handshake version auth tools", ""},
		{"modern process", "", fault("modernonly"), "config command start handshake version auth tools", ""},
		{"not an entry", "", `{"command":5}`, "!config", message.ConfigInvalid},
		{"not an object", "", `[]`, "!config", message.ConfigInvalid},
		{"placeholder", "secretive", "", "!config", message.PlaceholderUnresolved},
		{"no such command", "", `{"command":"toolcrib-no-such-program"}`, "config !command", message.CommandNotFound},
		{"crash", "", fault("crashstart"), "config command !start", message.ServerExited},
		{"old version", "", fault("badproto"), "config command start handshake !version", message.ServerProtocol},
		{"no list", "", fault("notool"), "config command start handshake version auth !tools", message.ServerRefused},
		{"nobody there", "", `{"url":"http://` + net.JoinHostPort("127.0.0.1", rig.DeadPort(t)) + `"}`, "config !command", message.ServerUnreachable},
		{"locked", "", `{"url":"` + locked.URL + `"}`, "config command !auth", message.ServerUnauthorized},
		{"a page", "", `{"url":"` + page.URL + `"}`, "config command !handshake", message.ServerNotMCP},
	} {
		t.Run(test.name, func(t *testing.T) {
			var entry []byte
			if test.entry != "" {
				entry = []byte(test.entry)
			}
			p, err := s.Test(t.Context(), test.key, entry)
			if err != nil {
				t.Fatal(err)
			}
			if got := steps(p); got != test.want {
				t.Errorf("the steps are %s, want %s; %v", got, test.want, p.Fault)
			}
			if (p.Fault == nil) != (p.Failed == "") || test.code != "" && !hub.IsCode(p.Fault, test.code) {
				t.Errorf("the fault is %v, want %s", p.Fault, test.code)
			}
			if p.Failed == "" && (len(p.Tools) == 0 || p.Protocol == "" || p.Info == "" || p.Took <= 0) {
				t.Errorf("the test told %+v", p)
			}
		})
	}
	if _, err := s.Test(t.Context(), "nobody", nil); !hub.IsCode(err, message.ServerUnknown) {
		t.Errorf("the error is %v", err)
	}
	if got := s.keys(); !slices.Equal(got, []string{"secretive"}) {
		t.Errorf("the tests have left %q", got)
	}
}

// An entry is tested as it would be if it were written: what was masked is
// filled in, and the form of the file counts.
func TestProbeOfAnEntryThatIsMasked(t *testing.T) {
	heard := make(chan string, 8)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard <- r.Header.Get("X-Key")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	s := open(t, `{"mcpServers":{"a":{"url":"`+server.URL+`","headers":{"X-Key":"in-the-file"}}}}`)
	entry, _, err := s.Entry("a")
	if err != nil {
		t.Fatal(err)
	}
	before := s.text()
	if _, err := s.Test(t.Context(), "a", entry); err != nil {
		t.Fatal(err)
	}
	if got := <-heard; got != "in-the-file" {
		t.Errorf("the server got the key %q", got)
	}
	s.wantText(before)
}

// A test does not touch the server that is running.
func TestProbeBesideTheServer(t *testing.T) {
	s := open(t, "")
	s.add("a", faultServer(t, `"env":{"GORACE":"atexit_sleep_ms=0"}`))
	if err := s.Start(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	before := status(t, s, "a")
	p, err := s.Test(t.Context(), "a", nil)
	if err != nil || p.Failed != "" {
		t.Errorf("the test came to %+v, %v", p, err)
	}
	if now := status(t, s, "a"); now.PID != before.PID || !now.Since.Equal(before.Since) {
		t.Errorf("the server was %+v and is %+v", before, now)
	}
}

// Only so many tests run at a time; who gives up frees a place.
func TestProbesAtOnce(t *testing.T) {
	asked := make(chan struct{}, 16)
	hang := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the client's end is not noticed
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer hang.Close()
	s := open(t, "")
	entry := []byte(`{"url":"` + hang.URL + `"}`)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 4)
	for range 4 {
		go func() {
			_, err := s.Test(ctx, "", entry)
			done <- err
		}()
	}
	for range 4 {
		<-asked
	}
	_, err := s.Test(t.Context(), "calculator", nil)
	wantCode(t, err, message.TestsBusy)
	cancel()
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Test(t.Context(), "calculator", nil); err != nil {
		t.Error(err)
	}
}

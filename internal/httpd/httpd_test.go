package httpd_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolcrib/toolcrib/internal/httpd"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestListen(t *testing.T) {
	for address, want := range map[string]message.Code{
		"127.0.0.1:0": "", "localhost:0": "", "127.8.8.8:0": "",
		"0.0.0.0:0": message.ListenRefused, ":0": message.ListenRefused, "[::]:0": message.ListenRefused,
		"192.0.2.1:80": message.ListenRefused, "example.com:80": message.ListenRefused, "localhost.example.com:80": message.ListenRefused,
		"127.0.0.1": message.ListenInvalid, "127.0.0.1:http": message.ListenInvalid, "127.0.0.1:70000": message.ListenInvalid, "": message.ListenInvalid,
	} {
		ln, err := httpd.Listen(t.Context(), address)
		if ln != nil {
			_ = ln.Close()
		}
		if want == "" && err != nil || want != "" && !hub.IsCode(err, want) {
			t.Errorf("Listen(%q): %v, want %q", address, err, want)
		}
	}
}

func TestListenTaken(t *testing.T) {
	ln, err := httpd.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if _, err := httpd.Listen(t.Context(), ln.Addr().String()); !hub.IsCode(err, message.ListenTaken) {
		t.Errorf("a taken address: %v", err)
	}
}

// serve starts a server with one door that says yes, and returns its address.
func serve(t *testing.T, door http.HandlerFunc) (address string, stop func(context.Context) error) {
	t.Helper()
	ln, err := httpd.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := httpd.New(ln, door, func(w http.ResponseWriter, status int, e *hub.Error) {
		w.Header().Set("Code", string(e.Code))
		w.WriteHeader(status)
	}, slog.New(slog.DiscardHandler))
	ran := make(chan error, 1)
	go func() { ran <- s.Run() }()
	stop = func(ctx context.Context) error {
		err := s.Shutdown(ctx)
		if e := <-ran; e != nil {
			t.Errorf("Run: %v", e)
		}
		return err
	}
	return ln.Addr().String(), stop
}

// A page of another site that has its name resolve to this machine is known by
// Host, one that posts here by Origin.
func TestGuard(t *testing.T) {
	address, stop := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	defer func() { _ = stop(context.Background()) }()
	defer http.DefaultClient.CloseIdleConnections()
	for _, tt := range []struct {
		host, origin string
		want         message.Code
	}{
		{"", "", ""},
		{"localhost:1234", "", ""},
		{"127.0.0.1", "", ""},
		{"[::1]:80", "", ""},
		{"evil.example", "", message.HostRefused},
		{"evil.example:8080", "", message.HostRefused},
		{"127.0.0.1.evil.example", "", message.HostRefused},
		{"localhost.evil.example:80", "", message.HostRefused},
		{"", "http://localhost:3000", ""},
		{"", "http://127.0.0.1", ""},
		{"", "https://[::1]:9", ""},
		{"", "http://evil.example", message.OriginRefused},
		{"", "null", message.OriginRefused},
		{"", "http://localhost.evil.example", message.OriginRefused},
		{"", "file://", message.OriginRefused},
		{"", "http://localhost@evil.example", message.OriginRefused},
		{"", "chrome-extension://abc", message.OriginRefused},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = tt.host
		if tt.origin != "" {
			req.Header.Set("Origin", tt.origin)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		want := http.StatusTeapot
		if tt.want != "" {
			want = http.StatusForbidden
		}
		if got := message.Code(res.Header.Get("Code")); res.StatusCode != want || got != tt.want {
			t.Errorf("Host %q, Origin %q: status %d, code %q", tt.host, tt.origin, res.StatusCode, got)
		}
	}
}

// A request that does not end is cut when the time to shut down is over.
func TestShutdownIsBounded(t *testing.T) {
	entered, left := make(chan struct{}), make(chan struct{})
	address, stop := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
		close(left)
	})
	go func() {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/", nil)
		req.RequestURI = ""
		if res, err := http.DefaultTransport.RoundTrip(req); err == nil {
			_ = res.Body.Close()
		}
	}()
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := stop(ctx); err != nil {
		t.Error(err)
	}
	<-left
}

// Connections that clients have opened ahead of need do not hold up the end;
// net/http by itself waits for them for five seconds.
func TestShutdownDoesNotWaitForSilence(t *testing.T) {
	address, stop := serve(t, func(http.ResponseWriter, *http.Request) {})
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// A second connection that is served says that the first is accepted.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if err := stop(ctx); err != nil {
		t.Error(err)
	}
}

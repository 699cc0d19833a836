package httpd_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/httpd"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a running server with one door behind all paths.
type rig struct {
	*httpd.Server
	log           *logged
	admin, caller string // the tokens
	ran           chan error
}

// logged is a log to read in.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// serve starts a server with what opt has of listeners (one on the loopback if
// it has none) and of the last three options. Its door says who came; whoever
// is refused is told the code.
func serve(t *testing.T, opt httpd.Options, door http.HandlerFunc) *rig {
	t.Helper()
	dir := t.TempDir()
	admin, caller := filepath.Join(dir, "admin"), filepath.Join(dir, "caller")
	s := &rig{log: &logged{}, ran: make(chan error, 1)}
	var err error
	tokens, err := auth.OpenTokens(admin, caller)
	if opt.Gate == nil {
		opt.Gate = auth.NewGate(auth.GateOptions{Tokens: tokens})
	}
	if err != nil {
		t.Fatal(err)
	}
	if s.admin, err = auth.ReadToken(admin); err != nil {
		t.Fatal(err)
	}
	if s.caller, err = auth.ReadToken(caller); err != nil {
		t.Fatal(err)
	}
	if opt.Listeners == nil {
		opt.Listeners = []net.Listener{listen(t, "127.0.0.1:0", false)}
	}
	opt.Log = slog.New(slog.NewTextHandler(s.log, nil))
	opt.Doors = door
	opt.Refuse = func(w http.ResponseWriter, _ *http.Request, status int, e *hub.Error) {
		w.Header().Set("Code", string(e.Code))
		w.WriteHeader(status)
	}
	if s.Server, err = httpd.New(opt); err != nil {
		t.Fatal(err)
	}
	go func() { s.ran <- s.Run() }()
	return s
}

// stop ends the server within the time of ctx.
func (s *rig) stop(ctx context.Context, t *testing.T) {
	t.Helper()
	if err := errors.Join(s.Shutdown(ctx), <-s.ran); err != nil {
		t.Errorf("end: %v", err)
	}
}

func (s *rig) stopAtEnd(t *testing.T) *rig {
	t.Helper()
	t.Cleanup(func() { s.stop(context.Background(), t) })
	return s
}

func listen(t *testing.T, address string, open bool) net.Listener {
	t.Helper()
	ln, err := httpd.Listen(t.Context(), address, open)
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// who is a door that says who came.
func who(w http.ResponseWriter, r *http.Request) {
	p := auth.From(r.Context())
	w.Header().Set("Subject", p.Subject)
	w.WriteHeader(http.StatusTeapot)
}

// request is what is asked of a server; zero values are the plain ones.
type request struct {
	method, path, host string
	header             http.Header
	client             *http.Client
}

// answer sends a request and returns the answer, whose body is read.
func (s *rig) answer(t *testing.T, url string, q request) *http.Response {
	t.Helper()
	if q.method == "" {
		q.method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(t.Context(), q.method, url+q.path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = q.host
	maps.Copy(req.Header, q.header)
	if q.client == nil {
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		q.client = &http.Client{Transport: transport}
	}
	res, err := q.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res
}

// want fails the test unless the request is answered by the door (no code) or
// refused with the code.
func (s *rig) want(t *testing.T, q request, code message.Code) *http.Response {
	t.Helper()
	res := s.answer(t, s.URL(), q)
	if got := message.Code(res.Header.Get("Code")); got != code || (code == "") != (res.StatusCode == http.StatusTeapot) {
		t.Errorf("%+v: status %d, code %q; want %q", q, res.StatusCode, got, code)
	}
	return res
}

func headers(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func TestListen(t *testing.T) {
	for address, want := range map[string]message.Code{
		"127.0.0.1:0": "", "localhost:0": "", "LOCALHOST:0": "", "127.8.8.8:0": "",
		"0.0.0.0:0": message.ListenRefused, ":0": message.ListenRefused, "[::]:0": message.ListenRefused,
		"192.0.2.1:80": message.ListenRefused, "example.com:80": message.ListenRefused, "localhost.example.com:80": message.ListenRefused,
		"127.0.0.1": message.ListenInvalid, "127.0.0.1:http": message.ListenInvalid, "127.0.0.1:70000": message.ListenInvalid, "": message.ListenInvalid,
	} {
		ln, err := httpd.Listen(t.Context(), address, false)
		if ln != nil {
			_ = ln.Close()
		}
		if want == "" && err != nil || want != "" && !hub.IsCode(err, want) {
			t.Errorf("Listen(%q): %v, want %q", address, err, want)
		}
	}
	_ = listen(t, "0.0.0.0:0", true).Close()
	text := hub.E(message.ListenRefused, nil).Text(message.English)
	if !strings.Contains(text.Remedy, "--require-token") {
		t.Errorf("the remedy is %q", text.Remedy)
	}
}

func TestListenTaken(t *testing.T) {
	ln := listen(t, "127.0.0.1:0", false)
	defer ln.Close()
	if _, err := httpd.Listen(t.Context(), ln.Addr().String(), false); !hub.IsCode(err, message.ListenTaken) {
		t.Errorf("a taken address: %v", err)
	}
}

// socketPath is where there is room for a socket.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "hub.sock")
}

func listenSocket(t *testing.T, path string) net.Listener {
	t.Helper()
	ln, err := httpd.ListenSocket(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

func TestListenSocket(t *testing.T) {
	path := socketPath(t)
	left := listenSocket(t, path)
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = left.Close() // as a killed hub leaves it
	if _, err := os.Lstat(path); err != nil {
		t.Fatal(err)
	}
	ln := listenSocket(t, path)
	if info, err := os.Lstat(path); err != nil || info.Mode().Type() != fs.ModeSocket {
		t.Errorf("%v, %v", info, err)
	}
	_ = ln.Close()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the end has left it: %v", err)
	}
	for name, plant := range map[string]func() error{
		"file":      func() error { return os.WriteFile(path, []byte("kept"), 0o600) },
		"directory": func() error { return os.Mkdir(path, 0o700) },
	} {
		if err := plant(); err != nil {
			t.Fatal(err)
		}
		before, _ := os.Lstat(path)
		_, err := httpd.ListenSocket(t.Context(), path)
		if !hub.IsCode(err, message.SocketUnusable) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) {
			t.Errorf("%s: it was touched: %v", name, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := httpd.ListenSocket(t.Context(), path+strings.Repeat("x", 200)); !hub.IsCode(err, message.SocketUnusable) {
		t.Errorf("too long: %v", err)
	}
}

// overSocket is a client that reaches a server by its socket.
func overSocket(t *testing.T, path string) *http.Client {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// All listeners have the same doors, and one end.
func TestSeveralListeners(t *testing.T) {
	path := socketPath(t)
	first, second := listen(t, "127.0.0.1:0", false), listen(t, "127.0.0.1:0", false)
	s := serve(t, httpd.Options{Listeners: []net.Listener{listenSocket(t, path), first, second}}, who)
	if want := "http://" + first.Addr().String(); s.URL() != want {
		t.Errorf("URL() = %q, want %q", s.URL(), want)
	}
	s.want(t, request{}, "")
	for url, client := range map[string]*http.Client{"http://" + second.Addr().String(): nil, "http://hub": overSocket(t, path)} {
		if res := s.answer(t, url, request{client: client}); res.StatusCode != http.StatusTeapot {
			t.Errorf("%s: status %d", url, res.StatusCode)
		}
	}
	s.stop(t.Context(), t)
	for _, ln := range []net.Listener{first, second} {
		if c, err := net.Dial("tcp", ln.Addr().String()); err == nil {
			c.Close()
			t.Errorf("%s is still open", ln.Addr())
		}
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

// A listener that fails takes the others with it, so that the hub hears of it.
func TestListenerFails(t *testing.T) {
	first, second := listen(t, "127.0.0.1:0", false), listen(t, "127.0.0.1:0", false)
	s := serve(t, httpd.Options{Listeners: []net.Listener{first, second}}, who)
	_ = second.Close()
	if err := <-s.ran; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Run: %v", err)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNoListener(t *testing.T) {
	path := socketPath(t)
	s := serve(t, httpd.Options{Listeners: []net.Listener{listenSocket(t, path)}}, who).stopAtEnd(t)
	if s.URL() != "" {
		t.Errorf("URL() = %q", s.URL())
	}
}

// A request that does not end is cut when the time to shut down is over.
func TestShutdownIsBounded(t *testing.T) {
	entered, left := make(chan struct{}), make(chan struct{})
	s := serve(t, httpd.Options{}, func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
		close(left)
	})
	go func() {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL(), http.NoBody)
		if err != nil {
			t.Error(err)
			return
		}
		if res, err := http.DefaultTransport.RoundTrip(req); err == nil {
			_ = res.Body.Close()
		}
	}()
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	s.stop(ctx, t)
	<-left
}

// Connections that clients have opened ahead of need do not hold up the end;
// net/http by itself waits for them for five seconds.
func TestShutdownDoesNotWaitForSilence(t *testing.T) {
	s := serve(t, httpd.Options{}, func(http.ResponseWriter, *http.Request) {})
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// A second connection that is served says that the first is accepted.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL(), http.NoBody)
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
	s.stop(ctx, t)
}

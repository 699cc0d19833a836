package fleet_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

func TestMain(m *testing.M) {
	// The race detector would keep every child for a second after its end.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	rig.Main(m)
}

// local is a server in this process, whose budget is that of a process; away
// is one whose budget is that of a remote server.
func local() hub.Server {
	return hub.Server{Key: "s", Kind: hub.KindBuiltin, Enabled: true, AutoStart: true}
}

func away() hub.Server {
	s := local()
	s.Kind, s.AutoReconnect = hub.KindHTTP, true
	return s
}

// run makes a fleet of the options and runs it until the test ends.
func run(t *testing.T, opt fleet.Options) *fleet.Fleet {
	t.Helper()
	opt.ClientInfo = []byte(`{"name":"test","version":"1"}`)
	opt.Log = slog.New(&tableKeeper{t: t})
	if opt.Bus == nil {
		opt.Bus = &bus.Bus{}
	}
	if opt.Listed == nil {
		opt.Listed = func(hub.Server, hub.Lists) {}
	}
	f := fleet.New(opt)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := f.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		for _, s := range f.Status() {
			if s.State != hub.StateStopped && s.State != hub.StateDisabled {
				t.Errorf("%s is %s after Run", s.Key, s.State)
			}
		}
	})
	return f
}

// tableKeeper is a log which fails the test when a server goes a way that the
// table of states does not have.
type tableKeeper struct{ t *testing.T }

func (tableKeeper) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }

func (k *tableKeeper) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "the table does not have") {
		r.Attrs(func(a slog.Attr) bool {
			k.t.Errorf("%s: %s", r.Message, a)
			return true
		})
	}
	return nil
}

func (k *tableKeeper) WithAttrs([]slog.Attr) slog.Handler { return k }

func (k *tableKeeper) WithGroup(string) slog.Handler { return k }

// connect is what a call does to get a connection, which it then does not use.
func connect(ctx context.Context, f *fleet.Fleet, key string) (*upstream.Conn, error) {
	use, err := f.Acquire(ctx, key, nil)
	if err != nil {
		return nil, err
	}
	use.Done(nil)
	return use.Conn(), nil
}

// dialer opens connections to a server in this process, once it may; it stands
// in for the distance to a server, which is in the way of a test's clock.
type dialer struct {
	began time.Time

	mu    sync.Mutex
	tries []time.Duration // when it was asked to dial, since began

	// each answers one attempt; nil lets it connect.
	each func(n int, ctx context.Context) error
	// serve is the server. Nil is one that has no tools, and stays.
	serve upstream.Serve
}

func (d *dialer) dial(ctx context.Context, opt upstream.Options) (*upstream.Conn, error) {
	d.mu.Lock()
	n := len(d.tries)
	d.tries = append(d.tries, time.Since(d.began))
	d.mu.Unlock()
	if d.each != nil {
		if err := d.each(n, ctx); err != nil {
			return nil, err
		}
	}
	opt.Server.Kind = hub.KindBuiltin
	if opt.Serve = d.serve; opt.Serve == nil {
		opt.Serve = serve(func(p *peer) { p.drain() })
	}
	return upstream.Dial(ctx, opt)
}

func (d *dialer) times() []time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.tries)
}

// peer is a server of the test's own: what it does is written in the test.
type peer struct {
	in  *bufio.Scanner
	out io.Writer
}

type note struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Level string `json:"level"`
	} `json:"params"`
}

// serve is a server in this process that does what script says after the
// handshake, and ends with it.
func serve(script func(p *peer)) upstream.Serve {
	return func(_ context.Context, _ string, r io.ReadCloser, w io.WriteCloser) error {
		defer w.Close()
		defer r.Close()
		p := &peer{in: bufio.NewScanner(r), out: w}
		hello, _ := p.next()
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"logging":{}},"serverInfo":{"name":"s","version":"1"}}}`, hello.ID)
		p.next() // notifications/initialized
		script(p)
		return nil
	}
}

func (p *peer) next() (n note, ok bool) {
	if !p.in.Scan() {
		return n, false
	}
	return n, json.Unmarshal(p.in.Bytes(), &n) == nil
}

func (p *peer) send(format string, args ...any) {
	_, _ = fmt.Fprintf(p.out, format+"\n", args...) // the hub may be gone
}

// drain reads until the hub hangs up.
func (p *peer) drain() {
	for {
		if _, ok := p.next(); !ok {
			return
		}
	}
}

func seconds(all ...int) []time.Duration {
	d := make([]time.Duration, len(all))
	for i, s := range all {
		d[i] = time.Duration(s) * time.Second
	}
	return d
}

// A process that keeps ending is started six times, 5 s apart, and then given
// up; who calls it is told at once.
func TestLocalIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialer{began: time.Now(), each: func(int, context.Context) error {
			return hub.E(message.ServerExited, nil, "exit", "exit status 1", "stderr", " Its last words: no")
		}}
		f := run(t, fleet.Options{Servers: []hub.Server{local()}, Dial: d.dial})
		time.Sleep(time.Hour)
		if got, want := d.times(), seconds(0, 5, 10, 15, 20, 25); !slices.Equal(got, want) {
			t.Errorf("started after %v, want %v", got, want)
		}
		st := f.Status()[0]
		if st.State != hub.StateFailed || st.Reason.Code != message.ServerCrashLoop || !st.Retry.IsZero() {
			t.Errorf("it is %s, %v, tried again %v", st.State, st.Reason, st.Retry)
		}
		began := time.Now()
		_, err := connect(t.Context(), f, "s")
		if !hub.IsCode(err, message.ServerDown) || !strings.Contains(hub.AsError(err).Text(message.English).What, st.Reason.Text(message.English).String()) {
			t.Errorf("a call got %v", err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("a call waited for %v", took)
		}
	})
}

// A server that never answers takes a long time to fail. That is not a healthy
// minute.
func TestSlowFailureIsNoHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialer{began: time.Now(), each: func(_ int, ctx context.Context) error {
			select {
			case <-time.After(70 * time.Second):
			case <-ctx.Done():
			}
			return hub.E(message.ServerExited, nil, "exit", "exit status 1", "stderr", "")
		}}
		budget := fleet.DefaultBudget()
		budget.Window = time.Hour
		f := run(t, fleet.Options{Servers: []hub.Server{local()}, Dial: d.dial, Budget: budget})
		time.Sleep(time.Hour)
		if st := f.Status()[0]; st.State != hub.StateFailed || len(d.times()) != 6 {
			t.Errorf("it is %s after %d attempts", st.State, len(d.times()))
		}
	})
}

// A healthy minute makes all good: the count starts anew.
func TestHealthyMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialer{began: time.Now()}
		d.serve = serve(func(p *peer) {
			if n := len(d.times()); n > 5 {
				p.drain()
				return
			}
			time.Sleep(61 * time.Second)
		})
		d.each = func(n int, _ context.Context) error {
			if n < 5 && n != 4 {
				return hub.E(message.ServerExited, nil, "exit", "exit status 1", "stderr", "")
			}
			return nil
		}
		// Four ends, a connection of 61 s, and then it stays.
		f := run(t, fleet.Options{Servers: []hub.Server{local()}, Dial: d.dial})
		time.Sleep(10 * time.Minute)
		if got, want := d.times(), seconds(0, 5, 10, 15, 20, 86); !slices.Equal(got, want) {
			t.Errorf("started after %v, want %v", got, want)
		}
		if st := f.Status()[0]; st.State != hub.StateReady || st.Reason != nil {
			t.Errorf("it is %s, %v", st.State, st.Reason)
		}
	})
}

// A remote server is tried for ever, after 2, 4, 6 s and then ever more rarely;
// a call may bring the next attempt forward, but not more often than once a
// second.
func TestRemoteIsPoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialer{began: time.Now(), each: func(n int, _ context.Context) error {
			if n < 4 {
				return hub.E(message.ServerUnreachable, nil, "url", "u", "detail", "d")
			}
			return nil
		}}
		f := run(t, fleet.Options{Servers: []hub.Server{away()}, Dial: d.dial})
		time.Sleep(13 * time.Second) // attempts at 0, 2, 6 and 12 s; the next is for 21 s or later
		call := func(want message.Code) {
			t.Helper()
			began := time.Now()
			_, err := connect(t.Context(), f, "s")
			if want == "" && err != nil || want != "" && !hub.IsCode(err, want) {
				t.Errorf("a call got %v, want %q", err, want)
			}
			if took := time.Since(began); took != 0 {
				t.Errorf("a call waited for %v", took)
			}
		}
		call("")
		if got, want := d.times(), seconds(0, 2, 6, 12, 13); !slices.Equal(got, want) {
			t.Errorf("tried after %v, want %v", got, want)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		d := &dialer{began: time.Now(), each: func(int, context.Context) error {
			return hub.E(message.ServerUnreachable, nil, "url", "u", "detail", "d")
		}}
		f := run(t, fleet.Options{Servers: []hub.Server{away()}, Dial: d.dial})
		time.Sleep(30 * time.Second)
		synctest.Wait()
		before := len(d.times())
		for range 3 {
			var calls sync.WaitGroup
			for range 100 {
				calls.Go(func() {
					if _, err := connect(t.Context(), f, "s"); !hub.IsCode(err, message.ServerDown) {
						t.Errorf("a call got %v", err)
					}
				})
			}
			calls.Wait()
		}
		brought := d.times()[before:]
		if len(brought) != 3 {
			t.Errorf("three times 100 calls brought about %d attempts", len(brought))
		}
		for i := 1; i < len(brought); i++ {
			if apart := brought[i] - brought[i-1]; apart != time.Second {
				t.Errorf("they were %v apart", apart)
			}
		}
	})
}

// Calls that come while an attempt is under way wait for its outcome, whoever
// brought it about.
func TestConnWaitsForTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialer{began: time.Now(), each: func(n int, ctx context.Context) error {
			if n == 0 {
				return hub.E(message.ServerUnreachable, nil, "url", "u", "detail", "d")
			}
			select {
			case <-time.After(3 * time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
		f := run(t, fleet.Options{Servers: []hub.Server{away()}, Dial: d.dial})
		time.Sleep(1500 * time.Millisecond)
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 500 * time.Millisecond)
				if _, err := connect(t.Context(), f, "s"); err != nil {
					t.Errorf("call %d: %v", i, err)
				}
			})
		}
		all.Wait()
		if got, want := d.times(), []time.Duration{0, 1500 * time.Millisecond}; !slices.Equal(got, want) {
			t.Errorf("tried after %v, want %v", got, want)
		}
	})
}

// A call to a process between two starts waits for the next one, and is told
// how that went.
func TestConnWaitsForTheRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialer{began: time.Now(), each: func(n int, _ context.Context) error {
			if n < 2 {
				return hub.E(message.ServerExited, nil, "exit", "exit status "+fmt.Sprint(n), "stderr", "")
			}
			return nil
		}}
		f := run(t, fleet.Options{Servers: []hub.Server{local()}, Dial: d.dial})
		time.Sleep(time.Second)
		_, err := connect(t.Context(), f, "s")
		if since := time.Since(d.began); since != 5*time.Second || !hub.IsCode(err, message.ServerDown) {
			t.Errorf("after %v: %v", since, err)
		}
		_, err = connect(t.Context(), f, "s")
		if since := time.Since(d.began); since != 10*time.Second || err != nil {
			t.Errorf("after %v: %v", since, err)
		}
	})
}

// A call to a server on its way waits within its own time.
func TestConnWaitsForTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialer{began: time.Now(), each: func(_ int, ctx context.Context) error {
			select {
			case <-time.After(10 * time.Second):
				return nil
			case <-ctx.Done():
				return hub.E(message.Cancelled, ctx.Err())
			}
		}}
		f := run(t, fleet.Options{Servers: []hub.Server{local()}, Dial: d.dial})
		synctest.Wait()

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := connect(ctx, f, "s"); !hub.IsCode(err, message.ServerDown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call with too little time got %v", err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := connect(ctx, f, "s"); !hub.IsCode(err, message.Cancelled) {
			t.Errorf("a call that was given up got %v", err)
		}
		if _, err := connect(t.Context(), f, "s"); err != nil || time.Since(d.began) != 10*time.Second {
			t.Errorf("a call got %v after %v", err, time.Since(d.began))
		}
	})
}

// A server that is not for sale is an error at once.
func TestConnWithoutServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		off := local()
		off.Key, off.Enabled = "off", false
		d := &dialer{began: time.Now()}
		ctx, stop := context.WithCancel(t.Context())
		f := fleet.New(fleet.Options{
			Servers: []hub.Server{local(), off}, Dial: d.dial, Bus: &bus.Bus{}, ClientInfo: []byte("{}"),
			Log: quiet(), Listed: func(hub.Server, hub.Lists) {},
		})
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = f.Run(ctx)
		}()
		if _, err := connect(t.Context(), f, "none"); !hub.IsCode(err, message.ServerUnknown) {
			t.Errorf("of no server: %v", err)
		}
		if _, err := connect(t.Context(), f, "off"); !hub.IsCode(err, message.ServerDisabled) {
			t.Errorf("of a disabled server: %v", err)
		}
		if _, err := connect(t.Context(), f, "s"); err != nil {
			t.Errorf("of a server: %v", err)
		}
		stop()
		<-done
		if _, err := connect(t.Context(), f, "s"); !hub.IsCode(err, message.ShuttingDown) {
			t.Errorf("after the end: %v", err)
		}
		if n := len(d.times()); n != 1 {
			t.Errorf("%d attempts, want that of the enabled server alone", n)
		}
	})
}

// A server that does not start with the hub is started by the first call if its
// tools are known, and to learn them if they are not.
func TestIdle(t *testing.T) {
	for _, known := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := local()
			s.AutoStart = false
			d := &dialer{began: time.Now()}
			f := run(t, fleet.Options{Servers: []hub.Server{s}, Dial: d.dial, Known: func(hub.Server) bool { return known }})
			time.Sleep(time.Hour)
			want := hub.StateReady
			if known {
				want = hub.StateIdle
			}
			if got := f.Status()[0].State; got != want {
				t.Errorf("known %v: it is %s, want %s", known, got, want)
			}
			if _, err := connect(t.Context(), f, "s"); err != nil {
				t.Errorf("known %v: %v", known, err)
			}
			if n := len(d.times()); n != 1 {
				t.Errorf("known %v: connected %d times", known, n)
			}
		})
	}
}

// Everybody who subscribed hears of every state, in order.
func TestStatesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events bus.Bus
		sub := events.Subscribe(64)
		defer sub.Close()
		d := &dialer{began: time.Now()}
		d.serve = serve(func(p *peer) {
			if len(d.times()) > 1 {
				p.drain()
			}
		})
		run(t, fleet.Options{Servers: []hub.Server{local()}, Dial: d.dial, Bus: &events})
		time.Sleep(time.Minute)
		var got []hub.State
		for len(sub.C()) > 0 {
			if e, ok := (<-sub.C()).(hub.ServerChanged); ok {
				got = append(got, e.Status.State)
			}
		}
		if want := []hub.State{hub.StateReady, hub.StateCrashed, hub.StateStarting, hub.StateReady}; !slices.Equal(got, want) {
			t.Errorf("heard of %v, want %v", got, want)
		}
	})
}

// The log level that was asked for is told to a server that is connected, and
// again to one that was lost and has forgotten it.
func TestSetLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := make(chan string, 8)
		hangup := make(chan struct{}, 1)
		d := &dialer{began: time.Now(), serve: serve(func(p *peer) {
			go func() {
				<-hangup
				p.out.(io.Closer).Close()
			}()
			for {
				n, ok := p.next()
				if !ok {
					return
				}
				if n.Method == "logging/setLevel" {
					told <- n.Params.Level
				}
				p.send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, n.ID)
			}
		})}
		f := run(t, fleet.Options{Servers: []hub.Server{local()}, Dial: d.dial})
		synctest.Wait()
		f.SetLevel("debug")
		f.SetLevel("debug") // not told twice
		synctest.Wait()
		f.SetLevel("error")
		synctest.Wait()
		if n := len(told); n != 2 {
			t.Errorf("it was told %d times, want 2", n)
		}
		for len(told) > 0 {
			<-told
		}
		hangup <- struct{}{}
		time.Sleep(10 * time.Second)
		if len(told) != 1 || <-told != "error" {
			t.Errorf("the new connection was not told the level")
		}
		hangup <- struct{}{}
	})
}

package rest

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/builtin"
	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// What a proxy has registered lapses 5 minutes after its last call, its last
// registration, or the end of a call that took longer.
func TestProxyLapses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, news := slog.New(slog.DiscardHandler), &bus.Bus{}
		src, err := control.Load(filepath.Join(t.TempDir(), "config.json"), false, builtin.Keys())
		must(t, err)
		c, err := catalog.Open(catalog.Options{Bus: news, Log: log})
		must(t, err)
		servers := builtin.New(builtin.Options{})
		var took time.Duration // what the server takes for the next call
		slow := func(ctx context.Context, key string, r io.ReadCloser, w io.WriteCloser) error {
			return servers.Serve(ctx, key, r, &late{WriteCloser: w, took: &took})
		}
		for i := range src.Config.Servers {
			src.Config.Servers[i].Timeout = time.Hour
		}
		f := fleet.New(fleet.Options{
			Servers: src.Config.Servers, Dial: upstream.Dial, Serve: slow, ClientInfo: []byte(`{"name":"test","version":"1"}`),
			Bus: news, Log: log, Listed: c.Listed, Withhold: c.Withhold, OnDemand: true,
		})
		ctl := control.New(control.Options{Source: src, Builtins: builtin.Keys(), Fleet: f, Catalog: c, Log: log})
		door := New(Options{Control: ctl, Catalog: c, Call: call.New(call.Options{Catalog: c, Fleet: f, Bus: news, Log: log})})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _ = f.Run(ctx) })
		all.Go(func() { _ = ctl.ExpireLeases(ctx) })
		defer all.Wait()
		defer cancel()

		post := func(path, body string) {
			t.Helper()
			r := httptest.NewRequestWithContext(auth.WithShown(ctx, auth.Shown{Principal: hub.Local(""), How: auth.HowLocal}), http.MethodPost, api.Base+path, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			if door.ServeHTTP(w, r); w.Code != http.StatusOK {
				t.Fatalf("%s: %d %s", path, w.Code, w.Body)
			}
		}
		held := func(want bool) {
			t.Helper()
			synctest.Wait()
			if is := len(ctl.Leases()) > 0; is != want {
				t.Fatalf("held: %t", is)
			}
		}
		const limit = 5 * time.Minute
		post("/proxies/register", `{"proxyId":"p","requiredTools":["datetime__get_current_time"]}`)
		time.Sleep(limit - 1)
		post("/tools/call", `{"toolName":"datetime__get_current_time","proxyId":"p"}`)
		time.Sleep(limit - 1)
		held(true)
		post("/proxies/register", `{"proxyId":"p","requiredTools":["datetime__get_current_time"]}`)
		time.Sleep(limit - 1)
		post("/tools/call", `{"toolName":"datetime__get_current_time"}`)                   // of nobody
		post("/tools/call", `{"toolName":"datetime__get_current_time","proxyId":"other"}`) // of somebody else
		held(true)
		time.Sleep(time.Nanosecond)
		held(false)
		post("/tools/call", `{"toolName":"datetime__get_current_time","proxyId":"p"}`) // which registers nothing
		held(false)

		// A call that takes longer than that keeps it, and it holds from the end on.
		post("/proxies/register", `{"proxyId":"p","requiredTools":["datetime__get_current_time"]}`)
		took = 3 * limit
		post("/tools/call", `{"toolName":"datetime__get_current_time","proxyId":"p"}`)
		time.Sleep(limit - 1)
		held(true)
		time.Sleep(time.Nanosecond)
		held(false)
	})
}

// late takes its time for one message.
type late struct {
	io.WriteCloser

	took *time.Duration
}

func (l *late) Write(p []byte) (int, error) {
	time.Sleep(*l.took)
	*l.took = 0
	return l.WriteCloser.Write(p)
}

package app

import (
	"context"
	"net/http"

	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/face/broker"
	"github.com/toolcrib/toolcrib/internal/face/rest"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/transport"
)

// openBroker makes the door at which tools and their callers meet. Its tokens are those
// of devices.
func (a *App) openBroker(conf hub.Devices) {
	a.broker = broker.New(broker.Options{
		Devices: conf, Verify: a.devices.Verify, Log: a.log,
		Attach: func(ctx context.Context, def hub.Server) error { return a.control.Attach(ctx, def) },
		Detach: func(key, name string) { a.control.Detach(key, name) },
		Call: func(ctx context.Context, req *call.Request, by call.Deadline) (*call.Result, error) {
			return a.call.DoBy(ctx, req, by)
		},
		View: a.catalog.View, Refuse: rest.Refuse,
		Language: func() message.Lang { return a.usual() }, Notable: a.notable(),
	})
}

// deviceDoors serves all that dials in at the listener of devices.
func (a *App) deviceDoors() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", a.devices.Handler())
	mux.Handle(broker.Prefix, a.broker.Handler())
	return mux
}

// upgrading is a client for addresses of WebSockets, which begin in HTTP/1.1.
func upgrading(n transport.Network) *http.Client {
	way := outward(n)
	way.ForceAttemptHTTP2 = false
	return &http.Client{Transport: way}
}

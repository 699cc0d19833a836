package app

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/atomicfile"
	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/face/device"
	"github.com/toolcrib/toolcrib/internal/face/rest"
	"github.com/toolcrib/toolcrib/internal/face/xiaozhi"
	"github.com/toolcrib/toolcrib/internal/httpd"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/secret"
)

// openVoice makes the doors to voice assistants. Endpoints and backends are
// dialled, and devices let in, once the hub starts.
func (a *App) openVoice(info []byte, resolver *secret.Resolver) {
	opt := xiaozhi.Options{
		Call: a.call, Catalog: a.catalog, Bus: a.bus, Log: a.log, ServerInfo: info, Language: a.usual, Resolve: resolver.Fill, Network: a.network, Leases: a.control,
	}
	a.endpoints = xiaozhi.New(opt)
	a.backends = xiaozhi.NewBackends(opt, a.dir.Backends())
	a.applyVoice(a.control.Source().Config)
}

// openDevices makes the door for devices, which servers are served by as well.
func (a *App) openDevices(info []byte, resolver *secret.Resolver) error {
	key, epochs, err := deviceKeys(a.dir.DeviceKey(), a.dir.DeviceEpochs())
	if err != nil {
		return hub.E(message.DataDirUnusable, err, "path", a.dir.Path()).With("detail", message.Cause(err))
	}
	a.fill = resolver.Fill
	a.devices = device.New(device.Options{
		Devices: a.deviceSettings(a.source.Config), Key: key, Epochs: epochs, ClientInfo: info, Bus: a.bus, Log: a.log, Client: upgrading(a.network), Resolve: resolver.Fill, Refuse: rest.Refuse,
		Witness: func(c hub.CallRecord, arguments []byte) func(hub.Outcome, *hub.Error, int) {
			return a.call.Witness(c, arguments)
		},
		Attach:   func(ctx context.Context, def hub.Server) error { return a.control.Attach(ctx, def) },
		Detach:   func(key, name string) { a.control.Detach(key, name) },
		Language: func() message.Lang { return a.usual() }, Notable: a.notable(),
	})
	a.openBroker(a.source.Config.Devices)
	return nil
}

// notable bounds how many refusals of one address are logged: 10 a minute.
func (a *App) notable() func(remote string) bool {
	meter := auth.NewMeter(10, time.Minute)
	return func(remote string) bool {
		ok, last := meter.Allow(auth.AddressOf(remote).String(), time.Now())
		if last {
			a.log.Warn("no more refusals of this address are logged within this minute", "from", remote)
		}
		return ok
	}
}

// deviceKeys is the key that tokens of devices are made with, and what of them was
// revoked. Both are made if there is no key: what was revoked first, so that there is no
// key without it.
func deviceKeys(path, revoked string) ([]byte, *device.Epochs, error) {
	const size = 32
	text, err := os.ReadFile(path)
	fresh := errors.Is(err, fs.ErrNotExist)
	if err != nil && !fresh {
		return nil, nil, err
	}
	epochs, err := device.OpenEpochs(revoked, fresh)
	if err != nil {
		return nil, nil, err
	}
	if fresh {
		key := make([]byte, size)
		_, _ = rand.Read(key) // which never fails
		return key, epochs, atomicfile.WriteBytes(path, []byte(hex.EncodeToString(key)+"\n"))
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != size {
		return nil, nil, errors.New("the key of devices' tokens is damaged; remove the file keys/device.key to have a new one made, and give devices new tokens")
	}
	return key, epochs, nil
}

// serve is the other end of the stream to a server that is no process and not on the
// network: it is part of the program, or a device.
func (a *App) serve(ctx context.Context, key string, r io.ReadCloser, w io.WriteCloser) error {
	if s, ok := a.fleet.Server(key); ok && s.Kind == hub.KindDevice {
		if a.broker.Serves(key) {
			return a.broker.Serve(ctx, key, r, w)
		}
		return a.devices.Serve(ctx, key, r, w)
	}
	return a.builtins.Serve(ctx, key, r, w)
}

// applyVoice puts the part of a configuration in force that is about voice
// assistants and devices.
func (a *App) applyVoice(c *config.Config) {
	if a.endpoints == nil { // at the beginning, while there are no such parts yet
		return
	}
	a.endpoints.Apply(c.Endpoints)
	a.backends.Apply(c.Backends)
	a.devices.Apply(a.deviceSettings(c))
	a.broker.Apply(c.Devices)
}

// deviceSettings are those of a configuration with the placeholders of the addresses
// filled in that devices are told. One that cannot be is left out, and that is logged.
// Those of backends are filled in as each is dialled.
func (a *App) deviceSettings(c *config.Config) hub.Devices {
	d := c.Devices
	fill := func(setting, text string) string {
		filled, _, err := a.fill(text)
		if err != nil {
			a.log.Error("an address in the configuration cannot be filled in, and is left out", "setting", setting, "error", err)
			return ""
		}
		return filled
	}
	d.Websocket, d.Vision = fill("devices.websocket", d.Websocket), fill("devices.vision", d.Vision)
	return d
}

// redial has an endpoint or a backend dialled anew, whose token is another one.
func (a *App) redial(kind config.Dialled, name string) {
	if kind == config.Endpoints {
		a.endpoints.Reconnect(name)
		return
	}
	a.backends.Reconnect(name)
}

// startVoice has the endpoints and backends dialled, and devices let in.
func (a *App) startVoice() {
	a.run("endpoints", a.endpoints.Run)
	a.run("backends", a.backends.Run)
	a.run("devices", a.devices.Run)
	a.run("broker", a.broker.Run)
	if a.deviceLn == nil {
		return
	}
	server := a.deviceServer()
	crowd := httpd.Crowd(a.deviceLn, maxDeviceConns)
	served := make(chan struct{})
	go func() {
		defer close(served)
		serve := server.Serve
		if a.tls != nil {
			serve = func(ln net.Listener) error { return server.ServeTLS(ln, "", "") }
		}
		if err := serve(crowd); !errors.Is(err, http.ErrServerClosed) {
			a.failed <- err
		}
	}()
	a.onStop("device listener", func(context.Context) error {
		err := server.Close() // what has been taken over goes with the devices
		<-served
		return err
	})
}

// What the listener of devices takes at most. Its doors have room for 1536 WebSockets;
// the other connections are of those who ask for an address, or send a picture.
const (
	maxDeviceConns = 2048
	maxDeviceBody  = 2 << 20
)

// deviceServer serves the listener of devices, at which everybody on the network can
// knock: a request has a time to send its header and its body, and a bound to both.
func (a *App) deviceServer() *http.Server {
	return &http.Server{
		Handler:   httpd.InTime(http.MaxBytesHandler(a.deviceDoors(), maxDeviceBody)),
		TLSConfig: a.tls, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
	}
}

// DeviceURL is where devices dial in; "" if they cannot.
func (a *App) DeviceURL() string {
	if a.deviceLn == nil {
		return ""
	}
	scheme := "ws://"
	if a.tls != nil {
		scheme = "wss://"
	}
	return scheme + a.deviceLn.Addr().String() + device.PathSocket
}

// Dialled is how many endpoints and backends the configuration has that are to be
// connected.
func (a *App) Dialled() (endpoints, backends int) {
	c := a.control.Source().Config
	for _, e := range c.Endpoints {
		if e.Enabled {
			endpoints++
		}
	}
	for _, b := range c.Backends {
		if b.Enabled {
			backends++
		}
	}
	return endpoints, backends
}

// dialled tells the API about the endpoints and the backends, if this hub dials them.
func (a *App) dialled() (endpoints, backends rest.Dialled) {
	if a.opt.OnDemand {
		return rest.Dialled{}, rest.Dialled{}
	}
	e, b := a.endpoints, a.backends
	return rest.Dialled{Statuses: e.Statuses, Log: e.Log, Reconnect: e.Reconnect}, rest.Dialled{Statuses: b.Statuses, Log: b.Log, Reconnect: b.Reconnect}
}

func (a *App) deviceView() rest.Devices {
	return rest.Devices{
		Statuses: a.devices.Statuses, Log: a.devices.Log, Token: a.devices.Token, Revoke: a.revokeDevice, Identify: a.devices.Identify, Nameable: device.Nameable, Expires: device.TokenLife, Address: a.DeviceURL,
	}
}

// revokeDevice has no token be good any more that a device has been given, and sends
// away who came by one: the device, and both sides of its endpoint pair.
func (a *App) revokeDevice(id string) error {
	path := a.dir.DeviceEpochs()
	if err := a.devices.Revoke(id); err != nil {
		return hub.E(message.FileUnwritable, err, "path", path).With("detail", message.Cause(err))
	}
	a.broker.Recheck()
	return nil
}

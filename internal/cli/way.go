package cli

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/app"
	"github.com/toolcrib/toolcrib/internal/datadir"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// way leads a command to the hub that holds the data directory, at the moment
// of each connection: the hub that was there before may have been that of
// another command, which has ended since. If there is none it starts one,
// which lives until the way is closed.
type way struct {
	session *session
	path    string // of the data directory

	mu    sync.Mutex // held while a hub is looked for and started
	own   *app.App   // nil if none had to be started
	ended bool       // none is to be started any more
}

// reach says how to reach the hub, after starting one if there is none.
func (w *way) reach(ctx context.Context) (datadir.HubInfo, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for deadline := time.Now().Add(serveLimit); ; {
		info, err := findHub(ctx, w.path)
		if !hub.IsCode(err, message.HubNotRunning) || w.own != nil || w.ended {
			return info, err
		}
		// Another command may be faster, and may have ended by the time that
		// its hub is looked for.
		if err := w.start(ctx); err != nil && (!hub.IsCode(err, message.DataDirTaken) || time.Now().After(deadline)) {
			return info, err
		}
	}
}

// start starts a hub in this process, in which nothing starts by itself.
func (w *way) start(ctx context.Context) error {
	opt, err := w.session.hubOptions(w.path, w.session.log(quiet))
	if err != nil {
		return err
	}
	opt.OnDemand = true
	// The command may be the one that makes the file.
	if _, err := os.Stat(opt.Config); errors.Is(err, fs.ErrNotExist) {
		opt.Strict = false
	}
	a, err := app.New(ctx, opt)
	if err != nil {
		return err
	}
	if err := a.Start(); err != nil {
		return errors.Join(err, a.Stop(ctx))
	}
	w.own = a
	return nil
}

// connect opens a connection to the hub.
func (w *way) connect(ctx context.Context) (net.Conn, error) {
	for deadline := time.Now().Add(serveLimit); ; {
		info, err := w.reach(ctx)
		if err != nil {
			return nil, err
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", info.Socket)
		if err == nil || time.Now().After(deadline) {
			return conn, err
		}
		select {
		case <-time.After(servePoll): // it is about to end
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// close ends the hub that was started, if any.
func (w *way) close(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.own == nil {
		return nil
	}
	return w.own.Stop(ctx)
}

// link returns a link by the way. The token is that of the data directory.
func (w *way) link(ctx context.Context) (*link, error) {
	info, err := w.reach(ctx)
	if err != nil {
		return nil, errors.Join(err, w.close(ctx))
	}
	h, err := w.session.linkTo(w.path, info, w.connect)
	if err != nil {
		return nil, errors.Join(err, w.close(ctx))
	}
	h.own = w.own != nil
	h.close = func() error { return w.close(ctx) }
	return h, nil
}

package cli

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/internal/app"
	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/datadir"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// How long a hub that holds the data directory may take until it serves, and
// how often that is looked at.
const (
	serveLimit = 5 * time.Second
	servePoll  = 50 * time.Millisecond
)

// quiet is above every level: a hub that lives as long as one command says
// what is wrong through the command.
const quiet = slog.LevelError + 1

// link is a hub that a command can ask.
type link struct {
	*apiclient.Client

	own   bool // it lives as long as the command
	close func() error

	caller func() (*apiclient.Client, error) // the same hub with the callers' token; nil if there is only one token
}

// with has do ask a hub: the one that --url names, the one that holds the data
// directory, or one that lives as long as do runs.
func (s *session) with(ctx context.Context, do func(*link) error) error {
	h, err := s.attach(ctx)
	if err != nil {
		return err
	}
	err = do(h)
	h.Close()
	if closing := h.close(); closing != nil {
		return errors.Join(err, closing)
	}
	return err
}

func (s *session) attach(ctx context.Context) (*link, error) {
	if s.URL != "" {
		return s.dial(apiclient.Options{URL: s.URL, Token: s.Token})
	}
	path, err := s.dataDir()
	if err != nil {
		return nil, err
	}
	return (&way{session: s, path: path}).link(ctx)
}

// dial returns a link to a hub that is not this command's own.
func (s *session) dial(opt apiclient.Options) (*link, error) {
	opt.Lang = s.env.Lang
	c, err := apiclient.New(opt)
	if err != nil {
		return nil, err
	}
	return &link{Client: c, close: func() error { return nil }}, nil
}

// running returns a link to the hub that holds the data directory. One that
// is about to serve is waited for. If there is none the error is
// hub_not_running.
func (s *session) running(ctx context.Context, path string) (*link, error) {
	info, err := findHub(ctx, path)
	if err != nil {
		return nil, err
	}
	return s.linkTo(path, info, nil)
}

// linkTo returns a link to the hub that holds the data directory at path.
// connect, if it is not nil, makes the connections to its socket.
func (s *session) linkTo(path string, info datadir.HubInfo, connect func(context.Context) (net.Conn, error)) (*link, error) {
	// Whoever may not read the token may still look around.
	token, err := auth.ReadToken(datadir.Layout(path).AdminToken())
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	opt := apiclient.Options{Socket: info.Socket, Dial: connect, URL: info.URL, Token: token}
	h, err := s.dial(opt)
	if err == nil {
		h.caller = s.callerOf(path, opt)
	}
	return h, err
}

// findHub says how to reach the hub that holds the data directory. One that is
// about to serve is waited for.
func findHub(ctx context.Context, path string) (datadir.HubInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, serveLimit)
	defer cancel()
	tick := time.NewTicker(servePoll)
	defer tick.Stop()
	for {
		held, pid, err := datadir.Peek(path)
		switch {
		case err != nil:
			return datadir.HubInfo{}, hub.E(message.DataDirUnusable, err, "path", path).With("detail", message.Cause(err))
		case !held:
			return datadir.HubInfo{}, hub.E(message.HubNotRunning, nil, "path", path)
		}
		info, err := datadir.ReadHub(path)
		switch {
		case err == nil && (info.PID == pid || pid == 0):
			return info, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return info, hub.E(message.DataDirUnusable, err, "path", path).With("detail", message.Cause(err))
		}
		select {
		case <-ctx.Done():
			return info, hub.E(message.HubStillStarting, context.Cause(ctx), "path", path, "pid", strconv.Itoa(pid))
		case <-tick.C:
		}
	}
}

// hubOptions are the options of a hub as the flags say that all commands
// have. Its listener is the local socket.
func (s *session) hubOptions(dataDir string, log *slog.Logger) (app.Options, error) {
	opt := app.Options{Config: s.Config, Strict: s.Config != "", DataDir: dataDir, Version: s.env.Version, Log: log, Hurry: s.env.Hurry}
	if opt.Config == "" {
		path, err := config.DefaultPath()
		if err != nil {
			return opt, hub.E(message.ConfigUnreadable, err, "path", "").With("detail", message.Cause(err))
		}
		opt.Config = path
	}
	return opt, nil
}

package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/bridge"
	"github.com/toolcrib/toolcrib/internal/datadir"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// stdioPath is the hub's door for those who are attached by this command, to a
// group or, if it is "", to everything.
func stdioPath(group string) string {
	path := "/ws/mcp?client=stdio"
	if group != "" {
		path += "&group=" + url.QueryEscape(group)
	}
	return path
}

type stdio struct {
	Client string `help:"Name of the client that starts this, for the log." placeholder:"NAME"`
	Group  string `help:"Offer what this group has, and nothing else." placeholder:"NAME" complete:"group"`
}

// Run joins standard input and output to the hub that holds the data
// directory, after starting one if there is none, until the client has gone.
func (c *stdio) Run(ctx context.Context, s *session) error {
	log := s.log(slog.LevelWarn)
	if c.Client != "" {
		log = log.With("client", c.Client)
	}
	in, ok := s.env.Stdin.(io.ReadCloser)
	if !ok {
		in = io.NopCloser(s.env.Stdin)
	}
	return bridge.Run(ctx, bridge.Options{In: in, Out: s.unchecked(), Dial: func(ctx context.Context) (*bridge.Conn, error) {
		return s.dialStream(ctx, stdioPath(c.Group))
	}, Lang: message.Lang(s.Lang), Log: log})
}

// dialStream connects to the hub's door at a path. It is called again when that
// was lost.
func (s *session) dialStream(ctx context.Context, door string) (*bridge.Conn, error) {
	if s.URL != "" {
		c, err := apiclient.New(apiclient.Options{URL: s.URL})
		if err != nil {
			return nil, err
		}
		return connectTo(ctx, http.DefaultClient, c.Where(), door, s.asking(s.Token))
	}
	path, err := s.dataDir()
	if err != nil {
		return nil, err
	}
	info, err := s.ensureHub(ctx, path)
	if err != nil {
		return nil, err
	}
	// A hub that requires a token of everybody lets this one in as a caller.
	token, err := auth.ReadToken(datadir.Layout(path).CallerToken())
	if err != nil {
		token = ""
	}
	if info.Socket == "" {
		return connectTo(ctx, http.DefaultClient, info.URL, door, s.asking(token))
	}
	return connectTo(ctx, &http.Client{Transport: apiclient.SocketTransport(info.Socket)}, apiclient.SocketURL, door, s.asking(token))
}

// connectTo connects to a door of the hub at base by the client.
func connectTo(ctx context.Context, client *http.Client, base, door string, header http.Header) (*bridge.Conn, error) {
	conn, err := bridge.Connect(ctx, client, base+door, header)
	if refused, ok := errors.AsType[*hub.Error](err); ok {
		return nil, refused
	}
	if err != nil {
		cause := err
		if u, ok := errors.AsType[*url.Error](err); ok {
			cause = u.Err
		}
		return nil, hub.E(message.HubUnreachable, err, "where", base).With("detail", message.Cause(cause))
	}
	return conn, nil
}

// asking are the headers by which a client attached to the hub shows its token,
// if there is one, and says in which language it is to be told things. The
// language is what was said for this command: that of the environment, which is
// there whether anybody chose it or not, would take the place of the hub's.
func (s *session) asking(token string) http.Header {
	h := make(http.Header)
	if token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	if s.Lang != "" {
		h.Set("Accept-Language", s.Lang)
	}
	return h
}

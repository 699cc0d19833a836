package cli

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/bridge"
	"github.com/toolcrib/toolcrib/internal/datadir"
)

// stdioPath is the hub's door for those who are attached by this command.
const stdioPath = "/ws/mcp?client=stdio"

type stdio struct {
	Client string `help:"Name of the client that starts this, for the log." placeholder:"NAME"`
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
	return bridge.Run(ctx, bridge.Options{In: in, Out: s.env.Stdout, Dial: s.dialStream, Log: log})
}

// dialStream connects to the hub. It is called again when that was lost.
func (s *session) dialStream(ctx context.Context) (*bridge.Conn, error) {
	if s.URL != "" {
		return bridge.Connect(ctx, http.DefaultClient, strings.TrimSuffix(s.URL, "/")+stdioPath, bearer(s.Token))
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
	client, base := http.DefaultClient, info.URL
	if info.Socket != "" {
		client, base = &http.Client{Transport: apiclient.SocketTransport(info.Socket)}, apiclient.SocketURL
	}
	return bridge.Connect(ctx, client, base+stdioPath, bearer(token))
}

func bearer(token string) http.Header {
	if token == "" {
		return nil
	}
	return http.Header{"Authorization": {"Bearer " + token}}
}

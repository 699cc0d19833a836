package xiaozhi

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/coder/websocket"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/transport"
	words "github.com/toolcrib/toolcrib/internal/xiaozhi"
)

// trust is which certificates count.
func trust(n transport.Network) *tls.Config {
	return &tls.Config{RootCAs: n.RootCAs, MinVersion: tls.VersionTLS12}
}

// dial opens a connection, as one of a few at once. Secrets are what of its address
// must stand in no text. Without a connection the ending says why there is none.
func (e *endpoint) dial(ctx context.Context, def *definition) (conn *websocket.Conn, secrets []string, _ ending) {
	select {
	case e.set.dials <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ending{}
	}
	defer func() { <-e.set.dials }()
	limited, cancel := context.WithTimeout(ctx, def.DialTimeout)
	defer cancel()
	to, end := e.whereto(limited, def)
	if end.reason != nil || ctx.Err() != nil {
		return nil, nil, end
	}
	secrets = to.secrets
	conn, res, err := websocket.Dial(limited, to.address, &websocket.DialOptions{HTTPClient: e.set.client, HTTPHeader: to.header}) //nolint:bodyclose // the library closes it
	switch {
	case err == nil:
		conn.SetReadLimit(-1) // read has one that knows the size
		return conn, secrets, ending{}
	case res != nil && res.StatusCode >= 300:
		kind := words.OfStatus(res.StatusCode)
		reason := hub.E(message.EndpointHTTPStatus, nil, "endpoint", e.name, "status", strconv.Itoa(res.StatusCode))
		if kind == words.EndingAuth {
			reason = def.refused()
		}
		return nil, nil, ending{kind: kind, reason: reason}
	case limited.Err() != nil && ctx.Err() == nil:
		err = errLate
	}
	return nil, nil, ending{reason: hub.E(message.EndpointUnreachable, nil, "endpoint", e.name).With("detail", causeOf(err, secrets))}
}

// whereabouts is where a connection is made, and as whom.
type whereabouts struct {
	address string
	header  http.Header // nil for none
	secrets []string    // what must stand in no text
}

// whereto finds out where a connection is made. Without a place the ending says why
// there is none.
func (e *endpoint) whereto(ctx context.Context, def *definition) (whereabouts, ending) {
	if def.device != nil {
		return e.wheretoBackend(ctx, def)
	}
	address, secrets, fault := e.resolve(def.URL)
	return whereabouts{address: address, secrets: secrets}, ending{reason: fault}
}

// errLate is said as a term.
var errLate = errors.New("no answer in time")

// causeOf is what an error of a dialler says, without the address that was dialled.
func causeOf(err error, secrets []string) message.Phrase {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	text := err.Error()
	if plain := words.Redact(text, secrets); plain != text {
		return message.Verbatim(message.Quote(plain))
	}
	return message.Cause(err)
}

// resolve is the address that is dialled: as it is written, to the byte, with its
// placeholders filled in. Secrets are what of it must stand in no text.
func (e *endpoint) resolve(text string) (address string, secrets []string, _ *hub.Error) {
	filled, values, err := e.set.opt.Resolve(text)
	if known, ok := errors.AsType[*hub.Error](err); ok {
		return "", nil, known
	}
	if err != nil {
		return "", nil, hub.E(message.EndpointURLInvalid, nil, "endpoint", e.name).With("detail", message.Cause(err))
	}
	return e.checked(filled, values)
}

// checked is an address if it can be dialled, and what must stand in no text of it and
// of the values that were filled into it.
func (e *endpoint) checked(address string, values []string) (_ string, secrets []string, _ *hub.Error) {
	unusable := func(detail message.Phrase) (string, []string, *hub.Error) {
		return "", nil, hub.E(message.EndpointURLInvalid, nil, "endpoint", e.name).With("detail", detail)
	}
	address = trimmed(address)
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "":
		return unusable(message.Say("it is no URL"))
	case u.Scheme != "ws" && u.Scheme != "wss":
		return unusable(message.Say("it does not begin with ws:// or wss://"))
	}
	return address, words.Secrets(address, values...), nil
}

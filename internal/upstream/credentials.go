package upstream

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/secret"
	"github.com/toolcrib/toolcrib/internal/transport"
)

// credentials are those that a connection sends, which are taken out of all that
// the server says from then on.
type credentials struct {
	transport.Authorizer
	secrets *secret.Redactor
	last    atomic.Pointer[string]
}

// Authorization implements [transport.Authorizer].
func (c *credentials) Authorization(ctx context.Context) (string, error) {
	header, err := c.Authorizer.Authorization(ctx)
	if last := c.last.Load(); header != "" && (last == nil || *last != header) && c.last.CompareAndSwap(last, &header) {
		_, token, _ := strings.Cut(header, " ")
		c.secrets.Also(token)
	}
	return header, err
}

// Refused implements [transport.Authorizer].
func (c *credentials) Refused(ctx context.Context, used string, status int, header http.Header) (bool, error) {
	return c.Authorizer.Refused(ctx, used, status, header)
}

// authorize finds the credentials for the server, whose placeholders are filled in.
func (c *Conn) authorize() {
	if c.opt.Authorize == nil || !c.opt.Server.Kind.Remote() {
		return
	}
	if by := c.opt.Authorize(c.opt.Server); by != nil {
		c.credentials = &credentials{Authorizer: by, secrets: c.secrets}
	}
}

// unadmitted returns the error of a request that the server has not carried out
// since it wants somebody to log in, or to give further rights.
func unadmitted(err error) (*hub.Error, bool) {
	e, ok := errors.AsType[*hub.Error](err)
	if !ok {
		return nil, false
	}
	switch e.Code {
	case message.UpstreamLoginNeeded, message.UpstreamScopeNeeded, message.UpstreamLoginFailed:
		return e, true
	}
	return nil, false
}

// shutOut ends the connection if a request was refused for what holds for all.
func (c *Conn) shutOut(e *hub.Error) {
	if e.Code != message.UpstreamScopeNeeded {
		c.fail(e)
	}
}

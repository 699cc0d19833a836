package rest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// What every request passes before its operation, in this order.

type langKey struct{}

// lang is the language of the request.
func lang(ctx context.Context) message.Lang {
	if l, ok := ctx.Value(langKey{}).(message.Lang); ok {
		return l
	}
	return message.English
}

func (d *Door) language(ctx huma.Context, next func(huma.Context)) {
	l := message.Prefer(ctx.Header("Accept-Language"), d.opt.Language())
	ctx.SetHeader("Content-Language", string(l))
	next(huma.WithValue(ctx, langKey{}, l))
}

// query refuses what the framework would read in a way of its own: a dry run
// that was asked for in vain would be a real one.
func (d *Door) query(ctx huma.Context, next func(huma.Context)) {
	u := ctx.URL()
	given, err := url.ParseQuery(u.RawQuery)
	var detail message.Phrase
	if err != nil {
		detail = message.Say("the query of the URL cannot be read")
	}
	for name, values := range given {
		switch {
		case len(values) > 1:
			detail = message.Say("query.%s: it is there more than once", message.Quote(name))
		case values[0] == "":
			detail = message.Say("query.%s: it has no value", message.Quote(name))
		}
	}
	if !detail.Empty() {
		refuse(ctx, http.StatusUnprocessableEntity, unfit(detail))
		return
	}
	next(ctx)
}

// body reads the request's body. It takes JSON only: a form or a text could
// come from a web page without its browser asking first. The time limit ends
// with the body, since net/http would take its passing for the client's end.
func (d *Door) body(ctx huma.Context, next func(huma.Context)) {
	op := ctx.Operation()
	if op.RequestBody == nil {
		next(ctx)
		return
	}
	r, w := humago.Unwrap(ctx)
	given := ctx.Header("Content-Type")
	if given == "" && !op.RequestBody.Required && r.ContentLength == 0 {
		next(&loaded{ctx, nil})
		return
	}
	if kind, _, err := mime.ParseMediaType(given); err != nil || kind != "application/json" {
		refuse(ctx, http.StatusUnsupportedMediaType, hub.E(message.TypeRefused, nil, "type", message.Quote(given)))
		return
	}
	limit := op.MaxBodyBytes - 1
	ctl := http.NewResponseController(w)
	_ = ctl.SetReadDeadline(time.Now().Add(d.bodyLimit)) // not every writer can
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		status, e := unread(err, d.bodyLimit)
		refuse(ctx, status, e)
		return
	}
	_ = ctl.SetReadDeadline(time.Time{})
	next(&loaded{ctx, raw})
}

// unread says why a body could not be read.
func unread(err error, limit time.Duration) (int, *hub.Error) {
	if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return http.StatusRequestEntityTooLarge, hub.E(message.BodyTooBig, nil, "limit", strconv.FormatInt(big.Limit>>20, 10)+" MiB")
	}
	if slow, ok := errors.AsType[net.Error](err); ok && slow.Timeout() {
		return http.StatusRequestTimeout, hub.E(message.BodyLate, nil, "limit", limit.String())
	}
	return http.StatusBadRequest, hub.E(message.BodyInvalid, err).With("detail", message.Say("it ends too early"))
}

type humaContext = huma.Context // which has a method of that name

// loaded is a request whose body has been read.
type loaded struct {
	humaContext
	body []byte
}

// BodyReader returns a reader of the body.
func (l *loaded) BodyReader() io.Reader { return bytes.NewReader(l.body) }

// Header is that of the request, but for the content type: there is only one.
func (l *loaded) Header(name string) string {
	if http.CanonicalHeaderKey(name) == "Content-Type" {
		return "application/json"
	}
	return l.humaContext.Header(name)
}

// Unwrap returns the request as it came.
func (l *loaded) Unwrap() huma.Context { return l.humaContext }

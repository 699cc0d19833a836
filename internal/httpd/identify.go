package httpd

import (
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// headerRequestID is how programs in front of the hub name a request, and how
// they are told its name.
const headerRequestID = "X-Request-Id"

// maxRequestID is how long an id may be that somebody else has given.
const maxRequestID = 64

// identify gives every request an id, by which the lines of the log that belong
// together are found: the one that it came with, if that can be shown, else one
// of its own. It is told to the client, also with an answer that refuses.
type identify struct {
	next http.Handler
	log  *slog.Logger
}

// ServeHTTP implements [http.Handler]. The context of the request has its id
// ([hub.RequestOf]) and, of a request that is carried out while its client waits
// for it, the trace that it is part of.
func (h *identify) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := requestID(r)
	w.Header()[headerRequestID] = []string{id}
	ctx := hub.WithRequest(r.Context(), id)
	if len(r.Header["Traceparent"]) > 0 && !lasting(r) {
		carrier := propagation.HeaderCarrier(r.Header)
		ctx = propagation.TraceContext{}.Extract(ctx, carrier)
		if trace.SpanContextFromContext(ctx).IsValid() {
			ctx = propagation.Baggage{}.Extract(ctx, carrier)
		}
	}
	if h.log.Enabled(ctx, slog.LevelDebug) { // or what is not said would cost something
		h.log.DebugContext(ctx, "request", "method", r.Method, "path", r.URL.Path, "address", r.RemoteAddr)
	}
	h.next.ServeHTTP(w, r.WithContext(ctx))
}

// lasting reports whether a request opens a stream on which others' messages
// come: what it is part of says nothing about these.
func lasting(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodConnect
}

// requestID is the id that a request came with, or a new one.
func requestID(r *http.Request) string {
	if given := r.Header[headerRequestID]; len(given) == 1 && isRequestID(given[0]) {
		return given[0]
	}
	// It names, and nothing depends on its being hard to guess.
	const digits = "0123456789abcdef"
	var id [16]byte
	n := rand.Uint64()
	for i := range id {
		id[i] = digits[n>>(4*i)&15]
	}
	return string(id[:])
}

// isRequestID reports whether an id from elsewhere can stand in a log and in a
// header as it is.
func isRequestID(id string) bool {
	if id == "" || len(id) > maxRequestID {
		return false
	}
	return !strings.ContainsFunc(id, func(c rune) bool {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		return !letter && !strings.ContainsRune("-_.:/+=@", c)
	})
}

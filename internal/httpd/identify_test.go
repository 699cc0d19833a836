package httpd_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolcrib/toolcrib/internal/httpd"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// tellID answers with the id of the request, and with the trace that it is part
// of.
func tellID(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Seen", hub.RequestOf(r.Context()))
	w.Header().Set("Trace", trace.SpanContextFromContext(r.Context()).TraceID().String())
	w.Header().Set("Luggage", baggage.FromContext(r.Context()).String())
}

func TestRequestID(t *testing.T) {
	s := serve(t, httpd.Options{}, tellID).stopAtEnd(t)
	made := regexp.MustCompile(`^[0-9a-f]{16}$`)
	seen := map[string]bool{}
	for _, given := range []string{
		"", "abc-1", "a/b+c=", strings.Repeat("x", 64), strings.Repeat("x", 65), "two words", "tab\tin it", "quote\"", "ö", "a,b", "%0a",
	} {
		h := http.Header{}
		if given != "" {
			h.Set("X-Request-Id", given)
		}
		resp := s.answer(t, s.URL(), request{header: h})
		told, inside := resp.Header.Values("X-Request-Id"), resp.Header.Get("Seen")
		if len(told) != 1 || told[0] != inside {
			t.Errorf("%q: the client is told %q, the log %q", given, told, inside)
			continue
		}
		sane := regexp.MustCompile(`^[A-Za-z0-9_.:/+=@-]{1,64}$`).MatchString(given)
		if sane && inside != given || !sane && !made.MatchString(inside) {
			t.Errorf("%q became %q", given, inside)
		}
		if seen[inside] {
			t.Errorf("%q is there twice", inside)
		}
		seen[inside] = true
	}
	twice := s.answer(t, s.URL(), request{header: http.Header{"X-Request-Id": {"a", "b"}}})
	if id := twice.Header.Get("Seen"); !made.MatchString(id) {
		t.Errorf("two ids became %q", id)
	}
}

// A request that is refused has an id as well.
func TestRefusedRequestID(t *testing.T) {
	s := serve(t, httpd.Options{RequireToken: true}, tellID).stopAtEnd(t)
	resp := s.want(t, request{path: "/mcp", header: headers("X-Request-Id", "mine")}, message.TokenRequired)
	if id := resp.Header.Get("X-Request-Id"); id != "mine" {
		t.Errorf("it is told %q", id)
	}
}

// The trace of an HTTP request is that of what it asks for, and not of what
// comes on a stream that it opens.
func TestTraceOfRequest(t *testing.T) {
	s := serve(t, httpd.Options{}, tellID).stopAtEnd(t)
	const id = "0af7651916cd43dd8448eb211c80319c"
	none := strings.Repeat("0", 32)
	for _, test := range []struct{ method, parent, want, luggage string }{
		{http.MethodPost, "00-" + id + "-b7ad6b7169203331-01", id, "k=v"},
		{http.MethodGet, "00-" + id + "-b7ad6b7169203331-01", none, ""},
		{http.MethodPost, "00-" + none + "-b7ad6b7169203331-01", none, ""},
		{http.MethodPost, "nonsense", none, ""},
		{http.MethodPost, "", none, ""},
	} {
		h := headers("Baggage", "k=v")
		if test.parent != "" {
			h.Set("Traceparent", test.parent)
		}
		resp := s.answer(t, s.URL(), request{method: test.method, header: h})
		if got := [...]string{resp.Header.Get("Trace"), resp.Header.Get("Luggage")}; got != [...]string{test.want, test.luggage} {
			t.Errorf("%s with %q is part of %q", test.method, test.parent, got)
		}
	}
}

func FuzzRequestID(f *testing.F) {
	f.Add("abc")
	f.Add("x\r\nSet-Cookie: a=b")
	f.Add(strings.Repeat("é", 40))
	f.Fuzz(func(t *testing.T, given string) {
		got := httpd.RequestID(&http.Request{Header: http.Header{"X-Request-Id": {given}}})
		if !regexp.MustCompile(`^[A-Za-z0-9_.:/+=@-]{1,64}$`).MatchString(got) {
			t.Errorf("%q became %q", given, got)
		}
		if line := fmt.Sprint(got); strings.ContainsAny(line, " \r\n\"") {
			t.Errorf("%q cannot stand in a line", got)
		}
	})
}

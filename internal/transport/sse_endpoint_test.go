package transport

import (
	"net/url"
	"strings"
	"testing"
)

// FuzzEndpoint: whatever a server says, its credentials stay on its origin.
func FuzzEndpoint(f *testing.F) {
	for _, said := range []string{
		"/messages?s=1", "?s=1", "m", "//example.org/m", "https://example.org/", "http://localhost:1/", "http://LOCALHOST/m",
		"http://localhost:80@example.org/", "http://u:p@localhost/m", "\\\\example.org", "javascript:x", "http:x", "", "#f", " /m ",
	} {
		f.Add(said)
	}
	stream, err := url.Parse("http://localhost/sse")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, said string) {
		to, err := endpointOf(stream, said)
		if err != nil {
			return
		}
		// As whoever opens the connection reads it.
		sent, err := url.Parse(to.String())
		if err != nil {
			t.Fatalf("%q became %q: %v", said, to, err)
		}
		for _, u := range []*url.URL{to, sent} {
			if u.Scheme != "http" || !strings.EqualFold(u.Hostname(), "localhost") || u.Port() != "" && u.Port() != "80" || u.User != nil {
				t.Errorf("%q became %q", said, u)
			}
		}
	})
}

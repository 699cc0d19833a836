package transport_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/toolcrib/toolcrib/internal/transport"
)

// The network's settings count for every request.
func TestNetwork(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }))
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0) // that a handshake failed is expected
	secure.StartTLS()
	defer secure.Close()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}))

	var seen string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.Method + " " + r.RequestURI
		if r.Method == http.MethodConnect {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	defer proxy.Close()
	via := func(*http.Request) (*url.URL, error) { return url.Parse(proxy.URL) }
	dead := func(*http.Request) (*url.URL, error) { return url.Parse("http://127.0.0.1:1") }

	post := func(to string, n transport.Network) error {
		c, err := transport.NewHTTP(transport.HTTPOptions{URL: to, Network: n})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, err = c.Post(t.Context(), &transport.Outbound{Body: []byte("{}")}, func([]byte) bool { return false })
		return err
	}
	if err := post(secure.URL, transport.Network{RootCAs: roots}); err != nil {
		t.Errorf("with its authority: %v", err)
	}
	err := post(secure.URL, transport.Network{})
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok || !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("without its authority: %v", err)
	}
	if err := post("http://nowhere.invalid/mcp", transport.Network{Proxy: via}); err != nil || seen != "POST http://nowhere.invalid/mcp" {
		t.Errorf("through the proxy: %q, %v", seen, err)
	}
	err = post("https://nowhere.invalid/mcp", transport.Network{Proxy: via})
	if bad, ok := errors.AsType[*transport.ProxyError](err); !ok || bad.Status != http.StatusForbidden || !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("refused by the proxy: %v", err)
	}
	if err := post("http://nowhere.invalid/mcp", transport.Network{Proxy: dead}); !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("with no proxy there: %v", err)
	}
}

// What a URL says about the user is sent where it belongs.
func TestUserInURL(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if user, password, ok := r.BasicAuth(); !ok || user != "me" || password != "p:w" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	defer srv.Close()
	u, _ := url.Parse(srv.URL)
	u.User = url.UserPassword("me", "p:w")
	c, err := transport.NewHTTP(transport.HTTPOptions{URL: u.String()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Post(t.Context(), &transport.Outbound{Body: []byte("{}")}, nil); err != nil {
		t.Error(err)
	}
}

package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/protocol"
)

// Limits of one remote server. Zero values stand for the defaults.
const (
	DefaultConnect    = 10 * time.Second
	DefaultStreamIdle = 300 * time.Second
	DefaultMaxMessage = 64 << 20
)

// Network is how this machine reaches others. The zero value does as the
// environment and the system say.
type Network struct {
	// Proxy returns the proxy for a request, nil for none; by default what
	// HTTP_PROXY, HTTPS_PROXY and NO_PROXY say.
	Proxy func(*http.Request) (*url.URL, error)

	// RootCAs are the authorities whose certificates are trusted; by default
	// those of the system.
	RootCAs *x509.CertPool
}

// HTTPOptions describe an endpoint that is reached over HTTP, be it streamable
// HTTP, HTTP with server-sent events, or a WebSocket, which begins as an HTTP
// request.
type HTTPOptions struct {
	URL        string
	Header     map[string]string // sent with every request; may not be one of the transport's own
	Authorize  Authorizer        // of credentials that change; nil for none but those of Header
	Network    Network
	Connect    time.Duration // to open a connection, TLS included
	StreamIdle time.Duration // an event stream may be silent so long
	MaxMessage int           // bytes

	// Junk, when set, is given what comes on a duplex stream and is no
	// message, cut at 8 KiB. It runs within Read; the bytes are its to keep.
	Junk func(data []byte)
}

// withDefaults fills in what was left out.
func (o HTTPOptions) withDefaults() HTTPOptions {
	if o.Connect <= 0 {
		o.Connect = DefaultConnect
	}
	if o.StreamIdle <= 0 {
		o.StreamIdle = DefaultStreamIdle
	}
	if o.MaxMessage <= 0 {
		o.MaxMessage = DefaultMaxMessage
	}
	return o
}

// endpoint reads the URL. What it says about the user goes into a header,
// where a request has it.
func (o *HTTPOptions) endpoint() (*url.URL, http.Header, error) {
	to, err := url.Parse(o.URL)
	if err != nil {
		return nil, nil, fmt.Errorf("read the URL: %w", plain(err))
	}
	header := http.Header{}
	if to.User != nil {
		password, _ := to.User.Password()
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(to.User.Username()+":"+password)))
		to.User = nil
	}
	for k, v := range o.Header {
		if !ownHeader(k) {
			header.Set(k, v)
		}
	}
	return to, header, nil
}

// ownHeader reports whether a header is the transport's to set.
func ownHeader(name string) bool {
	name = http.CanonicalHeaderKey(name)
	switch name {
	case protocol.HeaderSession, protocol.HeaderVersion, protocol.HeaderMethod, protocol.HeaderName,
		protocol.HeaderEventID, "Accept", "Content-Type", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade":
		return true
	}
	return strings.HasPrefix(name, protocol.HeaderParam) || strings.HasPrefix(name, "Sec-Websocket-")
}

// pool makes the connections to the endpoint and keeps idle ones.
func (o *HTTPOptions) pool() *http.Transport {
	proxy := o.Network.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	dialer := &net.Dialer{Timeout: o.Connect, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                  proxy,
		OnProxyConnectResponse: proxyAnswered,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: o.Network.RootCAs},
		TLSHandshakeTimeout:    o.Connect,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    256,
		IdleConnTimeout:        90 * time.Second,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 256 << 10,
		WriteBufferSize:        16 << 10,
		ReadBufferSize:         16 << 10,
	}
}

// proxyAnswered refuses the tunnel that a proxy did not open, with an error
// that says so; that of net/http has no type.
func proxyAnswered(_ context.Context, _ *url.URL, _ *http.Request, res *http.Response) error {
	if res.StatusCode != http.StatusOK {
		return &ProxyError{Status: res.StatusCode}
	}
	return nil
}

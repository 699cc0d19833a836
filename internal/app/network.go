package app

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"os"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/transport"
)

// outward is the way of built-in servers to others on the network: by the same
// proxy, and with the same trust, as that to remote servers.
func outward(n transport.Network) *http.Transport {
	proxy := n.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	return &http.Transport{
		Proxy: proxy, TLSClientConfig: &tls.Config{RootCAs: n.RootCAs, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true,
		ForceAttemptHTTP2: true,
	}
}

// network is the way to remote servers. The error is a [*hub.Error].
func network(opt Options) (transport.Network, error) {
	var n transport.Network
	if opt.Proxy != "" {
		u, err := url.Parse(opt.Proxy)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5" {
			return n, hub.E(message.ProxyInvalid, nil) // the text may hold a password
		}
		n.Proxy = http.ProxyURL(u)
	}
	if opt.CACert == "" {
		return n, nil
	}
	unusable := func(err error, detail message.Phrase) error {
		return hub.E(message.CAUnusable, err, "path", opt.CACert).With("detail", detail)
	}
	text, err := os.ReadFile(opt.CACert)
	if err != nil {
		return n, unusable(err, message.Cause(err))
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return n, unusable(err, message.Say("the system's own certificates cannot be read: %s", message.Cause(err)))
	}
	if !pool.AppendCertsFromPEM(text) {
		return n, unusable(nil, message.Say("there is no certificate in it (PEM is expected)"))
	}
	n.RootCAs = pool
	return n, nil
}

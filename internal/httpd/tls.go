package httpd

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

const (
	certificateAge = 10 * time.Second // how long files are not looked at again
	maxPEM         = 1 << 20
)

// LoadTLS returns the settings for TLS, from version 1.2 on, with the
// certificate and the key of two PEM files. The files are read again when a
// client connects, every ten seconds at most, so that a renewed certificate
// needs no restart; a new pair that cannot be used is logged, and the one
// before stays in use. A certificate that is not valid at this time is logged
// too, and used. The error is a [*hub.Error] of the code tls_unusable.
func LoadTLS(certFile, keyFile string, log *slog.Logger) (*tls.Config, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log}
	if err := c.load(time.Now()); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current(time.Now()), nil },
	}, nil
}

// certificate is what two files say.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu      sync.Mutex
	pair    *tls.Certificate
	checked time.Time // when the files were read last
}

// current returns the pair in use, after reading the files if that is too long
// ago.
func (c *certificate) current(now time.Time) *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.checked) >= certificateAge {
		if err := c.load(now); err != nil {
			c.log.Warn("the TLS certificate in use stays, the new one cannot be used", "error", err)
		}
	}
	return c.pair
}

// load reads the files and takes what they say into use.
func (c *certificate) load(now time.Time) error {
	c.checked = now
	pair, err := readPair(c.certFile, c.keyFile)
	if err != nil {
		return hub.E(message.TLSUnusable, err, "cert", c.certFile, "key", c.keyFile).With("detail", message.Cause(err))
	}
	old := c.pair
	c.pair = pair
	if old != nil && old.Leaf.Equal(pair.Leaf) {
		return nil
	}
	switch until := pair.Leaf.NotAfter; {
	case now.After(until):
		c.log.Warn("the TLS certificate has expired, clients will refuse it", "file", c.certFile, "until", until)
	case now.Before(pair.Leaf.NotBefore):
		c.log.Warn("the TLS certificate is not valid yet, clients will refuse it", "file", c.certFile, "from", pair.Leaf.NotBefore)
	case old != nil:
		c.log.Info("the TLS certificate is a new one", "file", c.certFile, "until", until)
	}
	return nil
}

func readPair(certFile, keyFile string) (*tls.Certificate, error) {
	if certFile == "" || keyFile == "" {
		return nil, errors.New("both have to be given")
	}
	cert, err := readPEM(certFile)
	if err != nil {
		return nil, err
	}
	key, err := readPEM(keyFile)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	return &pair, nil
}

func readPEM(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxPEM+1))
	if err == nil && len(raw) > maxPEM {
		err = fmt.Errorf("%s has more than %d bytes", name, maxPEM)
	}
	return raw, err
}

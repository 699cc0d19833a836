package httpd_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/httpd"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// pair is a certificate of this machine, signed by itself, and its key.
type pair struct{ cert, key []byte }

func newPair(t *testing.T, serial int64, from, until time.Time) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"},
		NotBefore: from, NotAfter: until, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pair{
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}),
	}
}

// valid is a pair that is good now.
func valid(t *testing.T, serial int64) pair {
	return newPair(t, serial, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
}

// files are where a pair lies.
type files struct{ cert, key string }

func newFiles(t *testing.T) files {
	dir := t.TempDir()
	return files{filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")}
}

func (f files) put(t *testing.T, p pair) {
	t.Helper()
	for name, content := range map[string][]byte{f.cert: p.cert, f.key: p.key} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func (f files) load(t *testing.T, log *logged) *tls.Config {
	t.Helper()
	c, err := httpd.LoadTLS(f.cert, f.key, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTLS(t *testing.T) {
	f, one := newFiles(t), valid(t, 1)
	f.put(t, one)
	path := socketPath(t)
	log := &logged{}
	s := serve(t, httpd.Options{
		TLS: f.load(t, log), Listeners: []net.Listener{listen(t, "127.0.0.1:0", false), listenSocket(t, path)},
	}, who).stopAtEnd(t)
	if !strings.HasPrefix(s.URL(), "https://127.0.0.1:") {
		t.Fatalf("URL() = %q", s.URL())
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(one.cert)
	for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: version == "HTTP/2.0"}
		client := &http.Client{Transport: transport}
		res := s.want(t, request{client: client}, "")
		if res.Proto != version {
			t.Errorf("it speaks %s, not %s", res.Proto, version)
		}
		// The address's own origin is now another one.
		plain := strings.Replace(s.URL(), "https", "http", 1)
		s.want(t, request{client: client, header: headers("Origin", s.URL())}, "")
		s.want(t, request{client: client, header: headers("Origin", plain)}, message.OriginRefused)
		transport.CloseIdleConnections()
	}
	if res := s.answer(t, "http://hub", request{client: overSocket(t, path)}); res.StatusCode != http.StatusTeapot {
		t.Errorf("by the socket: %d", res.StatusCode)
	}
	conn, err := tls.Dial("tcp", strings.TrimPrefix(s.URL(), "https://"), &tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS11})
	if err == nil {
		conn.Close()
		t.Error("it speaks TLS 1.1")
	}
	if text := log.String() + s.log.String(); text != "" {
		t.Errorf("the log says %q", text)
	}
}

// A listener that others reach is not warned about if it has TLS.
func TestOpenTLS(t *testing.T) {
	f := newFiles(t)
	f.put(t, valid(t, 1))
	s := serve(t, httpd.Options{TLS: f.load(t, &logged{}), Listeners: []net.Listener{listen(t, "0.0.0.0:0", true)}}, who).stopAtEnd(t)
	if text := s.log.String(); text != "" {
		t.Errorf("the log says %q", text)
	}
}

func TestTLSUnusable(t *testing.T) {
	one, two := valid(t, 1), valid(t, 2)
	f := newFiles(t)
	for name, prepare := range map[string]func() files{
		"no certificate given": func() files { return files{key: f.key} },
		"no key given":         func() files { return files{cert: f.cert} },
		"no such file":         func() files { return files{f.cert + ".missing", f.key} },
		"mismatch":             func() files { f.put(t, pair{one.cert, two.key}); return f },
		"switched":             func() files { f.put(t, pair{one.key, one.cert}); return f },
		"empty":                func() files { f.put(t, pair{}); return f },
		"huge":                 func() files { f.put(t, pair{make([]byte, 2<<20), one.key}); return f },
	} {
		t.Run(name, func(t *testing.T) {
			f.put(t, one)
			given := prepare()
			_, err := httpd.LoadTLS(given.cert, given.key, slog.New(slog.DiscardHandler))
			if !hub.IsCode(err, message.TLSUnusable) || !strings.Contains(err.Error(), given.cert) || !strings.Contains(err.Error(), given.key) {
				t.Errorf("error %v", err)
			}
			if strings.Contains(err.Error(), "PRIVATE KEY") {
				t.Errorf("it shows the key: %v", err)
			}
		})
	}
}

func TestTLSOutOfDate(t *testing.T) {
	for want, p := range map[string]pair{
		"has expired":      newPair(t, 1, time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)),
		"is not valid yet": newPair(t, 2, time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)),
	} {
		f, log := newFiles(t), &logged{}
		f.put(t, p)
		f.load(t, log)
		if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, want) {
			t.Errorf("the log says %q, want %q", text, want)
		}
	}
}

// A renewed certificate is taken into use at a handshake, ten seconds after
// the last look at the earliest; one that cannot be used is not.
func TestTLSRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := time.Now().Add(time.Hour)
		fresh := func(serial int64) pair { return newPair(t, serial, time.Now().Add(-time.Hour), until) }
		f, log := newFiles(t), &logged{}
		one, two := fresh(1), fresh(2)
		f.put(t, one)
		config := f.load(t, log)
		want := func(serial int64) {
			t.Helper()
			if got := handshake(t, config); got != serial {
				t.Errorf("certificate %d, want %d", got, serial)
			}
		}
		want(1)
		f.put(t, two)
		time.Sleep(9 * time.Second)
		want(1)
		time.Sleep(time.Second)
		want(2)
		if text := log.String(); strings.Count(text, "\n") != 1 {
			t.Errorf("of the new one the log says %q", text)
		}

		f.put(t, pair{one.cert, two.key})
		time.Sleep(10 * time.Second)
		want(2)
		if err := os.Remove(f.key); err != nil {
			t.Fatal(err)
		}
		want(2)
		time.Sleep(10 * time.Second)
		want(2)
		if text := log.String(); strings.Count(text, "the new one cannot be used") != 2 {
			t.Errorf("of two that cannot be used the log says %q", text)
		}

		f.put(t, one)
		time.Sleep(10 * time.Second)
		want(1)
	})
}

// handshake returns the serial number of the certificate that is shown.
func handshake(t *testing.T, config *tls.Config) int64 {
	t.Helper()
	server, client := net.Pipe()
	defer server.Close()
	defer client.Close()
	done := make(chan error, 1)
	go func() { done <- tls.Server(server, config).HandshakeContext(t.Context()) }()
	conn := tls.Client(client, &tls.Config{InsecureSkipVerify: true})
	err := conn.HandshakeContext(t.Context())
	if err != nil {
		t.Fatal(errors.Join(err, <-done))
	}
	// The server has its end only once what it sends last is read.
	_ = client.Close()
	<-done
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

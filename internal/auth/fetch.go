package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// Limits of asking an issuer.
const (
	fetchLimit  = 5 * time.Second
	maxDocument = 1 << 20
)

// fetch gets a JSON document of an issuer, in 5 s at most, and follows nobody
// elsewhere.
func fetch(ctx context.Context, client *http.Client, from string, into any) error {
	if fault := hub.EndpointFault(from); fault != "" {
		return errors.New("the address of a document " + fault)
	}
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return fmt.Errorf("asking an issuer: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("asking an issuer: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return &statusError{resp.StatusCode}
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	switch {
	case err != nil:
		return fmt.Errorf("reading what an issuer says: %w", err)
	case len(raw) > maxDocument:
		return errors.New("what the issuer says is larger than 1 MiB")
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("reading what an issuer says: %w", err)
	}
	return nil
}

// statusError is an answer that is no success.
type statusError struct{ status int }

func (e *statusError) Error() string { return fmt.Sprintf("the issuer answers with HTTP %d", e.status) }

// bounded is a client that follows no redirects, takes no more time than an issuer
// may, and reads no more than a document may have.
func bounded(client *http.Client) *http.Client {
	next := http.DefaultTransport
	if client != nil && client.Transport != nil {
		next = client.Transport
	}
	return &http.Client{
		Transport:     limitedTransport{next},
		Timeout:       fetchLimit,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type limitedTransport struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (t limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err == nil {
		resp.Body = limitedBody{io.LimitReader(resp.Body, maxDocument+1), resp.Body}
	}
	return resp, err
}

type limitedBody struct {
	io.Reader
	io.Closer
}

// metadata is what an issuer says of itself (OpenID Connect Discovery 1.0, and RFC
// 8414).
type metadata struct {
	Issuer   string `json:"issuer"`
	AuthURL  string `json:"authorization_endpoint"`
	TokenURL string `json:"token_endpoint"`
	JWKS     string `json:"jwks_uri"`
	NamesIss bool   `json:"authorization_response_iss_parameter_supported"`
}

// discover asks an issuer for what it says of itself. One that calls itself
// otherwise is refused.
func discover(ctx context.Context, client *http.Client, issuer string) (metadata, error) {
	var m metadata
	var errs []error
	for _, from := range wellKnown(issuer) {
		m = metadata{}
		err := fetch(ctx, client, from, &m)
		if err == nil && m.Issuer != issuer {
			err = errors.New("the issuer calls itself otherwise")
		}
		if err == nil {
			return m, nil
		}
		errs = append(errs, err)
		if _, answered := errors.AsType[*statusError](err); !answered {
			break // it would be no better at the next address
		}
	}
	return metadata{}, errors.Join(errs...)
}

// wellKnown is where an issuer may tell about itself.
func wellKnown(issuer string) []string {
	all := []string{strings.TrimSuffix(issuer, "/") + "/.well-known/openid-configuration"}
	u, err := url.Parse(issuer)
	if err != nil {
		return all
	}
	return append(all, u.Scheme+"://"+u.Host+"/.well-known/oauth-authorization-server"+strings.TrimSuffix(u.EscapedPath(), "/"))
}

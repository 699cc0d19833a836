package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/message"
)

// The ways in which a client shows who it is (RFC 8414, section 2).
const (
	authNone  = "none"
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
	authKey   = "private_key_jwt"
)

// client is the hub as an authorization server knows it.
type client struct {
	ID      string    `json:"id"`
	Secret  string    `json:"secret,omitempty"`
	Auth    string    `json:"auth"`              // one of the ways
	Expires time.Time `json:"expires,omitzero"`  // of the secret; zero for never
	Dynamic bool      `json:"dynamic,omitempty"` // it has registered itself

	key string // PEM, with authKey; that of the configuration, which is not kept
}

// tokens are what an authorization server has given.
type tokens struct {
	Access  string    `json:"access"`
	Refresh string    `json:"refresh,omitempty"`
	Got     time.Time `json:"got"`
	Expires time.Time `json:"expires,omitzero"`
	Scopes  []string  `json:"scopes,omitempty"` // that were given, or asked for if it did not say
	Again   bool      `json:"again,omitempty"`  // they came in place of others, without a person
}

const (
	maxToken    = 16 << 10
	usualLife   = time.Hour // of a token that does not say, and can be had anew without a person
	longestLife = 365 * 24 * time.Hour
)

// refusedError says that an authorization server gave no token, and why. It holds
// nothing of what it was sent.
type refusedError struct {
	code   string // such as invalid_grant; "" if it did not say
	status int
	detail message.Phrase
}

func (e *refusedError) Error() string { return e.detail.String() }

// final reports whether another attempt with the same would not be better.
func (e *refusedError) final() bool {
	return e.status < http.StatusInternalServerError && e.status != http.StatusTooManyRequests && e.status != http.StatusRequestTimeout &&
		e.code != "temporarily_unavailable" && e.code != "slow_down"
}

// ask posts to a token endpoint, as the client, and returns what it gives.
func (r *reach) ask(ctx context.Context, endpoint, issuer string, c *client, form url.Values, asked []string) (*tokens, error) {
	said, err := r.submit(ctx, endpoint, issuer, c, form)
	if err != nil {
		return nil, err
	}
	if said.status != http.StatusOK && said.status != http.StatusCreated {
		return nil, refusal(said.status, said.body)
	}
	return read(said.body, asked, time.Now())
}

// submit posts a form to an endpoint of an authorization server, as the client.
func (r *reach) submit(ctx context.Context, endpoint, issuer string, c *client, form url.Values) (answer, error) {
	switch c.Auth {
	case authBasic:
	case authPost:
		form.Set("client_id", c.ID)
		form.Set("client_secret", c.Secret)
	case authKey:
		assertion, err := assert(c, issuer, time.Now())
		if err != nil {
			return answer{}, err
		}
		form.Set("client_id", c.ID)
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
	default:
		form.Set("client_id", c.ID)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return answer{}, errScheme
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if c.Auth == authBasic {
		req.SetBasicAuth(url.QueryEscape(c.ID), url.QueryEscape(c.Secret)) // RFC 6749, section 2.3.1
	}
	return r.do(req)
}

// refusal reads an answer that gives no token.
func refusal(code int, body []byte) *refusedError {
	var said struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	_ = json.Unmarshal(body, &said) // which need not be JSON
	e := &refusedError{status: code, code: said.Error, detail: status(code)}
	if said.Error != "" {
		e.detail = message.Say("it answered %s", message.Quote(short(said.Error, 64)))
	}
	return e
}

// short is the beginning of a text.
func short(s string, most int) string {
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "")
	}
	return s
}

// read reads the answer that gives a token (RFC 6749, section 5.1). Its errors
// show nothing of it.
func read(body []byte, asked []string, now time.Time) (*tokens, error) {
	var said struct {
		Access  string          `json:"access_token"`
		Type    string          `json:"token_type"`
		Expires json.RawMessage `json:"expires_in"`
		Refresh string          `json:"refresh_token"`
		Scope   string          `json:"scope"`
	}
	bad := func(detail message.Phrase) (*tokens, error) {
		return nil, &refusedError{status: http.StatusOK, detail: detail}
	}
	switch err := json.Unmarshal(body, &said); {
	case err != nil:
		return bad(message.Say("its answer cannot be read"))
	case said.Access == "":
		if e := refusal(http.StatusOK, body); e.code != "" { // as some do
			return nil, e
		}
		return bad(message.Say("its answer has no token"))
	case said.Type != "" && !strings.EqualFold(said.Type, "bearer"):
		return bad(message.Say("its token is of the type %s", message.Quote(short(said.Type, 32))))
	case !sendable(said.Access) || !sendable(said.Refresh):
		return bad(message.Say("its token cannot be sent"))
	}
	t := &tokens{Access: said.Access, Refresh: said.Refresh, Got: now, Scopes: asked}
	if said.Scope != "" {
		t.Scopes = words(said.Scope)
	}
	if life := seconds(said.Expires); life > 0 {
		t.Expires = now.Add(life)
	}
	return t, nil
}

// sendable reports whether a token can stand in a header.
func sendable(token string) bool {
	return len(token) <= maxToken && !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
}

// seconds reads how long a token is good for, which some servers write as a text;
// 0 if that is not known.
func seconds(raw json.RawMessage) time.Duration {
	text := strings.Trim(string(raw), `"`)
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || n <= 0 {
		return 0
	}
	return time.Duration(min(n, longestLife.Seconds()) * float64(time.Second))
}

// due is when tokens are to be had anew: a while before they expire, so that no
// request is on its way with one that does meanwhile.
func (t *tokens) due() time.Time {
	if t.Expires.IsZero() {
		return time.Time{}
	}
	return t.Expires.Add(-min(time.Minute, t.Expires.Sub(t.Got)/5))
}

// isRefusal reports whether an error is final: asking once more changes nothing.
func isRefusal(err error) bool {
	if e, ok := errors.AsType[*refusedError](err); ok {
		return e.final()
	}
	if _, ok := errors.AsType[*keyError](err); ok {
		return true
	}
	return errors.Is(err, errNotPublic) || errors.Is(err, errScheme) || errors.Is(err, errTooLarge)
}

// detail says in words what is wrong with what an authorization server was asked.
func detail(err error) message.Phrase {
	if e, ok := errors.AsType[*refusedError](err); ok {
		return e.detail
	}
	if e, ok := errors.AsType[*keyError](err); ok {
		return e.detail
	}
	return why(err)
}

// passing reports whether an error is of the way there.
func passing(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) || !isRefusal(err)
}

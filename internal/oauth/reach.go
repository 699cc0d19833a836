package oauth

import (
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/toolcrib/toolcrib/internal/message"
)

// Bounds of what is asked for besides the server itself.
const (
	maxBody      = 256 << 10
	maxRedirects = 3
	fetchLimit   = 10 * time.Second // one request
	findLimit    = 25 * time.Second // all that a server's metadata take
)

// reach is how the hub gets to the metadata and endpoints that a server names. A
// server could name any address, also one that only this machine reaches: what is
// not public is only gone to for a server that is not public either, and plain
// HTTP only for one that is spoken to by it, or to this machine (RFC 9728, section
// 7.7).
type reach struct {
	direct  *http.Transport // refuses addresses that are not public, unless local
	proxied *http.Transport
	proxy   func(*http.Request) (*url.URL, error)
	plain   bool // the server is spoken to by plain HTTP
	local   bool // the server's own address is not public
}

// Faults of addresses, which are told apart by what people can do about them.
var (
	errNotPublic = errors.New("the address is not public")
	errScheme    = errors.New("the address is not one of https")
)

// reachFor returns the reach for a server.
func (k *Keeper) reachFor(ctx context.Context, server *url.URL) *reach {
	r := &reach{proxy: k.opt.Proxy, plain: server.Scheme == "http", local: notPublicHost(ctx, server.Hostname())}
	if r.proxy == nil {
		r.proxy = http.ProxyFromEnvironment
	}
	pool := k.direct
	if r.local {
		pool = k.lan
	}
	r.direct, r.proxied = pool, k.proxied
	return r
}

// newPool makes the connections to all but servers themselves.
func newPool(opt *Options, check func(netip.Addr) error, proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	dialer := &net.Dialer{Timeout: fetchLimit}
	if check != nil {
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return errNotPublic
			}
			return check(at.Addr())
		}
	}
	return &http.Transport{
		Proxy: proxy, DialContext: dialer.DialContext, TLSClientConfig: opt.tls(), TLSHandshakeTimeout: fetchLimit,
		ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 2, IdleConnTimeout: 10 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// publicOnly refuses what is not a public address.
func publicOnly(a netip.Addr) error {
	if !public(a) {
		return errNotPublic
	}
	return nil
}

// public reports whether an address is one that anybody may reach, as far as that
// keeps strangers from this machine and its network.
func public(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.Zone() != "" {
		return false
	}
	for _, known := range [...]string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16",
	} {
		if netip.MustParsePrefix(known).Contains(a) {
			return false
		}
	}
	return true
}

// notPublicHost reports whether a host is on this machine or its network. One that
// cannot be looked up is taken for public, of which less is allowed.
func notPublicHost(ctx context.Context, host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return !public(a)
	}
	if isLoopbackName(host) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(all) == 0 {
		return false
	}
	return !slices.ContainsFunc(all, public)
}

func isLoopbackName(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// may is an error for an address that is not gone to.
func (r *reach) may(u *url.URL) error {
	switch {
	case u.Host == "" || u.User != nil:
		return errScheme
	case u.Scheme == "https":
	case u.Scheme == "http" && (r.plain || r.local && isLoopbackName(u.Hostname())):
	default:
		return errScheme
	}
	if a, err := netip.ParseAddr(u.Hostname()); r.local || err != nil && !isLoopbackName(u.Hostname()) || err == nil && public(a) {
		return nil
	}
	return errNotPublic
}

// answer is what there is to read of an answer.
type answer struct {
	status int
	json   bool // it says that it is
	body   []byte
}

// do sends a request, by GET after redirects too. The error says nothing of the
// address.
func (r *reach) do(req *http.Request) (answer, error) {
	ctx, cancel := context.WithTimeout(req.Context(), fetchLimit)
	defer cancel()
	if err := r.may(req.URL); err != nil {
		return answer{}, err
	}
	client := &http.Client{
		Transport: r,
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if req.Method != http.MethodGet || len(via) > maxRedirects {
				return http.ErrUseLastResponse // credentials go nowhere else
			}
			return r.may(next.URL)
		},
	}
	res, err := client.Do(req.WithContext(ctx))
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return answer{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	if err == nil && len(body) > maxBody {
		err = errTooLarge
	}
	return answer{res.StatusCode, isJSON(res), body}, err
}

var errTooLarge = errors.New("the answer is too large")

// RoundTrip implements [http.RoundTripper]: with a proxy in between it is that
// which is dialled, so that only the name of the host can be looked at.
func (r *reach) RoundTrip(req *http.Request) (*http.Response, error) {
	via, err := r.proxy(req)
	switch {
	case err != nil:
		return nil, err
	case via != nil:
		return r.proxied.RoundTrip(req)
	}
	return r.direct.RoundTrip(req)
}

// isJSON reports whether an answer says that it is JSON.
func isJSON(res *http.Response) bool {
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}

// why says in plain words what is wrong with a way.
func why(err error) message.Phrase {
	switch {
	case errors.Is(err, errNotPublic):
		return message.Say("its address is not public, and the server's is")
	case errors.Is(err, errScheme):
		return message.Say("its address is not one of https")
	case errors.Is(err, errTooLarge):
		return message.Say("its answer is too large")
	case errors.Is(err, context.DeadlineExceeded):
		return message.Say("no answer in time")
	case errors.Is(err, context.Canceled):
		return message.Say("the request was cancelled")
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return message.Say("the host name %s is not known", message.Quote(dns.Name))
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		var inner error = op
		for errors.Unwrap(inner) != nil {
			inner = errors.Unwrap(inner)
		}
		return message.Term(message.Quote(inner.Error()))
	}
	return message.Say("it was not reached")
}

func status(n int) message.Phrase { return message.Say("it answered HTTP %s", strconv.Itoa(n)) }

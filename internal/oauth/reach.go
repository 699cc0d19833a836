package oauth

import (
	"context"
	"errors"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
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
	unsure  bool // it could not be found out whether it is
}

// Faults of addresses, which are told apart by what people can do about them.
var (
	errNotPublic = errors.New("the address is not public")
	errPublic    = errors.New("the address is public")
	errScheme    = errors.New("the address is not one of https")
	errUnsure    = errors.New("it is not known whether the server's address is public")
)

// reachFor returns the reach for a server.
func (k *Keeper) reachFor(ctx context.Context, server *url.URL) *reach {
	r := &reach{proxy: k.opt.Proxy, plain: server.Scheme == "http"}
	if r.proxy == nil {
		r.proxy = http.ProxyFromEnvironment
	}
	r.local, r.unsure = k.isNear(ctx, r.proxy, server)
	r.direct, r.proxied = k.pools.direct, k.pools.proxied
	if r.local {
		r.direct = k.pools.lan
	}
	return r
}

// isNear reports whether a server is on this machine or its network. What its
// configured address does not say, the server has to show, by an answer from an
// address that is not public: whoever answers lookups could have it lead there
// just now. unsure is that it could not be found out; less is allowed then.
func (k *Keeper) isNear(ctx context.Context, proxy func(*http.Request) (*url.URL, error), server *url.URL) (near, unsure bool) {
	host := server.Hostname()
	if a, err := netip.ParseAddr(host); err == nil {
		return !public(a), false
	}
	if isLoopbackName(host) {
		return true, false
	}
	name := server.Scheme + "://" + server.Host
	k.mu.Lock()
	known := k.near[name]
	k.mu.Unlock()
	if time.Now().Before(known) {
		return true, false
	}
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	resolver := k.opt.Resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	all, err := resolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(all) == 0 {
		return false, true
	}
	if slices.ContainsFunc(all, public) {
		return false, false
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, server.String(), http.NoBody)
	if err != nil {
		return false, true
	}
	if via, err := proxy(req); err != nil || via != nil {
		return err == nil, err != nil // nothing of it is dialled from here
	}
	res, err := k.pools.inner.RoundTrip(req)
	if err != nil {
		return false, !errors.Is(err, errPublic)
	}
	_ = res.Body.Close()
	k.mu.Lock()
	now := time.Now()
	maps.DeleteFunc(k.near, func(_ string, until time.Time) bool { return !now.Before(until) })
	k.near[name] = now.Add(nearFor)
	k.mu.Unlock()
	return true, false
}

// nearFor is how long a server that was found near is taken to be: its name may lead
// elsewhere by then.
const nearFor = time.Hour

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
	return r.private()
}

// private is the error of an address that is not public. It is of the moment if
// that may be the server's as well.
func (r *reach) private() error {
	if r.unsure {
		return errUnsure
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
		if errors.Is(err, errNotPublic) {
			err = r.private()
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
	case errors.Is(err, errUnsure):
		return message.Say("its address is not public, and it could not be found out whether the server's is")
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

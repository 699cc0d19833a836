package oauth

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"
)

// pools are the connections to all but servers themselves, by the addresses that
// they may be to. What a name leads to is looked at when it is dialled: what a
// lookup before has said may be another matter by then.
type pools struct {
	direct  *http.Transport // public ones
	lan     *http.Transport // also those of networks of one's own
	inner   *http.Transport // these only
	proxied *http.Transport // any: a proxy is dialled
}

func newPools(opt *Options) pools {
	proxy := opt.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	return pools{newPool(opt, publicOnly, nil), newPool(opt, nearOnly, nil), newPool(opt, innerOnly, nil), newPool(opt, nil, proxy)}
}

func (p *pools) close() {
	for _, pool := range []*http.Transport{p.direct, p.lan, p.inner, p.proxied} {
		pool.CloseIdleConnections()
	}
}

func newPool(opt *Options, check func(netip.Addr) error, proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	dialer := &net.Dialer{Timeout: fetchLimit, Resolver: opt.Resolver}
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

// nearOnly refuses addresses at which machines find their own configuration, which
// no server's authorization server has.
func nearOnly(a netip.Addr) error {
	a = carried(a)
	if a.IsLinkLocalUnicast() || a.IsUnspecified() || a.IsMulticast() || slices.Contains(ownConfiguration, a) {
		return errNotPublic
	}
	return nil
}

// innerOnly is nearOnly, and refuses what is public.
func innerOnly(a netip.Addr) error {
	if public(a) {
		return errPublic
	}
	return nearOnly(a)
}

// ownConfiguration are the addresses of cloud machines' own configuration that are
// not link-local.
var ownConfiguration = []netip.Addr{ //nolint:gochecknoglobals // a table
	netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("192.0.0.192"),
}

// notPublic are networks that only some reach, besides those that [netip] knows.
var notPublic = []netip.Prefix{ //nolint:gochecknoglobals // a table
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2001::/32"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("fec0::/10"),
}

// public reports whether an address is one that anybody may reach, as far as that
// keeps strangers from this machine and its network.
func public(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.Zone() != "" {
		return false
	}
	return !slices.ContainsFunc(notPublic, func(p netip.Prefix) bool { return p.Contains(a) })
}

// carried is the address of IPv4 to which one of IPv6 is translated on its way;
// else the address itself.
func carried(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if !a.Is6() {
		return a
	}
	b, at := a.As16(), -1
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(a), netip.MustParsePrefix("64:ff9b:1::/48").Contains(a):
		at = 12
	case netip.MustParsePrefix("::/96").Contains(a) && !a.IsLoopback() && !a.IsUnspecified():
		at = 12
	case netip.MustParsePrefix("2002::/16").Contains(a):
		at = 2
	}
	if at < 0 {
		return a
	}
	return netip.AddrFrom4([4]byte(b[at : at+4]))
}

package call

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// web fetches what links lead to. A link is what a server says, and the hub
// stands where its caller may not: on this machine, and in its network. So only
// public addresses are connected to, by what the name was resolved to, unless
// others are allowed. Nothing is sent of any caller's, and no proxy of the
// environment's is asked, which would connect to whatever it is told. Safe for
// concurrent use.
type web struct{ client *http.Client }

// maxRedirects is how often a link may lead elsewhere.
const maxRedirects = 5

// errNotPublic says that an address is not connected to.
var errNotPublic = errors.New("not public")

// errRedirect says that a redirect is not followed.
var errRedirect = errors.New("not followed")

func newWeb(allowPrivate bool) *web {
	dialer := &net.Dialer{Timeout: linkTime}
	if !allowPrivate {
		dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil || !public(at.Addr()) {
				return errNotPublic
			}
			return nil
		}
	}
	return &web{&http.Client{
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    linkTime,
			MaxResponseHeaderBytes: 64 << 10,
			DisableKeepAlives:      true,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects || !fetchable(req.URL) {
				return errRedirect
			}
			req.Header.Del("Referer")
			return nil
		},
	}}
}

// fetchable reports whether a URL is one of the web and has no credentials, which
// would be sent.
func fetchable(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
}

// get fetches what a URI leads to, as the contents of a resource with the URI,
// which raw is as JSON. why, if it is not empty, says why it cannot be had.
func (w *web) get(ctx context.Context, uri string, raw []byte) (contents []byte, why message.Phrase) {
	u, err := url.Parse(uri)
	if err != nil || !fetchable(u) {
		return nil, message.Say("its address cannot be used")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, message.Say("its address cannot be used")
	}
	res, err := w.client.Do(req)
	switch {
	case errors.Is(err, errNotPublic):
		return nil, message.Say("the address is not public")
	case errors.Is(err, errRedirect):
		return nil, message.Say("it leads elsewhere too often, or to what is no web page")
	case err != nil:
		return nil, message.Say("its address was not reached")
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, message.Say("it was answered with the HTTP status %d", res.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxLinked+1))
	switch {
	case err != nil:
		return nil, message.Say("the answer broke off")
	case len(body) > maxLinked:
		return nil, tooLarge()
	}
	return resource(raw, res.Header.Get("Content-Type"), body), message.Phrase{}
}

// resource is a body as the contents of a resource.
func resource(uri []byte, contentType string, body []byte) []byte {
	b := append([]byte(`{"uri":`), uri...)
	kind, _, err := mime.ParseMediaType(contentType)
	if err == nil {
		b = wire.AppendString(append(b, `,"mimeType":`...), kind)
	}
	if isText(kind) && utf8.Valid(body) {
		b = wire.AppendString(append(b, `,"text":`...), string(body))
	} else {
		b = append(b, `,"blob":"`...)
		b = append(base64.StdEncoding.AppendEncode(b, body), '"')
	}
	return append(b, '}')
}

// isText reports whether a media type is one of text.
func isText(kind string) bool {
	switch kind {
	case "", "application/json", "application/xml", "application/javascript", "application/yaml", "application/toml":
		return true
	}
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml")
}

// public reports whether an address is one that anybody may reach, by the
// registries of special addresses (RFC 6890). An IPv4 address written as one of
// IPv6, or reached by way of a translator, is not: what it stands for is not
// looked at.
func public(a netip.Addr) bool {
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.Is4In6() || a.Zone() != "" {
		return false
	}
	for _, known := range specialRanges() {
		if known.Contains(a) {
			return false
		}
	}
	return a.Is4() || netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20}), 3).Contains(a)
}

// specialRanges are those that are not public, besides those which package netip
// knows and those of IPv6 outside of 2000::/3.
func specialRanges() [14]netip.Prefix {
	v4 := func(a, b, c, bits byte) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{a, b, c}), int(bits))
	}
	v6 := func(a, b, c, d byte, bits int) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom16([16]byte{a, b, c, d}), bits)
	}
	return [...]netip.Prefix{
		v4(0, 0, 0, 8),                 // this network
		v4(100, 64, 0, 10),             // carriers' networks (RFC 6598)
		v4(192, 0, 0, 24),              // protocol assignments
		v4(192, 0, 2, 24),              // documentation
		v4(192, 88, 99, 24),            // relays from IPv6
		v4(198, 18, 0, 15),             // benchmarks
		v4(198, 51, 100, 24),           // documentation
		v4(203, 0, 113, 24),            // documentation
		v4(240, 0, 0, 4),               // reserved, and broadcast
		v6(0x20, 0x01, 0, 0, 23),       // protocol assignments, with Teredo
		v6(0x20, 0x01, 0x0d, 0xb8, 32), // documentation
		v6(0x20, 0x02, 0, 0, 16),       // 6to4
		v6(0x3f, 0xfe, 0, 0, 16),       // the 6bone that was
		v6(0x3f, 0xff, 0, 0, 20),       // documentation
	}
}

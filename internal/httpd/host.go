package httpd

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// host is one that was allowed by name.
type host struct {
	name string // without brackets
	port string // "" for any
}

// hosts are those that were allowed by name.
type hosts []host

// hostName is what a host may be called: DNS names also with the underscores
// that people use, and addresses.
var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// parseHosts reads names with or without a port. The error is a [*hub.Error].
func parseHosts(names []string) (hosts, error) {
	all := make(hosts, 0, len(names))
	for _, s := range names {
		h := splitHost(s)
		if err := h.check(s); err != nil {
			return nil, hub.E(message.AllowHostInvalid, nil, "host", message.Quote(s)).With("detail", message.Cause(err))
		}
		all = append(all, h)
	}
	return all, nil
}

func (h host) check(s string) error {
	if strings.Contains(s, "*") {
		return errors.New("there are no wildcards, each name has to be given")
	}
	if _, err := netip.ParseAddr(h.name); err != nil && !hostName.MatchString(h.name) || strings.Contains(s, "/") {
		return errors.New("a name is expected, without a scheme and a path")
	}
	if h.port == "" {
		return nil
	}
	if n, err := strconv.ParseUint(h.port, 10, 16); err != nil || n == 0 {
		return errors.New("the port has to be a number from 1 to 65535")
	}
	return nil
}

// have reports whether a Host header, or the host of an origin, is one that
// was allowed. One without a port has the default of its scheme, and which
// scheme it is only the proxy in front knows.
func (all hosts) have(s string) bool {
	if len(all) == 0 {
		return false
	}
	h := splitHost(s)
	return slices.ContainsFunc(all, func(a host) bool {
		return strings.EqualFold(a.name, h.name) &&
			(a.port == "" || a.port == h.port || h.port == "" && (a.port == "443" || a.port == "80"))
	})
}

func splitHost(s string) host {
	name, port, err := net.SplitHostPort(s)
	if err != nil {
		name, port = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"), ""
	}
	return host{name, port}
}

// isLocal reports whether a Host header names this machine, at any port: a
// forwarded port has another number outside.
func isLocal(s string) bool { return isLoopback(splitHost(s).name) }

func isLoopback(name string) bool {
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Zone() == "" && ip.IsLoopback()
}

// originHost returns the host and port of a web origin, false if it is none of
// a web page: "null", an extension's, or not an origin at all.
func originHost(origin string) (string, bool) {
	u, err := url.Parse(origin)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") {
		return "", false
	}
	return u.Host, true
}

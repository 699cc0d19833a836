package risk

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// judgeURL judges a text if it is a URL, and reports whether it is. Certain are
// those that are known to be meant as URLs or hosts. No name is resolved.
func judgeURL(f *findings, text string, certain bool) bool {
	text = strings.TrimSpace(text)
	if len(text) > maxValue || text == "" {
		return false
	}
	colon := strings.IndexByte(text, ':')
	scheme := ""
	if colon > 0 && isScheme(text[:colon]) {
		scheme = strings.ToLower(text[:colon])
	}
	switch scheme {
	case "javascript", "vbscript":
		f.add(hub.RiskHigh, "execute", "the URL is a program")
		return true
	case "data":
		if strings.HasPrefix(strings.ToLower(text), "data:text/html") {
			f.add(hub.RiskHigh, "execute", "the URL is a program")
		}
		return true
	case "file":
		return false
	}
	if scheme == "" || colon+2 >= len(text) || !isSlash(text[colon+1]) || !isSlash(text[colon+2]) && scheme != "http" && scheme != "https" {
		if strings.HasPrefix(text, "//") && certain {
			authority, _, _ := strings.Cut(text[2:], "/")
			judgeHost(f, hostOf(authority[strings.LastIndexByte(authority, '@')+1:]), false)
			return true
		}
		if certain && !strings.ContainsAny(text, "/ ") {
			judgeHost(f, hostOf(text), true)
		}
		return false
	}
	if strings.ContainsAny(text, "\\\t\r\n") { // as browsers read them
		text = strings.NewReplacer("\\", "/", "\t", "", "\r", "", "\n", "").Replace(text)
	}
	switch scheme {
	case "gopher", "dict", "ldap", "ldaps", "tftp", "jar", "smb", "telnet", "expect", "phar", "php":
		f.add(hub.RiskHigh, "internal", "a URL of the kind \"%s\" is used to reach services behind a server", scheme)
	}
	rest := strings.TrimLeft(text[colon+1:], "/")
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		if strings.IndexByte(authority[:at], ':') >= 0 {
			f.add(hub.RiskHigh, "secret", "the URL holds a password")
		}
		authority = authority[at+1:]
	}
	judgeHost(f, hostOf(authority), false)
	return true
}

func isSlash(c byte) bool { return c == '/' || c == '\\' }

func isScheme(s string) bool {
	if len(s) < 2 || len(s) > 20 { // one letter is a drive
		return false
	}
	for i := range len(s) {
		if c := s[i] | 0x20; (c < 'a' || c > 'z') && (i == 0 || strings.IndexByte("0123456789+.-", s[i]) < 0) {
			return false
		}
	}
	return true
}

// hostOf takes the port off, and the brackets.
func hostOf(authority string) string {
	if strings.HasPrefix(authority, "[") {
		if end := strings.IndexByte(authority, ']'); end > 0 {
			return authority[1:end]
		}
		return authority[1:]
	}
	if strings.Count(authority, ":") == 1 {
		authority = authority[:strings.IndexByte(authority, ':')]
	}
	return authority
}

// judgeHost judges the name or address of a host. A mere host, which is not part
// of a URL, is less certainly asked for what it has.
func judgeHost(f *findings, host string, mere bool) {
	if strings.IndexByte(host, '%') >= 0 {
		if plain, err := url.PathUnescape(host); err == nil {
			host = plain
		}
	}
	host = strings.ToLower(strings.Trim(fold(host), ". "))
	shown := host[:min(len(host), 120)]
	risk := hub.RiskHigh
	if mere {
		risk = hub.RiskMedium
	}
	if addr, ok := address(host); ok {
		switch {
		case isMetadata(addr):
			f.add(hub.RiskCritical, "internal", "\"%s\" is where a cloud hands keys to its machines", shown)
		case addr.IsLinkLocalUnicast():
			f.add(max(risk, hub.RiskHigh), "internal", "\"%s\" is an address of this machine or of a private network", shown)
		case isPrivate(addr):
			f.add(risk, "internal", "\"%s\" is an address of this machine or of a private network", shown)
		}
		return
	}
	switch host {
	case "metadata.google.internal", "metadata", "instance-data", "metadata.goog", "instance-data.ec2.internal":
		f.add(hub.RiskCritical, "internal", "\"%s\" is where a cloud hands keys to its machines", shown)
		return
	case "":
		return
	}
	for _, suffix := range [...]string{
		"localhost", "local", "internal", "lan", "home.arpa", "localdomain", "intranet", "corp", "svc", "cluster.local",
		"nip.io", "sslip.io", "xip.io", "localtest.me", "lvh.me", "vcap.me", "lacolhost.com", "rbndr.us", "burpcollaborator.net",
	} {
		if host == suffix || strings.HasSuffix(host, suffix) && host[len(host)-len(suffix)-1] == '.' {
			f.add(risk, "internal", "\"%s\" is a name of this machine or of a private network", shown)
			return
		}
	}
	if !mere && strings.IndexByte(host, '.') < 0 && strings.IndexByte(host, '{') < 0 {
		f.add(risk, "internal", "\"%s\" is a name of this machine or of a private network", shown)
	}
}

// fold makes plain letters of wide ones, as resolvers do.
func fold(host string) string {
	if isASCII(host) {
		return host
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 0xff01 && r <= 0xff5e:
			return r - 0xfee0
		case r == '。' || r == '．' || r == '｡':
			return '.'
		case r >= '①' && r <= '⑨':
			return r - '①' + '1'
		case r == '⓪':
			return '0'
		case r == 0xad || r == 0x200b || r == 0x2060:
			return -1
		}
		return r
	}, host)
}

// address reads an address in all forms that programs take: also as one number,
// with fewer than four parts, in octal or hexadecimal, and IPv4 within IPv6.
func address(host string) (netip.Addr, bool) {
	if at := strings.IndexByte(host, '%'); at >= 0 {
		host = host[:at]
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return inner(addr), true
	}
	if host == "" || strings.IndexByte("0123456789", host[0]) < 0 {
		return netip.Addr{}, false
	}
	var parts [4]uint64
	n := 0
	for rest, more := host, true; more; n++ {
		if n == len(parts) {
			return netip.Addr{}, false
		}
		var part string
		part, rest, more = strings.Cut(rest, ".")
		base := 10
		switch {
		case strings.HasPrefix(part, "0x"):
			part, base = part[2:], 16
			if part == "" {
				part = "0"
			}
		case len(part) > 1 && part[0] == '0':
			base = 8
		}
		value, err := strconv.ParseUint(part, base, 64)
		if err != nil {
			return netip.Addr{}, false
		}
		parts[n] = value
	}
	var v4 uint64
	for i := range n - 1 {
		v4 |= parts[i] & 0xff << (24 - 8*i)
	}
	v4 |= parts[n-1] & (1<<(8*(5-n)) - 1)
	return netip.AddrFrom4([4]byte{byte(v4 >> 24), byte(v4 >> 16), byte(v4 >> 8), byte(v4)}), true //nolint:gosec // its four bytes
}

// inner is the IPv4 address that an IPv6 address carries, or itself.
func inner(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if !addr.Is6() {
		return addr
	}
	b := addr.As16()
	zero := true
	for _, c := range b[:12] {
		zero = zero && c == 0
	}
	switch {
	case zero && addr != netip.IPv6Unspecified() && addr != netip.IPv6Loopback(), // IPv4-compatible
		b[0] == 0 && b[1] == 0x64 && b[2] == 0xff && b[3] == 0x9b: // NAT64
		return netip.AddrFrom4([4]byte(b[12:16]))
	case b[0] == 0x20 && b[1] == 0x02: // 6to4
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return addr
}

func isMetadata(addr netip.Addr) bool {
	switch addr.String() {
	case "169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254":
		return true
	}
	return false
}

func isPrivate(addr netip.Addr) bool {
	if addr.IsLoopback() || addr.IsPrivate() || addr.IsUnspecified() || addr.IsMulticast() || addr.IsInterfaceLocalMulticast() {
		return true
	}
	if addr.Is4() {
		b := addr.As4()
		return b[0] == 0 || b[0] == 100 && b[1]&0xc0 == 64 || b[0] == 192 && b[1] == 0 && b[2] == 0 || b[0] == 198 && b[1]&0xfe == 18 || b[0] >= 240
	}
	b := addr.As16()
	return b[0] == 0xfe && b[1]&0xc0 == 0xc0 // site-local, which is out of use
}

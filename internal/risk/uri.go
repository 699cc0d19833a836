package risk

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/secret"
)

// maxDecoded is how often what is percent-encoded is decoded: a server decodes
// once, and what it hands the URI to may do so again.
const maxDecoded = 3

// URI is the URI of a resource, as it may be read: the same resource can be
// written in many ways.
type URI struct {
	// Forms are what the URI says, in one spelling: scheme and host in lower case,
	// no default port, no user, segments followed, and what is percent-encoded
	// decoded where that changes nothing; the second one decoded altogether. What
	// is to hold for the resource has to hold for each of them.
	Forms []string
	// Others are further ways in which somebody may read it, as it was written
	// among them.
	Others []string
	// Sure says that there is no other way to read it.
	Sure bool
}

// ReadURI reads a URI, or a pattern of URIs, in which a star stands for itself. It
// takes a time in proportion to its length, and asks nobody.
func ReadURI(text string) URI {
	p := readURI(text)
	u := URI{Sure: p.sure, Others: []string{text}}
	plain, whole := decodeAll(p.path)
	u.Sure = u.Sure && whole
	plain, inside := follow(strings.ReplaceAll(plain, "\\", "/"))
	normal, within := follow(decodeHarmless(p.path))
	u.Sure = u.Sure && inside && within
	query, whole := decodeAll(p.query)
	u.Sure = u.Sure && whole && !strings.ContainsFunc(plain+query, isControl)

	front := p.front()
	if p.scheme == "file" { // there is no query in a name, or all of it is a name
		u.form(front + normal)
		u.form(front + plain)
		if p.query != "" {
			name, inside := follow(strings.ReplaceAll(plain+query, "\\", "/"))
			u.Sure = u.Sure && inside
			u.form(front + name)
		}
	} else {
		u.form(front + normal + p.query)
		u.form(front + plain + query)
		u.Others = append(u.Others, front+plain)
	}
	for _, form := range u.Forms {
		if short, ends := strings.CutSuffix(form, "/"); ends {
			u.Others = append(u.Others, short)
		}
	}
	u.Others = append(u.Others, p.slashes()...)
	return u
}

// slashes are the ways to read a URI by those who take a bare path for a file, or
// make nothing of how many slashes follow a scheme that is none of the web's: of
// "docs:/a/b", "docs://a/b" and "docs:///a/b" each may be the others.
func (p *uriParts) slashes() []string {
	plain, _ := decodeAll(strings.TrimPrefix(p.authority, "//") + p.path)
	plain = strings.ReplaceAll(plain, "\\", "/")
	name, _ := follow(strings.TrimLeft(plain, "/"))
	query, _ := decodeAll(p.query)
	fronts := []string{p.scheme + ":", p.scheme + ":/", p.scheme + "://", p.scheme + ":///"}
	switch {
	case p.special():
		return nil
	case p.scheme == "" && !strings.HasPrefix(plain, "/") && p.authority == "" && (len(plain) < 2 || plain[1] != ':'):
		return nil // not rooted
	case p.scheme == "":
		fronts = []string{"file:///"}
	}
	var all []string
	for _, front := range fronts {
		all = append(all, front+name, front+name+query)
	}
	return all
}

func (u *URI) form(text string) {
	if !slices.Contains(u.Forms, text) {
		u.Forms = append(u.Forms, text)
	}
}

// AssessURI judges the reading of a resource by its URI. Roots are directories
// within which reading is meant to stay; none if there are no such.
func AssessURI(text string, roots []string) hub.Assessment {
	a := assay{p: &Profile{reads: true}}
	for _, root := range roots {
		if root = cleanPath(root); root != "" {
			a.p.roots = append(a.p.roots, root)
		}
	}
	u := ReadURI(text)
	if len(text) > maxValue || !u.Sure {
		a.hide(hub.RiskHigh, "", "the URI cannot be read with certainty")
	}
	text = text[:min(len(text), maxValue)]
	a.keys(text)
	p := readURI(text)
	if strings.Contains(p.user, ":") {
		a.add(hub.RiskHigh, "secret", "the URL holds a password")
	}
	switch {
	case p.scheme == "" || p.scheme == "file":
		for _, form := range u.Forms {
			a.path(strings.TrimPrefix(form, "file://"), p.scheme == "file")
		}
	case p.special() || judgedSchemes[p.scheme]:
		judgeURL(&a.findings, text, true)
	default: // a name of the server's own; what it stands for may still be seen
		for _, form := range u.Forms {
			path := strings.TrimPrefix(form, p.front())
			path, _, _ = strings.Cut(path, "?")
			judgePath(&a.findings, "/"+strings.TrimLeft(path, "/"), false, nil, false)
		}
	}
	if values, err := url.ParseQuery(strings.TrimPrefix(p.query, "?")); err == nil {
		for name, all := range values {
			for _, value := range all {
				a.text(plain, value)
				if secret.NamesSecretValue(name) && value != "" {
					a.add(hub.RiskHigh, "secret", "the arguments hold what looks like a key")
				}
			}
		}
	}
	return a.assessment(max(a.risk, hub.RiskLow))
}

// judgedSchemes are those of URLs by which services behind a server are reached.
var judgedSchemes = map[string]bool{ //nolint:gochecknoglobals // a table
	"gopher": true, "dict": true, "ldap": true, "ldaps": true, "tftp": true, "jar": true, "smb": true, "telnet": true, "expect": true,
	"phar": true, "php": true, "javascript": true, "vbscript": true, "data": true, "sftp": true, "ssh": true,
}

// uriParts are the parts of a URI.
type uriParts struct {
	scheme, user string // "" for none
	authority    string // with what stands before it: "//example.com:8080"; "" for none
	path, query  string // the query with its "?", or the fragment with its "#"
	sure         bool
}

// front is what stands before the path.
func (p *uriParts) front() string {
	if p.scheme == "" {
		return p.authority
	}
	return p.scheme + ":" + p.authority
}

// defaultPorts are those of the schemes whose URLs everybody reads in the same way.
var defaultPorts = map[string]string{ //nolint:gochecknoglobals // a table
	"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21", "file": "",
}

func (p *uriParts) special() bool {
	_, ok := defaultPorts[p.scheme]
	return ok
}

func readURI(text string) uriParts {
	p := uriParts{sure: utf8.ValidString(text) && strings.TrimSpace(text) == text && !strings.ContainsFunc(text, isControl)}
	rest := strings.TrimSpace(text)
	if colon := strings.IndexByte(rest, ':'); colon > 1 && validScheme(rest[:colon]) {
		p.scheme, rest = strings.ToLower(rest[:colon]), rest[colon+1:]
	}
	if at := strings.IndexAny(rest, "?#"); at >= 0 {
		rest, p.query = rest[:at], rest[at:]
	}
	if p.special() {
		rest = strings.ReplaceAll(rest, "\\", "/")
	}
	switch {
	case p.scheme == "file":
		p.file(rest)
		return p
	case p.special():
		rest = "//" + strings.TrimLeft(rest, "/")
	}
	authority, slashes := strings.CutPrefix(rest, "//")
	if !slashes {
		p.path = rest
		return p
	}
	if at := strings.IndexByte(authority, '/'); at >= 0 {
		authority, p.path = authority[:at], authority[at:]
	} else if p.special() && !strings.Contains(authority, "*") {
		p.path = "/"
	}
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		p.user, authority = authority[:at], authority[at+1:]
		p.sure = p.sure && !strings.Contains(p.user, "@")
	}
	if p.special() {
		authority = p.host(authority)
	}
	p.authority = "//" + authority
	return p
}

// file reads what follows "file:". This machine has many names.
func (p *uriParts) file(rest string) {
	host := ""
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		host, rest = after, ""
		if at := strings.IndexByte(after, '/'); at >= 0 {
			host, rest = after[:at], after[at:]
		}
	}
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		p.user, host = host[:at], host[at+1:]
	}
	if len(host) == 2 && (host[1] == ':' || host[1] == '|') { // a drive
		host, rest = "", "/"+host[:1]+":"+rest
	}
	host = p.host(host)
	if host == "localhost" || host == "127.0.0.1" || host == "[::1]" {
		host = ""
	}
	if !strings.HasPrefix(rest, "/") {
		rest = "/" + rest
	}
	p.authority, p.path = "//"+host, rest
}

// host is a host with its port, in one spelling.
func (p *uriParts) host(authority string) string {
	name, port := authority, ""
	if end := strings.LastIndexByte(authority, ']'); strings.HasPrefix(authority, "[") && end > 0 {
		name, port = authority[:end+1], authority[end+1:]
	} else if at := strings.LastIndexByte(authority, ':'); at >= 0 {
		name, port = authority[:at], authority[at:]
	}
	plain, whole := decodeAll(name)
	name = strings.TrimRight(strings.ToLower(fold(plain)), ".")
	inner := strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if addr, err := netip.ParseAddr(inner); err == nil && addr.Is6() {
		name = "[" + addr.String() + "]"
	} else if addr, ok := address(name); ok {
		name = addr.String()
	} else if strings.ContainsAny(name, ":[]/\\@?# <>^|%") || !isASCII(name) {
		p.sure = false
	}
	digits := strings.TrimLeft(strings.TrimPrefix(port, ":"), "0")
	if strings.Trim(digits, "0123456789*") != "" || !whole || name == "" && p.scheme != "file" {
		p.sure = false
	}
	if digits == "" || digits == defaultPorts[p.scheme] {
		return name
	}
	return name + ":" + digits
}

func validScheme(s string) bool {
	for i := range len(s) {
		if c := s[i] | 0x20; (c < 'a' || c > 'z') && (i == 0 || strings.IndexByte("0123456789+.-_", s[i]) < 0) {
			return false
		}
	}
	return s != ""
}

// follow follows the segments of a path, and reports whether it stays within where
// it begins.
func follow(path string) (clean string, inside bool) {
	inside = true
	rooted := strings.HasPrefix(path, "/")
	segments := strings.Split(path, "/")
	kept := segments[:0:0]
	for _, s := range segments {
		switch s {
		case "", ".":
		case "..":
			if len(kept) == 0 {
				inside = false
				continue
			}
			kept = kept[:len(kept)-1]
		default:
			kept = append(kept, s)
		}
	}
	clean = strings.Join(kept, "/")
	if last := segments[len(segments)-1]; len(kept) > 0 && (last == "" || last == "." || last == "..") {
		clean += "/"
	}
	if rooted {
		clean = "/" + clean
	}
	return clean, inside
}

// decodeHarmless decodes what need not have been encoded, and writes the rest in
// one way.
func decodeHarmless(text string) string {
	if strings.IndexByte(text, '%') < 0 {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c, ok := escaped(text[i:])
		switch {
		case !ok:
			b.WriteByte(text[i])
			continue
		case 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9', strings.IndexByte("-._~", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteString(strings.ToUpper(text[i : i+3]))
		}
		i += 2
	}
	return b.String()
}

// decodeAll decodes until there is nothing more to decode, and reports whether that
// could be done.
func decodeAll(text string) (plain string, whole bool) {
	whole = true
	for round := range maxDecoded {
		var b strings.Builder
		changed := false
		for i := 0; i < len(text); i++ {
			if c, ok := escaped(text[i:]); ok {
				b.WriteByte(c)
				changed = true
				i += 2
				continue
			}
			whole = whole && (text[i] != '%' || round > 0) // one that was decoded is a sign of its own
			b.WriteByte(text[i])
		}
		if !changed {
			return text, whole && utf8.ValidString(text)
		}
		text = b.String()
	}
	return text, false
}

// escaped is the byte that "%41" at the beginning of a text stands for.
func escaped(text string) (byte, bool) {
	if len(text) < 3 || text[0] != '%' {
		return 0, false
	}
	high, low := strings.IndexByte(hexDigits, text[1]|0x20), strings.IndexByte(hexDigits, text[2]|0x20)
	if high < 0 || low < 0 {
		return 0, false
	}
	return byte(high<<4 | low), true
}

// hexDigits in lower case; a digit with the bit of lower case is itself.
const hexDigits = "0123456789abcdef"

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

package catalog

import (
	"net/url"
	"strings"
)

// uriScheme is how the URIs begin that name a server.
const uriScheme = "toolcrib://"

// Prefixed is the form of a server's URI that names the server:
// toolcrib://KEY/URI, with the key escaped as a path segment and the URI, or URI
// template, verbatim.
func Prefixed(server, uri string) string {
	return uriScheme + url.PathEscape(server) + "/" + uri
}

// Unprefixed undoes [Prefixed]. It reports false for what Prefixed does not
// return, another spelling of the key included: a resource has one prefixed form.
func Unprefixed(uri string) (server, own string, ok bool) {
	rest, ok := strings.CutPrefix(uri, uriScheme)
	if !ok {
		return "", "", false
	}
	segment, own, ok := strings.Cut(rest, "/")
	if !ok {
		return "", "", false
	}
	server, err := url.PathUnescape(segment)
	if err != nil || url.PathEscape(server) != segment {
		return "", "", false
	}
	return server, own, true
}

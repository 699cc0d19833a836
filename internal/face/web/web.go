// Package web is the door for people: one read-only page that shows what the
// hub is doing. It is the embedded files and nothing else: the page itself asks
// the HTTP API of the hub that it came from, and no other host.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"net/http"
	"path"
	"time"
)

//go:embed page
var files embed.FS

// assets is where the files of the page are, besides the page itself.
const assets = "/ui/"

// policy allows the page its own scripts, styles and pictures and the API of
// its own hub (Content Security Policy Level 3). What servers say of themselves
// is hostile: should some of it ever get into the page as anything but text,
// the last line makes the browser refuse (Trusted Types).
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

// file is one embedded file as it is served.
type file struct {
	body []byte
	kind string // Content-Type
	etag string // strong: it stands for these very bytes
}

// page is the files by the path under which they are asked for.
type page map[string]file

// New returns the handler of the page: GET and HEAD of "/" and of what is below
// "/ui/". The answers are the same for everybody and hold nothing about the
// hub, so that they need no token. Browsers ask each time whether a file has
// changed, so that an upgrade shows at the next load.
func New() http.Handler {
	p := page{}
	entries, err := files.ReadDir("page")
	if err != nil {
		panic(err) // the directory is part of the program
	}
	for _, e := range entries {
		body, err := files.ReadFile("page/" + e.Name())
		if err != nil {
			panic(err)
		}
		at := assets + e.Name()
		if e.Name() == "index.html" {
			at = "/"
		}
		sum := sha256.Sum256(body)
		p[at] = file{body, contentType(e.Name()), `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}
	}
	return p
}

// contentType is the media type of a file by its name. The table of the
// operating system would differ from machine to machine.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return "application/octet-stream"
}

// ServeHTTP implements [http.Handler].
func (p page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	f, ok := p[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		return
	}
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.body))
}

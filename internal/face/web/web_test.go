package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
)

func ask(t *testing.T, method, target string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, http.NoBody)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	New().ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// served is every path that is served.
func served() []string {
	var all []string
	for at := range New().(page) {
		all = append(all, at)
	}
	return all
}

func TestHeaders(t *testing.T) {
	for _, at := range append(served(), "/ui/none") {
		resp := ask(t, http.MethodGet, at)
		resp.Body.Close()
		directives := map[string]string{}
		for d := range strings.SplitSeq(resp.Header.Get("Content-Security-Policy"), ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(d), " ")
			directives[name] = value
		}
		for name, want := range map[string]string{
			"default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "connect-src": "'self'",
			"img-src": "'self' data:", "frame-ancestors": "'none'", "base-uri": "'none'", "form-action": "'none'",
			"require-trusted-types-for": "'script'", "trusted-types": "'none'",
		} {
			if directives[name] != want {
				t.Errorf("%s: the policy says %s %q, want %q", at, name, directives[name], want)
			}
		}
		if got := resp.Header.Get("X-Content-Type-Options"); got != "nosniff" {
			t.Errorf("%s: X-Content-Type-Options is %q", at, got)
		}
		if got := resp.Header.Get("Referrer-Policy"); got != "no-referrer" {
			t.Errorf("%s: Referrer-Policy is %q", at, got)
		}
	}
}

func TestFilesAreServed(t *testing.T) {
	kinds := map[string]string{
		"/": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
		".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	}
	for _, at := range served() {
		resp := ask(t, http.MethodGet, at)
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s answers %d", at, resp.StatusCode)
		}
		if text := body(t, resp); len(text) < 100 {
			t.Errorf("%s has only %d bytes", at, len(text))
		}
		kind := at
		if at != "/" {
			kind = path.Ext(at)
		}
		if got := resp.Header.Get("Content-Type"); got != kinds[kind] {
			t.Errorf("%s is %q, want %q", at, got, kinds[kind])
		}
		etag := resp.Header.Get("ETag")
		if !strings.HasPrefix(etag, `"`) {
			t.Errorf("%s has the ETag %q", at, etag)
		}
		again := ask(t, http.MethodGet, at, "If-None-Match", etag)
		if text := body(t, again); again.StatusCode != http.StatusNotModified || text != "" {
			t.Errorf("%s, asked for again, answers %d with %d bytes", at, again.StatusCode, len(text))
		}
		if other := ask(t, http.MethodGet, at, "If-None-Match", `"other"`); other.StatusCode != http.StatusOK {
			t.Errorf("%s, changed since, answers %d", at, other.StatusCode)
		}
		if head := ask(t, http.MethodHead, at); head.StatusCode != http.StatusOK || body(t, head) != "" {
			t.Errorf("HEAD of %s answers %d", at, head.StatusCode)
		}
	}
}

func TestOthersAreRefused(t *testing.T) {
	for _, at := range []string{"/index.html", "/ui/", "/ui/index.html", "/ui/none.js", "/ui/../web.go", "/ui//app.js", "/page/app.js"} {
		if resp := ask(t, http.MethodGet, at); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s answers %d", at, resp.StatusCode)
		}
	}
	resp := ask(t, http.MethodPost, "/")
	if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST answers %d, Allow %q", resp.StatusCode, resp.Header.Get("Allow"))
	}
}

// reference is a file that a file of the page asks for.
var reference = regexp.MustCompile(`(?:src|href)="(/[^"#]*)"|from '\./([^']+)'`)

func TestFilesAreComplete(t *testing.T) {
	p := New().(page)
	asked := map[string]bool{"/": true}
	for at, f := range p {
		for _, m := range reference.FindAllStringSubmatch(string(f.body), -1) {
			to := m[1]
			if to == "" {
				to = assets + m[2]
			}
			asked[to] = true
			if _, ok := p[to]; !ok {
				t.Errorf("%s asks for %s, which is not there", at, to)
			}
		}
	}
	for at := range p {
		if !asked[at] {
			t.Errorf("nothing asks for %s", at)
		}
	}
}

// dangers are ways for a text to become markup or code, or for the page to
// reach another host. Trusted Types stop some of them only in some browsers.
func dangers() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		"makes markup of a text":     regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|srcdoc|setHTML`),
		"makes code of a text":       regexp.MustCompile(`\beval\b|\bFunction\(|set(Timeout|Interval)\(['"` + "`" + `]|javascript:`),
		"has a handler in markup":    regexp.MustCompile(`\son[a-z]+\s*=\s*["']`),
		"has an inline style":        regexp.MustCompile(`<style|\sstyle=`),
		"has an inline script":       regexp.MustCompile(`<script(?:\s+type="module")?>`),
		"names another host":         regexp.MustCompile(`(?i)\b(?:https?|wss?)://|["'(=]//|\burl\(|@import`),
		"keeps more than a language": regexp.MustCompile(`sessionStorage|indexedDB|document\.cookie|localStorage\.setItem\((?:[^r]|r[^e])`),
	}
}

// namespace is the name of SVG, which nobody asks for.
const namespace = "http://www.w3.org/2000/svg"

func TestNoDangers(t *testing.T) {
	for at, f := range New().(page) {
		text := strings.ReplaceAll(string(f.body), namespace, "")
		for what, pattern := range dangers() {
			for _, found := range pattern.FindAllString(text, -1) {
				t.Errorf("%s %s: %q", at, what, found)
			}
		}
	}
}

func TestDangersAreFound(t *testing.T) {
	for what, text := range map[string]string{
		"makes markup of a text":     "node.innerHTML = text",
		"makes code of a text":       "setTimeout('go()')",
		"has a handler in markup":    `<img onerror="go()">`,
		"has an inline style":        `<p style="color: red">`,
		"has an inline script":       "<script>go()</script>",
		"names another host":         `<img src="//example.com/x">`,
		"keeps more than a language": "localStorage.setItem('token', token)",
	} {
		if !dangers()[what].MatchString(text) {
			t.Errorf("not found: %s", text)
		}
	}
}

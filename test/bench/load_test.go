//go:build linux

package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// serveEcho serves an echo upstream whose responses pass through spoil, if there is one.
func serveEcho(t *testing.T, sse bool, spoil func(request, response []byte) []byte) string {
	t.Helper()
	echo, err := newEchoServer(20, sse)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if spoil == nil || r.Method != http.MethodPost {
			echo.ServeHTTP(w, r)
			return
		}
		request, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(request))
		recorder := httptest.NewRecorder()
		echo.ServeHTTP(recorder, r)
		for name, values := range recorder.Header() {
			if name != "Content-Length" {
				w.Header()[name] = values
			}
		}
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(spoil(request, recorder.Body.Bytes()))
	}))
	t.Cleanup(server.Close)
	return server.URL + "/any/path"
}

func quickLoad(url string) loadOptions {
	return loadOptions{url: url, workers: 2, warm: time.Millisecond, last: 10 * time.Second, count: 20, timeout: 5 * time.Second, tool: "echo"}
}

// TestLoadRight has every kind of request answered rightly, as JSON and as an event stream.
func TestLoadRight(t *testing.T) {
	for _, sse := range []bool{false, true} {
		url := serveEcho(t, sse, nil)
		for name, set := range map[string]func(*loadOptions){
			"echo":       func(*loadOptions) {},
			"large echo": func(o *loadOptions) { o.size = 100_000 },
			"blob":       func(o *loadOptions) { o.tool, o.kib = "blob", 300 },
			"list":       func(o *loadOptions) { o.list = 20 },
			"part":       func(o *loadOptions) { o.list, o.prefix = 16, "tool_" },
			"numbered":   func(o *loadOptions) { o.list, o.prefix = 1, "tool_2" }, // tool_20 alone.
			"arguments":  func(o *loadOptions) { o.args, o.expect = `{"text":"one two"}`, "two" },
			"timed":      func(o *loadOptions) { o.count, o.last = 0, 300*time.Millisecond },
			"paced":      func(o *loadOptions) { o.every = time.Millisecond },
		} {
			t.Run(name, func(t *testing.T) {
				load := quickLoad(url)
				load.pid = os.Getpid()
				set(&load)
				result, err := runLoad(t.Context(), load)
				if err != nil {
					t.Fatal(err)
				}
				if result.Errors != 0 || result.Mismatches != 0 || result.Requests == 0 || result.P50 <= 0 || result.P999 < result.P50 || result.RSSKiB == 0 {
					t.Errorf("sse %v: %+v", sse, result)
				}
				if load.count == 0 && result.CPUPer10k <= 0 {
					t.Errorf("sse %v: the load cost no CPU time: %+v", sse, result)
				}
				if load.count > 0 && result.Requests != load.count {
					t.Errorf("sse %v: %d requests, want %d", sse, result.Requests, load.count)
				}
			})
		}
	}
}

// TestLoadWrong has replies spoiled in the ways of broken hubs, and wants each found out.
func TestLoadWrong(t *testing.T) {
	replace := func(old, new string) func(request, response []byte) []byte {
		return func(_, response []byte) []byte { return bytes.Replace(response, []byte(old), []byte(new), 1) }
	}
	calls := func(spoil func(request, response []byte) []byte) func(request, response []byte) []byte {
		return func(request, response []byte) []byte {
			if bytes.Contains(request, []byte(`"method":"tools/`)) {
				return spoil(request, response)
			}
			return response
		}
	}
	var earlier atomic.Pointer[[]byte]
	for name, test := range map[string]struct {
		set   func(*loadOptions)
		spoil func(request, response []byte) []byte
		fails bool // an error instead of a mismatch
	}{
		"other caller's reply": {
			spoil: func(_, response []byte) []byte { // With the right id, but the text of the call before.
				last := earlier.Swap(&response)
				id, _, _ := bytes.Cut(response, []byte(`,"result"`))
				if last == nil {
					return response
				}
				_, text, _ := bytes.Cut(*last, []byte(`,"result"`))
				return append(append(bytes.Clone(id), `,"result"`...), text...)
			},
		},
		"wrong id":         {spoil: replace(`"id":`, `"id":9`)},
		"string id":        {spoil: func(_, response []byte) []byte { return []byte(`{"jsonrpc":"2.0","id":"1"` + string(response[24:])) }},
		"not JSON":         {spoil: func(_, response []byte) []byte { return response[:len(response)-1] }},
		"empty":            {spoil: func([]byte, []byte) []byte { return nil }},
		"error":            {spoil: replace(`"result"`, `"error"`), fails: true},
		"tool error":       {spoil: replace(`"result":{`, `"result":{"isError":true,`), fails: true},
		"two contents":     {spoil: replace(`"content":[`, `"content":[{"type":"text","text":""},`)},
		"blob cut short":   {set: func(o *loadOptions) { o.tool, o.kib = "blob", 1 }, spoil: replace(`\n`, ``)},
		"blob moved":       {set: func(o *loadOptions) { o.tool, o.kib = "blob", 1 }, spoil: replace(`7\n`, `8\n`)},
		"wrong result":     {set: func(o *loadOptions) { o.args, o.expect = `{"text":"3"}`, "3" }, spoil: replace(`"text":"3"`, `"text":"4"`)},
		"tool lost":        {set: func(o *loadOptions) { o.list, o.prefix = 16, "tool_" }, spoil: replace(`"name":"tool_05"`, `"name":"lost_05"`)},
		"tool twice":       {set: func(o *loadOptions) { o.list = 20 }, spoil: replace(`"name":"tool_06"`, `"name":"tool_05"`)},
		"schema lost":      {set: func(o *loadOptions) { o.list = 20 }, spoil: replace(`"inputSchema"`, `"schema"`)},
		"too many tools":   {set: func(o *loadOptions) { o.list = 19 }, spoil: replace("", "")},
		"list of an error": {set: func(o *loadOptions) { o.list = 20 }, spoil: replace(`"result"`, `"error"`), fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			load := quickLoad(serveEcho(t, false, calls(test.spoil)))
			load.workers = 1
			if test.set != nil {
				test.set(&load)
			}
			result, err := runLoad(t.Context(), load)
			if err != nil {
				t.Fatal(err)
			}
			if test.fails && result.Errors == 0 || !test.fails && result.Mismatches == 0 {
				t.Errorf("not found out: %+v", result)
			}
		})
	}
}

// TestLoadLaterWrong spoils one reply after many good ones, which a check of the first alone would miss.
func TestLoadLaterWrong(t *testing.T) {
	for name, set := range map[string]func(*loadOptions){
		"blob": func(o *loadOptions) { o.tool, o.kib = "blob", 4 },
		"list": func(o *loadOptions) { o.list = 20 },
	} {
		t.Run(name, func(t *testing.T) {
			var replies atomic.Int64
			load := quickLoad(serveEcho(t, false, func(_, response []byte) []byte {
				if replies.Add(1) == 20 {
					return bytes.Replace(response, []byte("0"), []byte("1"), 500)
				}
				return response
			}))
			load.workers, load.count = 1, 40
			set(&load)
			result, err := runLoad(t.Context(), load)
			if err != nil {
				t.Fatal(err)
			}
			if result.Errors+result.Mismatches != 1 {
				t.Errorf("one spoiled reply gave %+v", result)
			}
		})
	}
}

// TestLoadPages wants a listing in pages to be put together, and one that never ends to be given up.
func TestLoadPages(t *testing.T) {
	const first, second = `{"tools":[{"name":"a","inputSchema":{}}],"nextCursor":"2"}`, `{"tools":[{"name":"b","inputSchema":{}}]}`
	paged := func(request, response []byte) []byte {
		head, _, list := bytes.Cut(response, []byte(`,"result":{"tools"`))
		switch {
		case !list:
			return response
		case bytes.Contains(request, []byte(`"cursor":"2"`)):
			return append(bytes.Clone(head), `,"result":`+second+`}`...)
		default:
			return append(bytes.Clone(head), `,"result":`+first+`}`...)
		}
	}
	load := quickLoad(serveEcho(t, false, paged))
	load.list = 2
	result, err := runLoad(t.Context(), load)
	if err != nil {
		t.Fatal(err)
	}
	if result.Requests == 0 || result.Errors+result.Mismatches != 0 {
		t.Errorf("two pages: %+v", result)
	}
}

// TestLoadTransport has the transport fail: an end in the middle, a status, and silence.
func TestLoadTransport(t *testing.T) {
	silence := make(chan struct{})
	for name, answer := range map[string]http.HandlerFunc{
		"status": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"cut short": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0",`))
		},
		"stream without a reply": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte(": nothing\n\n"))
		},
		"stream not ended": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("data: {}\n\n"))
			_ = http.NewResponseController(w).Flush()
			<-silence
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(answer)
			defer server.Close()
			if name == "stream not ended" {
				defer close(silence)
			}
			c, err := dialConn(t.Context(), server.URL, 200*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.close() }()
			if err := c.open(); err == nil {
				t.Error("a session was opened")
			}
		})
	}
}

// TestStdio has the echo server and the yardstick's link to it talk over real pipes, with calls that overlap.
func TestStdio(t *testing.T) {
	self := playParts(t)
	ctx, cancel := context.WithCancel(t.Context())
	link, err := startStdioLink(ctx, hubServer{Command: self, Args: []string{"echo", "-stdio", "-tools", "5"}})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	defer func() { cancel(); <-link.dead }()
	hub := &yardstick{servers: map[string]*yardstickServer{"u1": {link: link}}}
	server := httptest.NewServer(hub)
	defer server.Close()
	load := quickLoad(server.URL)
	load.workers, load.tool, load.count = 8, "u%d__echo", 400
	result, err := runLoad(ctx, load)
	if err != nil {
		t.Fatal(err)
	}
	if result.Requests != load.count || result.Errors+result.Mismatches != 0 {
		t.Errorf("%+v", result)
	}
}

// TestTreeUsage wants the CPU time and memory of a child in those of its parent.
func TestTreeUsage(t *testing.T) {
	before, err := treeUsage(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	c, err := startChild(t.Context(), "cat", t.TempDir()+"/log", []string{"sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo done; exec sleep 60"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.stop()
	for {
		words, err := os.ReadFile(c.log)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(words), "done") {
			break
		}
		if err := pause(t.Context(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	child, err := treeUsage(c.pid)
	if err != nil {
		t.Fatal(err)
	}
	after, err := treeUsage(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if child.cpu < clockTick || child.rssKiB == 0 || child.processes != 1 {
		t.Errorf("the child used %+v", child)
	}
	if after.cpu < before.cpu+child.cpu || after.processes != before.processes+1 {
		t.Errorf("with its child the process used %+v, before %+v, the child %+v", after, before, child)
	}
	c.stop()
	if _, err := treeUsage(c.pid); err == nil {
		t.Error("a process that ended has a usage")
	}
}

// TestLoopbackOnly wants an address that others could reach to be refused.
func TestLoopbackOnly(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := serveLoopback(ctx, "0.0.0.0:0", http.NotFoundHandler()); err == nil {
		t.Error("served on every interface")
	}
}

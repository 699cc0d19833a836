//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// echoServer is the upstream: an MCP server whose replies are written by hand, so that little of what is measured is
// its own. It serves every path alike; one process stands for as many upstreams as a configuration names.
type echoServer struct {
	list     []byte // the result of tools/list
	sse      bool   // answer requests with an event stream instead of JSON
	news     bool   // offer a resource, and tell of what changes when asked to
	streams  newsStreams
	sessions sync.Map
	blobs    sync.Map  // KiB -> the text as a JSON string
	scratch  sync.Pool // of *echoScratch

	posts, opened, lists, calls atomic.Int64
}

// echoStats is what GET /stats answers: counts since the start.
type echoStats struct {
	Posts    int64 `json:"posts"`    // HTTP POSTs of any kind
	Sessions int64 `json:"sessions"` // initialize requests
	Lists    int64 `json:"lists"`    // tools/list requests
	Calls    int64 `json:"calls"`    // tools/call requests
}

type echoScratch struct {
	in  bytes.Buffer
	out []byte
}

// echoRequest has the members of all the requests that the server knows.
type echoRequest struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ProtocolVersion string `json:"protocolVersion"`
		Name            string `json:"name"`
		Arguments       struct {
			Text json.RawMessage `json:"text"`
			KiB  int             `json:"kib"`
		} `json:"arguments"`
	} `json:"params"`
}

// The tools that return their text: one that only reads, one of them that takes any arguments, and one that may change
// something for all that anybody knows.
const (
	echoTool     = "echo"
	looseTool    = "echo_loose"
	changingTool = "echo_changing"
)

// maxBlobKiB bounds what one call can make the upstream hold.
const maxBlobKiB = 64 << 10

func echoMain(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	flags := flag.NewFlagSet("echo", flag.ContinueOnError)
	addr := flags.String("addr", "127.0.0.1:9100", "loopback address to listen on")
	sse := flags.Bool("sse", false, "answer with an event stream instead of JSON")
	stdio := flags.Bool("stdio", false, "serve standard input and output instead of HTTP")
	news := flags.Bool("news", false, "offer a resource, and tell what is posted to /news")
	tools := flags.Int("tools", 20, "how many tools to offer")
	if err := flags.Parse(args); err != nil {
		return err
	}
	server, err := newEchoServer(*tools, *sse)
	if err != nil {
		return err
	}
	server.news = *news
	if *stdio {
		return server.serveStdio(stdin, stdout)
	}
	return serveLoopback(ctx, *addr, server)
}

func newEchoServer(tools int, sse bool) (*echoServer, error) {
	if tools < 2 {
		return nil, fmt.Errorf("%d tools: echo and blob are always offered", tools)
	}
	type object = map[string]any
	property := func(kind, text string) object { return object{"type": kind, "description": text} }
	schema := func(required string, properties object) object {
		return object{"type": "object", "properties": properties, "required": []string{required}, "additionalProperties": false}
	}
	text := schema("text", object{"text": property("string", "the text to return")})
	reads := object{"readOnlyHint": true}
	// All but the second return their text. What they say of themselves decides what a hub has to do: judge the
	// arguments, and write down first what may change something.
	offered := []object{
		{"name": echoTool, "description": "Returns the text that it is given.", "inputSchema": text, "annotations": reads},
		{
			"name": "blob", "description": "Returns a text of that many KiB.", "annotations": reads,
			"inputSchema": schema("kib", object{"kib": property("integer", "size of the text in KiB")}),
		},
		{"name": looseTool, "description": "Returns the text that it is given.", "inputSchema": object{"type": "object"}, "annotations": reads},
		{"name": changingTool, "description": "May change something.", "inputSchema": text},
	}
	offered = offered[:min(tools, len(offered))]
	// The fillers are about as large as the tools of real servers, so that a listing weighs what it would weigh.
	for i := len(offered) + 1; i <= tools; i++ {
		offered = append(offered, object{
			"name": fmt.Sprintf("tool_%02d", i),
			"description": fmt.Sprintf("Looks up records of collection %d. Results are ordered by relevance; "+
				"a query without a match returns an empty list.", i),
			"inputSchema": schema("query", object{
				"query":  property("string", "what to look for; several words must all occur"),
				"limit":  property("integer", "the most results to return"),
				"strict": property("boolean", "match whole words only"),
			}),
		})
	}
	list, err := json.Marshal(object{"tools": offered})
	if err != nil {
		return nil, fmt.Errorf("encode the tool list: %w", err)
	}
	return &echoServer{list: list, sse: sse, scratch: sync.Pool{New: func() any { return new(echoScratch) }}}, nil
}

// answer appends the reply to dst; nothing for a notification.
func (e *echoServer) answer(dst []byte, request *echoRequest) []byte {
	if len(request.ID) == 0 {
		return dst
	}
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, request.ID...)
	switch request.Method {
	case "initialize":
		e.opened.Add(1)
		dst = append(dst, `,"result":{"protocolVersion":`...)
		dst = strconv.AppendQuote(dst, negotiated(request.Params.ProtocolVersion))
		dst = append(dst, `,"capabilities":`...)
		dst = append(dst, e.capabilities()...)
		return append(dst, `,"serverInfo":{"name":"echo","version":"1"}}}`...)
	case "ping", "resources/subscribe", "resources/unsubscribe":
		return append(dst, `,"result":{}}`...)
	case "tools/list":
		e.lists.Add(1)
		dst = append(dst, `,"result":`...)
		dst = append(dst, e.list...)
		return append(dst, '}')
	case "resources/list":
		return append(dst, `,"result":{"resources":[{"uri":"`+newsURI+`","name":"news"},{"uri":"`+heavyURI+`","name":"heavy"}]}}`...)
	case "resources/templates/list":
		return append(dst, `,"result":{"resourceTemplates":[]}}`...)
	case "tools/call":
		e.calls.Add(1)
		return e.call(dst, request)
	default:
		return append(dst, `,"error":{"code":-32601,"message":"method not found"}}`...)
	}
}

// The resources of an upstream with news: one that all are subscribed to, and one for long messages.
const (
	newsURI  = "bench://news"
	heavyURI = "bench://heavy"
)

func (e *echoServer) capabilities() string {
	if e.news {
		return `{"tools":{"listChanged":true},"resources":{"subscribe":true}}`
	}
	return `{"tools":{}}`
}

// negotiated picks the protocol revision to answer with.
func negotiated(asked string) string {
	switch asked {
	case "2024-11-05", "2025-03-26", "2025-06-18":
		return asked
	default:
		return "2025-11-25"
	}
}

func (e *echoServer) call(dst []byte, request *echoRequest) []byte {
	var text []byte
	arguments := &request.Params.Arguments
	switch name := request.Params.Name; {
	case strings.HasPrefix(name, echoTool) && bytes.HasPrefix(arguments.Text, []byte{'"'}):
		text = arguments.Text
	case name == "blob" && arguments.KiB > 0 && arguments.KiB <= maxBlobKiB:
		text = e.blob(arguments.KiB)
	case strings.HasPrefix(name, "tool_"):
		text = []byte(`"ok"`)
	default:
		return append(dst, `,"error":{"code":-32602,"message":"unknown tool or bad arguments"}}`...)
	}
	dst = append(dst, `,"result":{"content":[{"type":"text","text":`...)
	dst = append(dst, text...)
	return append(dst, `}]}}`...)
}

// blob returns the text of that size as a JSON string, made once for each size.
func (e *echoServer) blob(kib int) []byte {
	if kept, ok := e.blobs.Load(kib); ok {
		if text, ok := kept.([]byte); ok {
			return text
		}
	}
	text := strconv.AppendQuote(nil, blobText(kib))
	e.blobs.Store(kib, text)
	return text
}

// blobText is the text that blob{kib} returns: numbered lines of 64 bytes, so that a lost, doubled or moved piece
// shows, with one character in each line that JSON must escape.
func blobText(kib int) string {
	var text strings.Builder
	text.Grow(kib << 10)
	for line := range kib << 4 {
		fmt.Fprintf(&text, "%063d\n", line)
	}
	return text.String()
}

// ServeHTTP is the streamable HTTP transport with sessions, at any path, the counters at GET /stats, and POST /news.
func (e *echoServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
		if r.URL.Path == "/news" {
			e.streams.tell(w, r)
			return
		}
		e.post(w, r)
	case http.MethodGet:
		if r.URL.Path == "/stats" {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(e.stats()) // A caller that has gone needs no answer.
			return
		}
		e.streams.hold(w, r)
	case http.MethodDelete:
		e.sessions.Delete(r.Header.Get("Mcp-Session-Id"))
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func (e *echoServer) stats() echoStats {
	return echoStats{Posts: e.posts.Load(), Sessions: e.opened.Load(), Lists: e.lists.Load(), Calls: e.calls.Load()}
}

func (e *echoServer) post(w http.ResponseWriter, r *http.Request) {
	e.posts.Add(1)
	scratch, ok := e.scratch.Get().(*echoScratch)
	if !ok {
		scratch = new(echoScratch)
	}
	defer e.scratch.Put(scratch)
	scratch.in.Reset()
	if _, err := scratch.in.ReadFrom(r.Body); err != nil {
		return // The connection is gone.
	}
	var request echoRequest
	if err := json.Unmarshal(scratch.in.Bytes(), &request); err != nil {
		http.Error(w, "not a JSON-RPC message", http.StatusBadRequest)
		return
	}
	header := w.Header()
	if request.Method == "initialize" {
		session := rand.Text() // Random, so that a session of an earlier process is not taken for one of this.
		e.sessions.Store(session, struct{}{})
		header.Set("Mcp-Session-Id", session)
	} else if session := r.Header.Get("Mcp-Session-Id"); session != "" {
		// A session that nobody opened here is gone: the specification wants 404, which tells the client to open another.
		if _, known := e.sessions.Load(session); !known {
			http.Error(w, "no such session", http.StatusNotFound)
			return
		}
	}
	if len(request.ID) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	out := scratch.out[:0]
	if e.sse {
		header.Set("Content-Type", "text/event-stream")
		out = append(out, "event: message\ndata: "...)
		out = e.answer(out, &request)
		out = append(out, "\n\n"...)
	} else {
		out = e.answer(out, &request)
		header.Set("Content-Type", "application/json")
		header.Set("Content-Length", strconv.Itoa(len(out)))
	}
	scratch.out = out
	if _, err := w.Write(out); err == nil && e.sse {
		_ = http.NewResponseController(w).Flush() // Fails only when the connection is gone.
	}
}

// serveStdio answers one line after the other until the input ends. Replies leave together when no request waits.
func (e *echoServer) serveStdio(r io.Reader, w io.Writer) error {
	in, out := bufio.NewReaderSize(r, 64<<10), bufio.NewWriterSize(w, 64<<10)
	var reply []byte
	for {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var request echoRequest
			if err := json.Unmarshal(line, &request); err != nil {
				return fmt.Errorf("read a message: %w", err)
			}
			if reply = e.answer(reply[:0], &request); len(reply) > 0 {
				reply = append(reply, '\n')
				if _, err := out.Write(reply); err != nil {
					return fmt.Errorf("write a reply: %w", err)
				}
			}
		}
		if err != nil || in.Buffered() == 0 {
			if flushed := out.Flush(); flushed != nil {
				return fmt.Errorf("write a reply: %w", flushed)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a message: %w", err)
		}
	}
}

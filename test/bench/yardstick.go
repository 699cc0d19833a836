//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// yardstick is the plausible best case of a hub on net/http: it knows its sessions, cuts the server's prefix off a
// tool's name, puts an id of its own on the request and the caller's back on the reply, shares one upstream session
// per server, and answers tools/list with bytes merged once at the start. It has no rules, no limits, no record, and
// it never recovers from anything. What a real hub costs beyond it is the price of being one.
type yardstick struct {
	servers  map[string]*yardstickServer
	list     []byte // the result of tools/list
	sessions sync.Map
	scratch  sync.Pool // of *yardstickScratch
}

// yardstickServer is one server and the only session on it.
type yardstickServer struct {
	link   upstreamLink
	lastID atomic.Int64
}

// upstreamLink carries requests to one server; calls may overlap.
type upstreamLink interface {
	// roundTrip sends message, whose id is id, and writes the reply's JSON to reply.
	roundTrip(ctx context.Context, id int64, message []byte, reply *bytes.Buffer) error
}

type yardstickScratch struct {
	in, out, reply bytes.Buffer
}

// yardstickRequest is what the hub reads of a request; the rest stays bytes.
type yardstickRequest struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Meta      json.RawMessage `json:"_meta"`
	} `json:"params"`
}

const (
	replyHead = `{"jsonrpc":"2.0","id":`
	// protocolRevision is what the yardstick and the load generator ask for.
	protocolRevision = "2025-11-25"
	initializeParams = `{"protocolVersion":"` + protocolRevision +
		`","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`
	initializedNote = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// yardstickMain reads the same configuration file as toolcrib does.
func yardstickMain(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("yardstick", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:9200", "loopback address to listen on")
	config := flags.String("config", "", "file with the mcpServers to put together")
	if err := flags.Parse(args); err != nil {
		return err
	}
	raw, err := os.ReadFile(*config)
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	var file hubConfig
	if err := json.Unmarshal(raw, &file); err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // Ends the child servers, whatever ends this.
	hub, err := newYardstick(ctx, file)
	if err != nil {
		return err
	}
	return serveLoopback(ctx, *listen, hub)
}

// newYardstick connects to every server at once and returns when all have told their tools.
func newYardstick(ctx context.Context, config hubConfig) (*yardstick, error) {
	names := slices.Sorted(maps.Keys(config.Servers))
	servers := make([]*yardstickServer, len(names))
	lists := make([][]byte, len(names))
	failures := make([]error, len(names))
	client := newUpstreamClient()
	var connecting sync.WaitGroup
	for i, name := range names {
		connecting.Go(func() {
			servers[i], lists[i], failures[i] = connectServer(ctx, client, name, config.Servers[name])
		})
	}
	connecting.Wait()
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	hub := &yardstick{
		servers: make(map[string]*yardstickServer, len(names)),
		scratch: sync.Pool{New: func() any { return new(yardstickScratch) }},
	}
	for i, name := range names {
		hub.servers[name] = servers[i]
	}
	hub.list = slices.Concat([]byte(`{"tools":[`), bytes.Join(lists, []byte{','}), []byte(`]}`))
	return hub, nil
}

// connectServer opens the session on one server and returns its tools under their exposed names, joined by commas.
func connectServer(ctx context.Context, client *http.Client, name string, entry hubServer) (*yardstickServer, []byte, error) {
	var link upstreamLink
	var err error
	if entry.Command != "" {
		link, err = startStdioLink(ctx, entry)
	} else {
		link, err = openHTTPLink(ctx, client, entry.URL)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("connect to %s: %w", name, err)
	}
	server := &yardstickServer{link: link}
	var reply bytes.Buffer
	id := server.lastID.Add(1)
	message := fmt.Appendf(nil, `%s%d,"method":"tools/list","params":{}}`, replyHead, id)
	if err := link.roundTrip(ctx, id, message, &reply); err != nil {
		return nil, nil, fmt.Errorf("list the tools of %s: %w", name, err)
	}
	tools, err := prefixTools(reply.Bytes(), name)
	if err != nil {
		return nil, nil, fmt.Errorf("list the tools of %s: %w", name, err)
	}
	return server, tools, nil
}

func prefixTools(reply []byte, server string) ([]byte, error) {
	var listing struct {
		Result struct {
			Tools []map[string]json.RawMessage `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal(reply, &listing); err != nil {
		return nil, err
	}
	tools := make([][]byte, len(listing.Result.Tools))
	for i, tool := range listing.Result.Tools {
		var name string
		if err := json.Unmarshal(tool["name"], &name); err != nil {
			return nil, err
		}
		tool["name"] = strconv.AppendQuote(nil, server+exposedSeparator+name)
		encoded, err := json.Marshal(tool)
		if err != nil {
			return nil, err
		}
		tools[i] = encoded
	}
	return bytes.Join(tools, []byte{','}), nil
}

// ServeHTTP is the caller's side.
func (y *yardstick) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	session := r.Header.Get("Mcp-Session-Id")
	switch r.Method {
	case http.MethodPost:
		y.post(w, r, session)
	case http.MethodGet:
		if _, known := y.sessions.Load(session); !known {
			http.Error(w, "no such session", http.StatusNotFound)
			return
		}
		holdStream(w, r, nil)
	case http.MethodDelete:
		y.sessions.Delete(session)
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func (y *yardstick) post(w http.ResponseWriter, r *http.Request, session string) {
	scratch, ok := y.scratch.Get().(*yardstickScratch)
	if !ok {
		scratch = new(yardstickScratch)
	}
	defer y.scratch.Put(scratch)
	scratch.in.Reset()
	if _, err := scratch.in.ReadFrom(r.Body); err != nil {
		return // The connection is gone.
	}
	var request yardstickRequest
	if err := json.Unmarshal(scratch.in.Bytes(), &request); err != nil {
		http.Error(w, "not a JSON-RPC message", http.StatusBadRequest)
		return
	}
	if request.Method == "initialize" {
		session = rand.Text()
		y.sessions.Store(session, struct{}{})
		w.Header().Set("Mcp-Session-Id", session)
	} else if _, known := y.sessions.Load(session); !known {
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	if len(request.ID) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	switch request.Method {
	case "initialize":
		writeReply(w, request.ID, []byte(`,"result":{"protocolVersion":"`+protocolRevision+
			`","capabilities":{"tools":{}},"serverInfo":{"name":"yardstick","version":"1"}}}`))
	case "ping":
		writeReply(w, request.ID, []byte(`,"result":{}}`))
	case "tools/list":
		writeReply(w, request.ID, []byte(`,"result":`), y.list, []byte{'}'})
	case "tools/call":
		y.call(r.Context(), w, &request, scratch)
	default:
		writeReply(w, request.ID, []byte(`,"error":{"code":-32601,"message":"method not found"}}`))
	}
}

func (y *yardstick) call(ctx context.Context, w http.ResponseWriter, request *yardstickRequest, scratch *yardstickScratch) {
	name, tool, _ := strings.Cut(request.Params.Name, exposedSeparator)
	server := y.servers[name]
	if server == nil {
		writeReply(w, request.ID, []byte(`,"error":{"code":-32602,"message":"unknown tool"}}`))
		return
	}
	id := server.lastID.Add(1)
	out := &scratch.out
	out.Reset()
	out.WriteString(replyHead)
	out.Write(strconv.AppendInt(out.AvailableBuffer(), id, 10))
	out.WriteString(`,"method":"tools/call","params":{"name":`)
	out.Write(strconv.AppendQuote(out.AvailableBuffer(), tool))
	if len(request.Params.Arguments) > 0 {
		out.WriteString(`,"arguments":`)
		out.Write(request.Params.Arguments)
	}
	if len(request.Params.Meta) > 0 {
		out.WriteString(`,"_meta":`)
		out.Write(request.Params.Meta)
	}
	out.WriteString(`}}`)
	scratch.reply.Reset()
	err := server.link.roundTrip(ctx, id, out.Bytes(), &scratch.reply)
	if err == nil {
		var rest []byte
		if rest, err = afterID(scratch.reply.Bytes(), id); err == nil {
			writeReply(w, request.ID, rest)
			return
		}
	}
	text, _ := json.Marshal(err.Error()) // A string always encodes.
	writeReply(w, request.ID, []byte(`,"error":{"code":-32603,"message":`), text, []byte(`}}`))
}

// afterID returns what follows the id in a reply. It knows the one layout that the echo upstream writes.
func afterID(reply []byte, id int64) ([]byte, error) {
	var head [len(replyHead) + 20]byte
	rest, ok := bytes.CutPrefix(reply, strconv.AppendInt(append(head[:0], replyHead...), id, 10))
	if !ok || !bytes.HasPrefix(rest, []byte{','}) {
		return nil, fmt.Errorf("reply %.60q does not begin with id %d", reply, id)
	}
	return rest, nil
}

// writeReply writes a reply with the caller's id and then rest, which is not copied.
func writeReply(w http.ResponseWriter, id json.RawMessage, rest ...[]byte) {
	length := len(replyHead) + len(id)
	for _, part := range rest {
		length += len(part)
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(length))
	var head [len(replyHead) + 32]byte
	if _, err := w.Write(append(append(head[:0], replyHead...), id...)); err != nil {
		return // The connection is gone.
	}
	for _, part := range rest {
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}

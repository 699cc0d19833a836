package rig

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// HTTPPeer speaks streamable HTTP with the endpoint, in the revision of what it
// is told to send: a session begins with the answer to initialize, the stream of
// what belongs to no request is opened after notifications/initialized, and a
// request that names its revision in _meta gets the headers which that one
// demands.
func HTTPPeer(tb testing.TB, endpoint string) *Peer {
	tb.Helper()
	transport := &http.Transport{}
	h := &httpPeer{Peer: newPeer(tb), client: &http.Client{Transport: transport}, endpoint: endpoint}
	h.send = h.post
	tb.Cleanup(func() { // comes before the peer's own end
		h.over()
		transport.CloseIdleConnections()
	})
	return h.Peer
}

type httpPeer struct {
	*Peer
	client   *http.Client
	endpoint string

	mu      sync.Mutex
	session string
	version string // of the session
}

// request makes an HTTP request with the headers of the session.
func (h *httpPeer) request(ctx context.Context, method string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, h.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.session != "" {
		req.Header.Set("Mcp-Session-Id", h.session)
	}
	if h.version != "" {
		req.Header.Set("Mcp-Protocol-Version", h.version)
	}
	return req, nil
}

// post sends a message. The answer to a request is read beside the test, so that
// a question in it can be answered meanwhile; anything else has arrived when
// post returns.
func (h *httpPeer) post(raw []byte) error {
	var m Message
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	req, err := h.request(h.ctx, http.MethodPost, raw)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	modernHeaders(req.Header, m)
	if m.Question() {
		h.all.Go(func() {
			if err := h.answered(req, m.Method == "initialize"); err != nil && !h.ended(err) {
				h.tb.Errorf("%s: %v", m.Method, err)
			}
		})
		return nil
	}
	res, err := h.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	said, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusAccepted {
		return fmt.Errorf("HTTP %d %s", res.StatusCode, said)
	}
	if m.Method == "notifications/initialized" {
		return h.listen()
	}
	return nil
}

// answered sends a request and takes everything that comes for it.
func (h *httpPeer) answered(req *http.Request, opens bool) error {
	res, err := h.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	take := h.came
	if session := res.Header.Get("Mcp-Session-Id"); opens {
		take = func(raw []byte) {
			h.opened(session, raw)
			h.came(raw)
		}
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		events(res.Body, func(_ string, data []byte) { take(data) })
		return nil
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if len(body) == 0 {
		return fmt.Errorf("HTTP %d without an answer", res.StatusCode)
	}
	take(body)
	return nil
}

// opened takes the session that initialize was answered with.
func (h *httpPeer) opened(session string, raw []byte) {
	var m struct {
		Result struct {
			Version string `json:"protocolVersion"`
		} `json:"result"`
	}
	_ = json.Unmarshal(raw, &m) // an error then has no revision either
	h.mu.Lock()
	defer h.mu.Unlock()
	h.session, h.version = session, m.Result.Version
}

// listen opens the stream of what belongs to no request, if the server has one.
func (h *httpPeer) listen() error {
	req, err := h.request(h.ctx, http.MethodGet, nil)
	if err != nil {
		return err
	}
	res, err := h.client.Do(req)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return res.Body.Close()
	}
	h.all.Go(func() {
		defer res.Body.Close()
		events(res.Body, func(_ string, data []byte) { h.came(data) })
	})
	return nil
}

// over ends the session.
func (h *httpPeer) over() {
	h.mu.Lock()
	open := h.session != ""
	h.mu.Unlock()
	if !open {
		return
	}
	req, err := h.request(h.ctx, http.MethodDelete, nil)
	if err != nil {
		h.tb.Error(err)
		return
	}
	if res, err := h.client.Do(req); err == nil { // else the server is gone
		_ = res.Body.Close()
	}
}

// modernHeaders are what revision 2026-07-28 demands of a request.
func modernHeaders(header http.Header, m Message) {
	var p struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
	if json.Unmarshal(m.Params, &p) != nil || p.Meta.Version == "" {
		return
	}
	header.Set("Mcp-Protocol-Version", p.Meta.Version)
	header.Set("Mcp-Method", m.Method)
	switch m.Method {
	case "tools/call", "prompts/get":
		header.Set("Mcp-Name", headerValue(p.Name))
	case "resources/read":
		header.Set("Mcp-Name", headerValue(p.URI))
	}
}

// headerValue is a value as it may stand in a header (2026-07-28, "Value
// Encoding").
func headerValue(s string) string {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
		}
	}
	return s
}

// SSEPeer speaks HTTP+SSE of revision 2024-11-05: everything comes on the stream
// of the endpoint, and what it sends goes to the address that came first.
func SSEPeer(tb testing.TB, endpoint string) *Peer {
	tb.Helper()
	p := newPeer(tb)
	transport := &http.Transport{}
	tb.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	req, err := http.NewRequestWithContext(p.ctx, http.MethodGet, endpoint, http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	res, err := client.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		_ = res.Body.Close()
		tb.Fatalf("GET %s: HTTP %d", endpoint, res.StatusCode)
	}
	address := make(chan string, 1)
	p.all.Go(func() {
		defer res.Body.Close()
		events(res.Body, func(event string, data []byte) {
			if event == "endpoint" {
				select {
				case address <- string(data):
				default:
					tb.Errorf("a second address came: %s", data)
				}
				return
			}
			p.came(data)
		})
	})
	var target *url.URL
	Await(tb, "the stream names its address", func() bool {
		select {
		case a := <-address:
			target, err = res.Request.URL.Parse(a)
			return true
		default:
			return false
		}
	})
	if err != nil {
		tb.Fatal(err)
	}
	p.send = func(raw []byte) error {
		req, err := http.NewRequestWithContext(p.ctx, http.MethodPost, target.String(), bytes.NewReader(raw))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		said, err := io.ReadAll(res.Body)
		if err == nil && res.StatusCode/100 != 2 {
			err = fmt.Errorf("HTTP %d %s", res.StatusCode, said)
		}
		return err
	}
	return p
}

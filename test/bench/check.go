//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// requester makes one measured request after the other on a session and checks what comes back. The error is a
// *mismatch if an answer came which is not the right one.
type requester interface {
	request(c *conn) (arrived time.Time, err error)
}

var (
	_ requester = (*echoRequester)(nil)
	_ requester = (*constantRequester)(nil)
	_ requester = (*listRequester)(nil)
)

// mismatch says that a reply is not what the request asked for.
type mismatch struct{ why string }

func (m *mismatch) Error() string { return "wrong reply: " + m.why }

func mismatchf(format string, args ...any) error { return &mismatch{why: fmt.Sprintf(format, args...)} }

// minEchoText is the length of the shortest text that is unique to a call.
const minEchoText = 11

// echoRequester calls echo with a text that no other call of the run has. The request ids, however, are the same in
// every worker: a hub that mixes up what its callers share is found out.
type echoRequester struct {
	before    [][]byte // of each tool: the request from the id to the text
	offset    int64    // which tool comes first
	id        int64
	number    int64 // what the text says
	text      []byte
	out, want []byte
}

// expandTool returns the names that a name with %d stands for.
func expandTool(tool string, servers int) []string {
	if !strings.Contains(tool, "%d") {
		return []string{tool}
	}
	var names []string
	for i := range servers {
		names = append(names, strings.ReplaceAll(tool, "%d", strconv.Itoa(i+1)))
	}
	return names
}

// newEchoRequester calls the tools in turn. Its texts are size bytes long and begin with the worker's number.
func newEchoRequester(tools []string, worker, size int) *echoRequester {
	size = max(size, minEchoText)
	e := &echoRequester{
		// Half of the numbers, so that a reply of an earlier run does not fit either.
		number: int64(worker)*100_000_000 + time.Now().UnixNano()%50_000_000,
		text:   bytes.Repeat([]byte{'x'}, size),
	}
	for _, tool := range tools {
		e.before = append(e.before, []byte(`,"method":"tools/call","params":{"name":"`+tool+`","arguments":{"text":"`))
	}
	e.offset = int64(worker) * int64(len(tools)) / 16 // Spreads the load over the servers at every moment.
	return e
}

func (e *echoRequester) request(c *conn) (time.Time, error) {
	e.id++
	e.number++
	for i, rest := minEchoText-1, e.number; i >= 0; i, rest = i-1, rest/10 {
		e.text[i] = byte('0' + rest%10)
	}
	tool := (e.offset + e.id) % int64(len(e.before))
	out := strconv.AppendInt(append(e.out[:0], replyHead...), e.id, 10)
	out = append(out, e.before[tool]...)
	out = append(out, e.text...)
	e.out = append(out, `"}}}`...)
	reply, arrived, err := c.exchange(e.out)
	if err != nil {
		return arrived, err
	}
	want := strconv.AppendInt(append(e.want[:0], replyHead...), e.id, 10)
	want = append(want, `,"result":{"content":[{"type":"text","text":"`...)
	want = append(want, e.text...)
	e.want = append(want, `"}]}}`...)
	if bytes.Equal(reply, e.want) {
		return arrived, nil
	}
	text, err := replyText(reply, e.id)
	if err == nil && text != string(e.text) {
		err = mismatchf("text %.40q instead of %.40q", text, e.text)
	}
	return arrived, err
}

// constantRequester makes the same request over and over, whose reply must always be the same.
type constantRequester struct {
	rest   []byte // the request from the id on
	accept func(text string) error
	id     int64
	out    []byte
	first  []byte // a reply that was found right, from its id on
}

// newConstantRequester calls a tool with these arguments; accept judges the text of its reply.
func newConstantRequester(tool, arguments string, accept func(text string) error) *constantRequester {
	rest := `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
	return &constantRequester{rest: []byte(rest), accept: accept}
}

func (r *constantRequester) request(c *conn) (time.Time, error) {
	r.id++
	out := strconv.AppendInt(append(r.out[:0], replyHead...), r.id, 10)
	r.out = append(out, r.rest...)
	reply, arrived, err := c.exchange(r.out)
	if err != nil {
		return arrived, err
	}
	// Decoding a large reply costs more than serving it; the very bytes of a good one are as good.
	tail, err := afterID(reply, r.id)
	if err == nil && len(r.first) > 0 && bytes.Equal(tail, r.first) {
		return arrived, nil
	}
	text, err := replyText(reply, r.id)
	if err != nil {
		return arrived, err
	}
	if err := r.accept(text); err != nil {
		return arrived, err
	}
	r.first = append(r.first[:0], tail...)
	return arrived, nil
}

// acceptBlob wants the text of blob{kib}, byte for byte.
func acceptBlob(kib int) func(string) error {
	want := blobText(kib)
	return func(text string) error {
		if text != want {
			return mismatchf("blob of %d bytes differs from the one of %d bytes", len(text), len(want))
		}
		return nil
	}
}

// acceptContaining wants a text that has part in it.
func acceptContaining(part string) func(string) error {
	return func(text string) error {
		if !strings.Contains(text, part) {
			return mismatchf("text %.100q without %q", text, part)
		}
		return nil
	}
}

// replyText decodes the reply to a tools/call and returns its only content, a text.
func replyText(reply []byte, id int64) (string, error) {
	var message struct {
		ID     json.RawMessage `json:"id"`
		Error  json.RawMessage `json:"error"`
		Result struct {
			Content []struct {
				Type string `json:"type"`
				Text string `json:"text"`
			} `json:"content"`
			IsError bool `json:"isError"`
		} `json:"result"`
	}
	if err := json.Unmarshal(reply, &message); err != nil {
		return "", mismatchf("%v in %.100q", err, reply)
	}
	if string(message.ID) != strconv.FormatInt(id, 10) {
		return "", mismatchf("id %s instead of %d", message.ID, id)
	}
	if len(message.Error) > 0 || message.Result.IsError {
		return "", fmt.Errorf("the call failed: %.300s", reply)
	}
	if content := message.Result.Content; len(content) != 1 || content[0].Type != "text" {
		return "", mismatchf("not one text: %.100q", reply)
	}
	return message.Result.Content[0].Text, nil
}

// listRequester reads all pages of tools/list.
type listRequester struct {
	prefix string // of the tools that count, before a number; if empty, all count
	want   int    // how many there must be
	id     int64
	pages  []listPage // the last listing that was found right
}

type listPage struct {
	params string // what asks for the page
	tail   []byte // its reply from the id on
}

// toolPage is a page decoded.
type toolPage struct {
	Error  json.RawMessage `json:"error"`
	Result struct {
		Tools []struct {
			Name        string          `json:"name"`
			InputSchema json.RawMessage `json:"inputSchema"`
		} `json:"tools"`
		NextCursor string `json:"nextCursor"`
	} `json:"result"`
}

// maxPages bounds a listing whose cursors never end.
const maxPages = 10_000

func (l *listRequester) request(c *conn) (time.Time, error) {
	var arrived time.Time
	same := len(l.pages) > 0
	for i := 0; same && i < len(l.pages); i++ {
		tail, at, err := l.page(c, l.pages[i].params)
		if err != nil {
			return at, err
		}
		arrived, same = at, bytes.Equal(tail, l.pages[i].tail)
	}
	if same {
		return arrived, nil
	}
	return l.readAll(c)
}

// readAll reads the pages anew, decodes and judges them, and keeps them to compare with.
func (l *listRequester) readAll(c *conn) (arrived time.Time, err error) {
	l.pages = l.pages[:0]
	seen := map[string]bool{}
	for params := `{}`; ; {
		tail, at, err := l.page(c, params)
		if err != nil {
			return at, err
		}
		arrived = at
		l.pages = append(l.pages, listPage{params: params, tail: bytes.Clone(tail)})
		var page toolPage
		if err := json.Unmarshal(append([]byte(`{"id":0`), tail...), &page); err != nil {
			return arrived, mismatchf("%v in a list of tools", err)
		}
		if len(page.Error) > 0 {
			return arrived, fmt.Errorf("tools/list failed: %.300s", page.Error)
		}
		for _, tool := range page.Result.Tools {
			if !l.counts(tool.Name) {
				continue
			}
			if seen[tool.Name] || len(tool.InputSchema) == 0 {
				return arrived, mismatchf("tool %q is listed twice or has no schema", tool.Name)
			}
			seen[tool.Name] = true
		}
		if page.Result.NextCursor == "" {
			break
		}
		if len(l.pages) == maxPages {
			return arrived, mismatchf("more than %d pages of tools", maxPages)
		}
		cursor, err := json.Marshal(page.Result.NextCursor)
		if err != nil {
			return arrived, mismatchf("cursor %q", page.Result.NextCursor)
		}
		params = `{"cursor":` + string(cursor) + `}`
	}
	if len(seen) != l.want {
		l.pages = l.pages[:0]
		return arrived, mismatchf("%d tools instead of %d", len(seen), l.want)
	}
	return arrived, nil
}

// counts tells whether a tool is one of those wanted, and not one that a hub adds of its own.
func (l *listRequester) counts(name string) bool {
	rest, ok := strings.CutPrefix(name, l.prefix)
	return ok && (l.prefix == "" || rest != "" && rest[0] >= '0' && rest[0] <= '9')
}

// page returns the reply from its id on; the bytes are good until the next exchange.
func (l *listRequester) page(c *conn, params string) ([]byte, time.Time, error) {
	l.id++
	message := fmt.Appendf(nil, `%s%d,"method":"tools/list","params":%s}`, replyHead, l.id, params)
	reply, arrived, err := c.exchange(message)
	if err != nil {
		return nil, arrived, err
	}
	tail, err := afterID(reply, l.id)
	if err != nil {
		return nil, arrived, &mismatch{why: err.Error()}
	}
	return tail, arrived, nil
}

package call

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Bounds of the results that are kept.
const (
	maxResults = 64 << 20         // bytes
	resultLife = 10 * time.Minute // of one
	pageSize   = 64 << 10         // bytes of text
)

// resultScheme is how the URIs of the pages of a result begin. After it come the
// id of the result, "/" and the number of the page, from 1 on.
const resultScheme = "toolcrib-result:"

// Members of the _meta of a page.
const (
	metaNextPage = "toolcrib/nextPage" // the URI of the next one, if there is one
	metaPages    = "toolcrib/pages"    // how many there are
)

// results keeps results that were too large to be given at once, each for the
// principal that got it. Safe for concurrent use.
type results struct {
	mu   sync.Mutex
	byID *lru[string, *result]
}

// result is one that is kept, as its pages.
type result struct {
	whose string // of which principal
	mime  string
	text  string
	ends  []int // of the pages in text
	timer *time.Timer
}

func newResults() *results {
	return &results{byID: newLRU(maxResults, func(_ string, r *result) { r.timer.Stop() })}
}

// keep keeps a result for its time.
func (all *results) keep(r *result) (id string, ok bool) {
	id = rand.Text()
	all.mu.Lock()
	defer all.mu.Unlock()
	r.timer = time.AfterFunc(resultLife, func() {
		all.mu.Lock()
		defer all.mu.Unlock()
		all.byID.drop(id)
	})
	if !all.byID.put(id, r, len(r.text)+8*len(r.ends)) {
		r.timer.Stop()
		return "", false
	}
	return id, true
}

// find returns a result that is kept for the principal.
func (all *results) find(id, whose string) (*result, bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	r, ok := all.byID.get(id)
	return r, ok && r.whose == whose
}

// spill keeps a result of a tool that has more bytes than its server is allowed,
// and gives a link to its pages instead. A result with structured content is
// given as it is, since programs read it that the schema of the tool was promised
// to; and so are errors, and results for callers that cannot read resources.
func (p *Pipeline) spill(_ context.Context, r *run) error {
	m := &r.reply.Message
	most := r.server.Spill
	if most <= 0 || m.Kind != wire.Response || m.Result.Len() <= most || protocol.KindOf(m, r.reply.Era) != protocol.ResultComplete ||
		m.Member("structuredContent").Exists() || string(m.Member("isError").Of(m.Raw)) == "true" || r.view.Profile().EmbedLinks || r.Principal.Door.Spoken() {
		return nil
	}
	size := m.Result.Len()
	kept := paged(m, r.edits)
	kept.whose = whose(&r.Principal)
	id, ok := p.results.keep(kept)
	if !ok {
		return nil
	}
	first, last := pageURI(id, 1), pageURI(id, len(kept.ends))
	text := hub.E(message.ResultKept, nil, "size", strconv.Itoa(size), "pages", strconv.Itoa(len(kept.ends)), "first", first, "last", last)
	b := append([]byte(nil), `{"jsonrpc":"2.0","id":0,"result":{"content":[{"type":"text","text":`...)
	b = wire.AppendString(b, text.In(r.Lang))
	b = append(b, `},{"type":"resource_link","uri":`...)
	b = wire.AppendString(b, first)
	b = append(b, `,"name":`...)
	b = wire.AppendString(b, r.name)
	b = append(b, `,"mimeType":`...)
	b = wire.AppendString(b, kept.mime)
	b = append(b, `,"size":`...)
	b = strconv.AppendInt(b, int64(len(kept.text)), 10)
	r.reply, r.edits = local(append(b, `}]}}`...)), nil
	return nil
}

// paged is a result as pages: its text, if that is all that it has, else its
// JSON.
func paged(m *wire.Message, edits []wire.Edit) *result {
	if text, ok := onlyText(m); ok {
		return &result{mime: "text/plain", text: text, ends: pages(text)}
	}
	if len(edits) > 0 {
		edited := rescan(wire.Splice(m.Raw, edits...))
		m = &edited
	}
	text := string(m.Result.Of(m.Raw))
	return &result{mime: "application/json", text: text, ends: pages(text)}
}

// onlyText is the text of a result that has one item of text, and nothing else
// that a caller would miss.
func onlyText(m *wire.Message) (text string, ok bool) {
	for one := range m.Members() {
		if !wire.KeyIs(m.Raw, one.Key, "content") && !wire.KeyIs(m.Raw, one.Key, "isError") && !wire.KeyIs(m.Raw, one.Key, "resultType") {
			return "", false
		}
	}
	n := 0
	for item := range wire.Array(m.Raw, m.Member("content")) {
		if n++; n > 1 {
			return "", false
		}
		for one := range wire.Object(m.Raw, item) {
			switch {
			case wire.KeyIs(m.Raw, one.Key, "type"):
				if kind, _ := wire.String(m.Raw, one.Value); kind != "text" {
					return "", false
				}
			case wire.KeyIs(m.Raw, one.Key, "text"):
				if text, ok = wire.String(m.Raw, one.Value); !ok {
					return "", false
				}
			default:
				return "", false
			}
		}
	}
	return text, text != ""
}

// pages are the ends of the pages of a text, none of which splits a character.
func pages(text string) []int {
	var ends []int
	for at := 0; at < len(text); {
		end := min(at+pageSize, len(text))
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end--
		}
		ends = append(ends, end)
		at = end
	}
	return ends
}

func pageURI(id string, n int) string { return resultScheme + id + "/" + strconv.Itoa(n) }

// page answers a read of a page of a result that is kept.
func (p *Pipeline) page(_ context.Context, r *run) error {
	rest, ours := strings.CutPrefix(r.name, resultScheme)
	if !ours {
		return nil
	}
	id, number, _ := strings.Cut(rest, "/")
	n, err := strconv.Atoi(number)
	kept, ok := p.results.find(id, whose(&r.Principal))
	if err != nil || !ok || n < 1 || n > len(kept.ends) {
		return hub.E(message.ResultGone, nil, "uri", message.Quote(r.name))
	}
	start := 0
	if n > 1 {
		start = kept.ends[n-2]
	}
	b := append([]byte(nil), `{"jsonrpc":"2.0","id":0,"result":{"contents":[{"uri":`...)
	b = wire.AppendString(b, r.name)
	b = append(b, `,"mimeType":`...)
	b = wire.AppendString(b, kept.mime)
	b = append(b, `,"text":`...)
	b = wire.AppendString(b, kept.text[start:kept.ends[n-1]])
	b = append(b, `,"_meta":{"`+metaPages+`":`...)
	b = strconv.AppendInt(b, int64(len(kept.ends)), 10)
	if n < len(kept.ends) {
		b = append(b, `,"`+metaNextPage+`":`...)
		b = wire.AppendString(b, pageURI(id, n+1))
	}
	r.reply = local(append(b, `}}]}}`...))
	return nil
}

// local is an answer of the hub's own. It is one of the legacy era: what a
// modern caller expects besides is added where the answers of legacy servers are
// made to fit.
func local(raw []byte) *upstream.Reply {
	return &upstream.Reply{Message: rescan(raw), Era: protocol.Legacy}
}

// rescan scans a message that the hub has put together of what was scanned, and
// that may be a little larger and deeper.
func rescan(raw []byte) wire.Message {
	m, err := wire.Scan(raw, wire.Limits{MaxBytes: 1 << 30, MaxDepth: 2 * wire.DefaultMaxDepth})
	if err != nil {
		panic(err)
	}
	return m
}

package call

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Bounds of the links of one result that are replaced by what they lead to.
const (
	maxLinks  = 8
	maxLinked = 1 << 20 // bytes of what one leads to
	linkTime  = 10 * time.Second
)

// link is a link in a result.
type link struct {
	item   wire.Span // of the content
	at     wire.Span // the URI, with its quotes
	uri    string
	inside []byte         // the items that take its place; nil if it stays
	why    message.Phrase // it stays
}

// embed puts what the links of a tool's result lead to in the place of the links,
// for a caller that cannot read resources. What cannot be had stays a link, and a
// text after it says why.
func (p *Pipeline) embed(ctx context.Context, r *run) error {
	m := &r.reply.Message
	if !r.view.Profile().EmbedLinks || !bytes.Contains(m.Raw, []byte("resource_link")) || protocol.KindOf(m, r.reply.Era) != protocol.ResultComplete {
		return nil
	}
	links := linksOf(m)
	// That it ends here says nothing of the servers' health.
	ctx, cancel := context.WithTimeoutCause(ctx, linkTime, hub.E(message.Cancelled, nil))
	defer cancel()
	var all sync.WaitGroup
	for i := range links {
		if i == maxLinks {
			links[i].why = message.Say("no more than %d links of a result are fetched", maxLinks)
			break // said once for all that follow
		}
		all.Go(func() { p.follow(ctx, r, &links[i]) })
	}
	all.Wait()
	var edits []wire.Edit
	for i := range links {
		switch l := &links[i]; {
		case l.inside != nil:
			edits = append(edits, wire.Replace(l.item, l.inside))
		case !l.why.Empty():
			edits = append(edits, wire.Edit{Start: l.item.End, End: l.item.End, Text: l.remark(r.Lang)})
		}
	}
	if len(edits) > 0 {
		r.reply.Message = rescan(wire.Splice(m.Raw, edits...))
	}
	return nil
}

// linksOf are the links in a result.
func linksOf(m *wire.Message) []link {
	if m.Kind != wire.Response {
		return nil
	}
	var links []link
	for item := range wire.Array(m.Raw, m.Member("content")) {
		kind := wire.Lookup(m.Raw, item, "type")
		if name, _ := wire.String(m.Raw, kind); name != "resource_link" {
			continue
		}
		at := wire.Lookup(m.Raw, item, "uri")
		if uri, ok := wire.String(m.Raw, at); ok {
			links = append(links, link{item: item, at: at, uri: uri})
		}
	}
	return links
}

// remark is the item that says why a link stays.
func (l *link) remark(lang message.Lang) []byte {
	text := hub.E(message.LinkRefused, nil, "uri", message.Quote(l.uri)).With("detail", l.why)
	b := wire.AppendString([]byte(`,{"type":"text","text":`), text.In(lang))
	return append(b, '}')
}

// follow gets what a link leads to: from the server that has given it or, if that
// one has nothing there, from the web. To the rules, and in the record, that is a read
// of a resource by the caller; of what they do not simply allow nothing is read.
func (p *Pipeline) follow(ctx context.Context, r *run, l *link) {
	read := p.reading(r, l)
	err := p.judge(ctx, read)
	if err == nil && read.judgement.Stops() {
		err = forbidden(openly(l.uri), &read.judgement) // nobody waits here to be asked
	}
	if err != nil {
		l.why = reason(err)
		p.finish(ctx, read, err)
		return
	}
	contents, why, err := p.linked(ctx, r, read, l)
	if err == nil && contents == nil && (strings.HasPrefix(l.uri, "http://") || strings.HasPrefix(l.uri, "https://")) {
		// The server has taken its time, or was not asked at all.
		if err = p.sure(ctx, read, &read.plan.candidates[0]); err == nil {
			var body []byte
			if body, why = p.web.get(ctx, l.uri, l.at.Of(r.reply.Message.Raw)); why.Empty() {
				contents = [][]byte{body}
				read.server, read.reply = nil, local([]byte(`{"jsonrpc":"2.0","id":0,"result":{}}`))
			}
		}
	}
	switch {
	case err != nil:
		l.why = reason(err)
	case contents == nil:
		l.why = why
		err = hub.E(message.LinkRefused, nil, "uri", message.Quote(openly(l.uri))).With("detail", why)
	default:
		l.put(&r.reply.Message, contents)
	}
	p.finish(ctx, read, err)
}

// reading is the read of what a link in the reply of a call leads to.
func (p *Pipeline) reading(r *run, l *link) *run {
	raw := append([]byte(`{"jsonrpc":"2.0","id":0,"method":"`+protocol.MethodResourcesRead+`","params":{"uri":`), l.at.Of(r.reply.Message.Raw)...)
	m := rescan(append(raw, `}}`...))
	read := &run{
		Request: Request{
			Principal: r.Principal, Retrier: r.Retrier, SessionRef: r.record.Session, Caller: r.Caller, Viewer: r.Viewer, Message: &m, Lang: r.Lang, Exchange: deaf{},
		},
		verb: p.verbs[protocol.MethodResourcesRead], view: r.view, server: r.server, own: l.uri, seen: r.seen,
	}
	read.read()
	p.begin(read)
	read.record.Trace = r.record.Trace
	read.plan.candidates = append(read.plan.alone[:0], candidate{server: r.server})
	return read
}

// put puts contents in the place of the link.
func (l *link) put(m *wire.Message, contents [][]byte) {
	for i, content := range contents {
		if i > 0 {
			l.inside = append(l.inside, ',')
		}
		l.inside = append(l.inside, `{"type":"resource","resource":`...)
		l.inside = append(l.inside, content...)
		for _, member := range [...]string{"annotations", "_meta"} {
			if at := wire.Lookup(m.Raw, l.item, member); at.Exists() {
				l.inside = append(append(l.inside, `,"`+member+`":`...), at.Of(m.Raw)...)
			}
		}
		l.inside = append(l.inside, '}')
	}
}

// linked reads a link from the server that has given it, and says why it cannot
// be had from there if contents is nil. What the caller could not read itself it does
// not get so either. The error is that it may not be read by now, from nowhere.
func (p *Pipeline) linked(ctx context.Context, r, read *run, l *link) (contents [][]byte, why message.Phrase, barred error) {
	if !r.view.Has(r.server.Key) {
		return nil, message.Say("the resources of its server are not in the group"), nil
	}
	use, err := p.fleet.Acquire(ctx, r.server.Key, r.as())
	if err == nil {
		if err = p.sure(ctx, read, &read.plan.candidates[0]); err != nil {
			use.Done(err)
			return nil, message.Phrase{}, err
		}
		read.reply, err = use.Conn().Do(ctx, &upstream.Request{Message: read.Message, Name: l.uri}, deaf{})
		use.Done(err)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, message.Say("it was not there in time"), nil
	case err != nil:
		return nil, reason(err), nil
	}
	contents, why = contentsOf(read.reply)
	return contents, why, nil
}

// contentsOf are the contents of the resource in a reply, or why it has none.
func contentsOf(reply *upstream.Reply) (contents [][]byte, why message.Phrase) {
	answer := &reply.Message
	switch {
	case answer.Kind == wire.Failure:
		return nil, message.Say("the server refused to give it")
	case protocol.KindOf(answer, reply.Era) != protocol.ResultComplete:
		return nil, message.Say("the server asks a question first")
	case answer.Result.Len() > maxLinked:
		return nil, tooLarge()
	}
	for item := range wire.Array(answer.Raw, answer.Member("contents")) {
		if answer.Raw[item.Start] == '{' {
			contents = append(contents, item.Of(answer.Raw))
		}
	}
	if contents == nil {
		return nil, message.Say("there is nothing")
	}
	return contents, message.Phrase{}
}

// tooLarge is why a link stays that leads to more than maxLinked.
func tooLarge() message.Phrase { return message.Say("it is larger than 1 MiB") }

// reason is what is told of an error.
func reason(err error) message.Phrase { return message.Say("%s", because{hub.AsError(err)}) }

// because is an error as a part of a sentence.
type because struct{ *hub.Error }

// In is what happened, without a full stop.
func (b because) In(lang message.Lang) string {
	return strings.TrimRight(b.Text(lang).What, ".。")
}

// deaf is the exchange of requests that no caller has made.
type deaf struct{}

// Notify implements [hub.Exchange]: it tells nobody.
func (deaf) Notify([]byte) {}

// Ask implements [hub.Exchange]: there is nobody to ask.
func (deaf) Ask(_ context.Context, q hub.Question) { q.Answer(nil, hub.E(message.NotAskable, nil)) }

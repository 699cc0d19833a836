package call

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// stage is one step of the pipeline. An error ends the call.
type stage func(ctx context.Context, r *run) error

// verb is how the requests of one method are carried out.
type verb struct {
	method   string
	recorded bool

	// naming is the member, and names finds it, that says which tool, prompt or
	// resource is meant.
	naming string
	names  func(m *wire.Message) wire.Span
	// judged are the members of params by which a request is judged.
	judged []string

	// look looks for what is meant among what there is now.
	look func(r *run) (found bool, err error)
	// keys yields the servers, by their keys, of which the name says that what is
	// meant may be theirs.
	keys func(name string) iter.Seq[string]
	// unknown is the error where nothing is found.
	unknown func(r *run) error

	// before are the stages in which the hub may answer itself: such an answer is
	// that of the call, as it is.
	before []stage
	// way are those to the server, and the last of them gets its answer. One that
	// has an answer already, such as what is kept, ends the way.
	way []stage
	// again are those that a call passes once more when a person has agreed to it.
	again []stage
	// back are those that the answer passes.
	back []stage
}

// table is which stages apply to which method, and in which order; decision 16
// says why it is that one.
func (p *Pipeline) table() map[string]*verb {
	verbs := map[string]*verb{
		protocol.MethodToolsCall: {
			recorded: true,
			naming:   "name", names: member("name"), judged: []string{"name", "arguments", "_meta"},
			look: p.lookTool, keys: prefixes, unknown: toolUnknown,
			before: []stage{p.check, p.may, p.recognize, p.ourTools},
			way: []stage{
				p.show, p.resolveTool, p.compare, p.devise, p.schemas.validate, p.judge, p.hear, p.late.recall, p.tools.recall, p.approve, p.gates.limit, p.take, p.intend, p.route,
			},
			again: []stage{p.resolveTool, p.compare, p.devise, p.schemas.validate, p.judge},
			back:  []stage{p.tools.keep, p.askers.asked, p.notice, p.embed, p.expose, p.spill},
		},
		protocol.MethodResourcesRead: {
			recorded: true,
			naming:   "uri", names: member("uri"), judged: []string{"uri", "_meta"},
			look: p.lookResource, keys: prefixedBy, unknown: resourceUnknown,
			before: []stage{p.check, p.may, p.recognize, p.page},
			way:    []stage{p.resolveResource, p.devise, p.judge, p.hear, p.recall, p.approve, p.gates.limit, p.take, p.intend, p.route},
			again:  []stage{p.resolveResource, p.devise, p.judge},
			back:   []stage{p.keep, p.notice, p.expose},
		},
		protocol.MethodPromptsGet: {
			recorded: true,
			naming:   "name", names: member("name"), judged: []string{"name", "arguments", "_meta"},
			look: p.lookPrompt, keys: prefixes, unknown: promptUnknown,
			before: []stage{p.check, p.may, p.recognize},
			way:    []stage{p.resolvePrompt, p.devise, p.judge, p.hear, p.approve, p.gates.limit, p.take, p.intend, p.route},
			again:  []stage{p.resolvePrompt, p.devise, p.judge},
			back:   []stage{p.notice, p.expose},
		},
		protocol.MethodComplete: {
			naming: "ref", names: referred, judged: []string{"ref", "argument", "context", "_meta"},
			look: p.lookReference, keys: referring, unknown: referenceUnknown,
			before: []stage{p.checkReference, p.check, p.may},
			way:    []stage{p.resolveReference, p.devise, p.judge, p.approve, p.route},
		},
	}
	for method, v := range verbs {
		v.method = method
	}
	return verbs
}

// member is names of a verb that is named by a member of params.
func member(name string) func(m *wire.Message) wire.Span {
	return func(m *wire.Message) wire.Span { return m.Member(name) }
}

// check checks the params as far as that is the same for all verbs.
func (p *Pipeline) check(_ context.Context, r *run) error {
	m := r.Message
	if !r.named {
		return invalid(`"%s" has to be a string`, r.verb.naming)
	}
	// Clients in several languages say null for none; that is the server's to
	// judge.
	if args := m.Member("arguments"); args.Exists() && m.Raw[args.Start] != '{' && m.Raw[args.Start] != 'n' && slices.Contains(r.verb.judged, "arguments") {
		return invalid(`"arguments" has to be an object`)
	}
	for one := range m.Members() {
		if err := mistakable(m.Raw, one.Key, r.verb.judged); err != nil {
			return err
		}
	}
	return nil
}

// mistakable is an error for a key that many parsers would take for one of those
// by which a call is judged: the server behind such a one would do something else
// than what was looked at here.
func mistakable(raw []byte, key wire.Span, judged []string) error {
	for _, name := range judged {
		if wire.KeyIs(raw, key, name) {
			return nil
		}
	}
	other, _ := wire.String(raw, key)
	for _, name := range judged {
		if strings.EqualFold(other, name) {
			return invalid(`"%s" differs from a member of a call in its case only`, message.Quote(other))
		}
	}
	return nil
}

func invalid(format string, args ...any) *hub.Error {
	return hub.E(message.ParamsInvalid, nil).With("detail", message.Say(format, args...))
}

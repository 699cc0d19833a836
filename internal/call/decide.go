package call

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/policy"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// What people have to know of calls in order to decide about them.

// Digest names arguments as requests for approval and grants do: those that mean the
// same have the same one. The error is a [*hub.Error] if they are no JSON object in
// which every name is there once.
func (p *Pipeline) Digest(arguments []byte) (string, error) {
	if err := wire.Valid(arguments, wire.Limits{UniqueKeys: true}); err != nil || arguments[wire.Value(arguments).Start] != '{' {
		return "", invalid(`"arguments" has to be an object`)
	}
	sum := sha256.Sum256(appendCanonical(make([]byte, 0, len(arguments)), arguments, wire.Value(arguments)))
	return hex.EncodeToString(sum[:]), nil
}

// Same reports whether two JSON values mean the same.
func (p *Pipeline) Same(a, b []byte) bool {
	return bytes.Equal(appendCanonical(nil, a, wire.Value(a)), appendCanonical(nil, b, wire.Value(b)))
}

// ToolHash names the description of a tool, as requests for approval and grants do.
func (p *Pipeline) ToolHash(e *catalog.Entry) string { return toolHash(e) }

// Described is the tool of a request as its server describes it now, and whether
// that is still what somebody was asked about. It is nil if the tool is gone, and
// for what is no tool.
func (p *Pipeline) Described(q *approval.Request) (definition json.RawMessage, same bool) {
	if q.Method != protocol.MethodToolsCall {
		return nil, true
	}
	share, ok := p.catalog.Snapshot().Share(q.Server)
	if !ok {
		return nil, false
	}
	for _, e := range share.Tools {
		if e.Tool.Name == q.Tool {
			return e.Tool.Raw, toolHash(e) == q.ToolHash
		}
	}
	return nil, false
}

// Judge says what the rules say to a call of a tool that somebody may make. Nothing
// is recorded.
func (p *Pipeline) Judge(who hub.Principal, viewer hub.Viewer, e *catalog.Entry, arguments []byte) hub.Judgement {
	rules := p.policy()
	if rules == nil {
		return hub.Judgement{Verdict: hub.VerdictAllow, Mode: hub.PolicyObserve}
	}
	return rules.Judge(&policy.Question{
		Principal: who, Group: viewer.Group, Client: viewer.Client, Method: protocol.MethodToolsCall,
		Server: &e.Server, Name: e.Exposed, Tool: &e.Tool, Arguments: arguments,
	})
}

package audit

import (
	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/message"
)

// View is the report as the HTTP API has it, in a language.
func (r *Report) View(lang message.Lang) api.AuditReport {
	v := api.AuditReport{OK: len(r.Problems) == 0, Chains: []api.AuditChain{}, Problems: []api.AuditProblem{}, Gaps: r.Gaps}
	for _, c := range r.Chains {
		v.Chains = append(v.Chains, api.AuditChain(c))
	}
	for _, p := range r.Problems {
		v.Problems = append(v.Problems, api.AuditProblem{Node: p.Node, Seq: p.Seq, Code: string(p.Err.Code), Detail: p.Err.Text(lang).String()})
	}
	return v
}

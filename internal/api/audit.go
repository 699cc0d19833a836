package api

import (
	"encoding/json"
	"time"
)

// CallRecord is one call as the record of calls has it. Results are not kept.
type CallRecord struct {
	ID        string          `json:"id"`
	Time      time.Time       `json:"time" doc:"When it began"`
	Ended     *time.Time      `json:"ended,omitempty" doc:"Not there while it is under way"`
	Method    string          `json:"method" example:"tools/call"`
	Subject   string          `json:"subject" doc:"Who called"`
	Door      string          `json:"door" doc:"By which way"`
	Session   string          `json:"session,omitempty" doc:"Of the caller, as in the states of calls"`
	Client    string          `json:"client,omitempty" doc:"The caller's program, as it calls itself"`
	Group     string          `json:"group,omitempty" doc:"At whose address"`
	Name      string          `json:"name" doc:"Of the tool or prompt, or the URI, as the caller put it"`
	Server    string          `json:"server,omitempty" doc:"That it was sent to, the last one if there were several"`
	Tool      string          `json:"tool,omitempty" doc:"The server's own name for it"`
	Arguments json.RawMessage `json:"arguments,omitempty" doc:"Without what may be a secret; for administrators only, and only if they are kept"`
	Digest    string          `json:"digest,omitempty" doc:"The same for equal arguments; for administrators only"`
	Changing  bool            `json:"changing" doc:"It may change something"`
	Verdict   string          `json:"verdict,omitempty" doc:"Of the rules: allow, ask or deny; not there if the call was not judged"`
	Mode      string          `json:"mode,omitempty" doc:"observe if the verdict was only recorded, enforce if it counted; not there if the call was not judged"`
	Risk      string          `json:"risk,omitempty" doc:"low, medium, high or critical; not there if the call was not judged"`
	Rule      string          `json:"rule,omitempty" doc:"That decided; not there if the risk alone did"`
	Policy    string          `json:"policy,omitempty" doc:"Which version of the policy"`
	Approval  string          `json:"approval,omitempty" doc:"By which it was made, or for which it waits"`
	Grant     string          `json:"grant,omitempty" doc:"By which nobody was asked"`
	Tenant    string          `json:"tenant,omitempty" doc:"Of the caller"`
	Outcome   string          `json:"outcome" doc:"ok, tool_error (the server answered with an error), failed, cancelled, unknown (it was sent, and whether it took effect is not known), or empty while it is under way"`
	Code      string          `json:"code,omitempty" doc:"Of the hub's error; not there if the server answered"`
	Reason    string          `json:"reason,omitempty" doc:"In English"`
	Attempts  []EventAttempt  `json:"attempts,omitempty" doc:"Each time that it was sent or tried to be sent; not there if it was once and went well"`
	Cached    bool            `json:"cached,omitempty" doc:"The answer was kept from before"`
	Queued    float64         `json:"queuedMs,omitempty" doc:"How long it waited for its turn"`
	Held      float64         `json:"heldMs,omitempty" doc:"How long it waited for a person to agree to it"`
	Duration  float64         `json:"durationMs" doc:"Without the time that it was held"`
	Bytes     int             `json:"bytes" doc:"Of the answer"`
	Trace     string          `json:"trace,omitempty" doc:"W3C trace id"`
	Node      string          `json:"node" doc:"The chain that it stands in"`
	Seq       int64           `json:"seq" doc:"Of the entry that tells how it ended, or that it began"`
	Intent    int64           `json:"intent,omitempty" doc:"Of the entry that was written before it was sent"`
}

// CallList is some calls, newest first.
type CallList struct {
	Calls []CallRecord `json:"calls"`
	Next  string       `json:"next,omitempty" doc:"The cursor of those that follow, also if there are fewer here than were asked for; not there if none do"`
}

// Forms of an export.
const (
	ExportJSONL = "jsonl" // every entry, to be verified
	ExportCSV   = "csv"   // a line for each call
)

// AuditHead says where a chain of the record of calls ended at some time, signed
// by the chain's key.
type AuditHead struct {
	Node      string    `json:"node" doc:"The chain"`
	Seq       int64     `json:"seq" doc:"Of its last entry"`
	Hash      string    `json:"hash" doc:"Of its last entry"`
	Time      time.Time `json:"time"`
	Key       []byte    `json:"key" doc:"The chain's Ed25519 key, from whose digest its name is made"`
	Signature []byte    `json:"signature"`
}

// AuditReport is what a verification of the record of calls has found.
type AuditReport struct {
	OK       bool           `json:"ok" doc:"All is as it was written"`
	Chains   []AuditChain   `json:"chains"`
	Problems []AuditProblem `json:"problems" doc:"The first hundred"`
	Gaps     int            `json:"gaps,omitempty" doc:"Of an export: how often entries are left out in it, as its filter wanted"`
}

// AuditChain is what was seen of one chain.
type AuditChain struct {
	Node        string `json:"node"`
	First       int64  `json:"first"`
	Last        int64  `json:"last"`
	Entries     int64  `json:"entries"`
	Checkpoints int64  `json:"checkpoints" doc:"Signatures that are right"`
	Signed      int64  `json:"signed" doc:"The last entry that a signature covers"`
	Hash        string `json:"hash" doc:"Of the last entry"`
}

// AuditProblem is something that is not as it was written.
type AuditProblem struct {
	Node   string `json:"node,omitempty"`
	Seq    int64  `json:"seq,omitempty" doc:"Of the entry, or of the first that is concerned"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// Analysis is the figures of the calls that ended in a time.
type Analysis struct {
	Since    time.Time       `json:"since" doc:"Later than asked for if cut is true"`
	Until    time.Time       `json:"until"`
	Cut      bool            `json:"cut,omitempty" doc:"The record is too long to count all calls of one caller: those before since are left out"`
	Total    CallFigures     `json:"total"`
	Tools    []ToolFigures   `json:"tools" doc:"The most called first"`
	Slow     []ToolFigures   `json:"slow" doc:"Those with the highest p95 first"`
	Failures []CallFailure   `json:"failures" doc:"The most frequent first"`
	Servers  []ServerFigures `json:"servers" doc:"The most called first"`
	Hours    []HourlyFigures `json:"hours,omitempty" doc:"In the order of time, if asked for; hours without calls are left out"`
}

// CallFigures are what is known of some calls together.
type CallFigures struct {
	Calls    int64            `json:"calls"`
	Outcomes map[string]int64 `json:"outcomes" doc:"How many had each; those that none had are left out"`
	Cached   int64            `json:"cached" doc:"Answered with what was kept from before"`
	Bytes    int64            `json:"bytes" doc:"Of the answers"`
	Mean     float64          `json:"meanMs" doc:"Of those that were not answered from before"`
	P50      float64          `json:"p50Ms" doc:"Off by an eighth at most, as is p95Ms"`
	P95      float64          `json:"p95Ms"`
	Max      float64          `json:"maxMs"`
}

// ToolFigures are those of a tool, or of the prompts or resources of a server.
type ToolFigures struct {
	Server string  `json:"server,omitempty" doc:"Not there if the name stood for nothing"`
	Tool   string  `json:"tool,omitempty" doc:"The server's own name for it"`
	Method string  `json:"method"`
	Share  float64 `json:"share" doc:"Of all calls, from 0 to 1"`
	CallFigures
}

// ServerFigures are those of a server.
type ServerFigures struct {
	Server string  `json:"server,omitempty" doc:"Not there if the names stood for nothing"`
	Share  float64 `json:"share" doc:"Of all calls, from 0 to 1"`
	CallFigures
}

// HourlyFigures are those of an hour.
type HourlyFigures struct {
	Hour time.Time `json:"hour" doc:"Its beginning"`
	CallFigures
}

// CallFailure is how often a tool failed for one reason.
type CallFailure struct {
	Outcome string `json:"outcome" enum:"tool_error,failed,cancelled,unknown"`
	Code    string `json:"code,omitempty" doc:"Not there if the server answered with an error"`
	Class   string `json:"class,omitempty" doc:"Of the code, or outcome if the calls may have taken effect, or not"`
	Server  string `json:"server,omitempty"`
	Tool    string `json:"tool,omitempty"`
	Method  string `json:"method"`
	Calls   int64  `json:"calls"`
}

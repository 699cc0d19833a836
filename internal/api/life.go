package api

import (
	"encoding/json"
	"time"
)

// Lease keeps a server running though nobody calls it.
type Lease struct {
	Holder  string `json:"holder"`
	Tenant  string `json:"tenant,omitempty" doc:"Of the holder; not there if it is of the hub itself"`
	Subject string `json:"subject" doc:"Whose holder it is"`
	Server  string `json:"server"`
	Tool    string `json:"tool,omitempty" doc:"For which it is held, by the server's own name; empty for the server as such"`
	Count   int    `json:"count"`
}

// LeaseList is every lease, by server in the order of the configuration.
type LeaseList struct {
	Leases []Lease `json:"leases"`
}

// LeaseRequest is what a holder needs, in place of all it needed before.
type LeaseRequest struct {
	Tools []string `json:"tools" doc:"Exposed names of tools, or keys of servers"`
	TTL   string   `json:"ttl,omitempty" doc:"After which the leases end if they are not asked for again; 5m by default, at most 24h" example:"5m"`
}

// LeaseGrant is what a holder has got.
type LeaseGrant struct {
	Holder  string    `json:"holder"`
	Tools   []string  `json:"tools" doc:"Those of the request that are known"`
	Unknown []string  `json:"unknown" doc:"Those that are not"`
	Started []string  `json:"started" doc:"Keys of the servers that were not running and are being started for it"`
	Expires time.Time `json:"expires"`
}

// IndexEntry is one tool as the index knows it.
type IndexEntry struct {
	ServerID     string          `json:"server_id"`
	ToolName     string          `json:"tool_name" doc:"The server's own name"`
	Name         string          `json:"name" doc:"The exposed name, by which it is called"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"input_schema"`
	Tags         []string        `json:"tags"`
	Blocking     bool            `json:"blocking" doc:"It usually takes 2 s or more"`
	CostEstimate string          `json:"cost_estimate" enum:"low,medium,high" doc:"By how long it usually takes: less than 200 ms, less than 2 s, more"`
	LastUpdated  time.Time       `json:"last_updated"`
	Stale        bool            `json:"stale" doc:"Older than its time to live, and its server could not be asked"`
	Live         bool            `json:"live" doc:"The server has said so since the hub started"`
}

// Index is the tools that a query found, those of the server with the highest
// priority first.
type Index struct {
	Entries []IndexEntry `json:"entries"`
}

// IndexImport is what became of an index that was taken over.
type IndexImport struct {
	Servers []string `json:"servers" doc:"Whose tools were taken over"`
	Skipped []string `json:"skipped" doc:"Not in the configuration, or known better from the server itself"`
	Tools   int      `json:"tools"`
}

// Drift is how a pinned server's tools differ from what was accepted.
type Drift struct {
	Server string      `json:"server"`
	Tools  []ToolDrift `json:"tools"`
}

// ToolDrift is what changed in one tool.
type ToolDrift struct {
	Tool   string `json:"tool" doc:"The server's own name"`
	Change string `json:"change" enum:"added,changed,removed"`
	Diff   string `json:"diff" doc:"Lines of the description and schema, those that went with - and those that came with +"`
	Digest string `json:"digest" doc:"Of what there is to accept; another one as soon as the server describes the tool otherwise"`
}

// Accept says which changes of a pinned server are accepted: by name, or as they
// were seen.
type Accept struct {
	Tools   []string          `json:"tools,omitempty" doc:"The server's own names, as they are described now; all if empty"`
	Digests map[string]string `json:"digests,omitempty" doc:"In place of tools: by name, the digests that were told with their diffs. If one is another by now, nothing is accepted"`
}

// Stats is what was measured. The names of its members are those of Lumi's
// performance monitor.
type Stats struct {
	Operations map[string]Operation `json:"operations" doc:"By name; those that failed under the name with .error"`
	Resources  Resources            `json:"resources"`
	Processes  []ProcessTree        `json:"processes" doc:"Of the servers that have some, in the order of the configuration"`
}

// Operation is how long the last 100 of one kind took, in milliseconds.
type Operation struct {
	Count int     `json:"count" doc:"Of those that the figures are of: at most 100"`
	Total int64   `json:"total" doc:"Since the hub started"`
	Avg   float64 `json:"avg"`
	Min   float64 `json:"min"`
	Max   float64 `json:"max"`
	P50   float64 `json:"p50"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
}

// Resources is what the hub takes.
type Resources struct {
	TotalServers    int     `json:"total_servers"`
	RunningServers  int     `json:"running_servers"`
	ActiveProcesses int     `json:"active_processes" doc:"Of all trees"`
	EmbeddedTools   int     `json:"embedded_tools" doc:"Of built-in servers"`
	CacheSize       int     `json:"cache_size" doc:"Tools in the index"`
	Uptime          int64   `json:"uptime" doc:"Seconds"`
	Memory          int64   `json:"memory_bytes" doc:"Resident, of the hub itself"`
	CPU             float64 `json:"cpu_seconds" doc:"Of the hub itself, since it started"`
	Goroutines      int     `json:"goroutines"`
	OpenFiles       int     `json:"open_files" doc:"-1 where that cannot be told"`
}

// ProcessTree is what a server's processes take together.
type ProcessTree struct {
	Server    string  `json:"server"`
	PIDs      []int   `json:"pids" doc:"Of the leaders"`
	Processes int     `json:"processes"`
	Memory    int64   `json:"memory_bytes" doc:"Resident"`
	CPU       float64 `json:"cpu_seconds" doc:"Of those that run now"`
}

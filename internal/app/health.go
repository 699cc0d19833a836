package app

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// readiness is the body of /readyz.
type readiness struct {
	Status  string         `json:"status"`           // ready or starting
	Config  *configHealth  `json:"config,omitempty"` // only if the configuration file is not in force
	Record  *recordHealth  `json:"record,omitempty"` // only if the record of calls cannot be written, or is another hub's as well
	Servers []serverHealth `json:"servers"`
}

type configHealth struct {
	Path    string   `json:"path"`
	Reasons []string `json:"reasons"`
}

type recordHealth struct {
	Up   bool  `json:"up"`
	Lost int64 `json:"lost"` // entries that were dropped since the start

	// Only if another hub writes it as well.
	Code   message.Code `json:"code,omitempty"`
	Reason string       `json:"reason,omitempty"`
	Remedy string       `json:"remedy,omitempty"`
}

type serverHealth struct {
	Key    string       `json:"key"`
	State  hub.State    `json:"state"`
	Since  time.Time    `json:"since"`
	Tools  int          `json:"tools"`
	Code   message.Code `json:"code,omitempty"`
	Reason string       `json:"reason,omitempty"`
	Remedy string       `json:"remedy,omitempty"`
	Retry  *time.Time   `json:"retry,omitempty"`
	Junk   int64        `json:"junkLines,omitempty"`
}

// readyz answers 200 once the tools of every server are listed, be it from the
// index, or it is known why they are not; until then 503. A server that is
// down does not make the hub unready, and neither does a configuration file
// that is not in force, nor a record of calls that cannot be written: what
// changes nothing goes on.
func (a *App) readyz(w http.ResponseWriter, r *http.Request) {
	lang := a.language(r)
	body := readiness{Status: "ready", Servers: []serverHealth{}}
	status := http.StatusOK
	if src := a.control.Source(); src.Fault != nil {
		body.Config = &configHealth{Path: src.Path}
		for line := range strings.Lines(reasons(src.Fault, lang)) {
			body.Config.Reasons = append(body.Config.Reasons, strings.TrimSpace(line))
		}
	}
	m, taken := a.recording(), a.taken.Load()
	if !m.Up || taken != nil {
		body.Record = &recordHealth{Up: m.Up, Lost: m.Lost}
	}
	if taken != nil {
		text := taken.Text(lang)
		body.Record.Code, body.Record.Reason, body.Record.Remedy = taken.Code, text.What, text.Remedy
	}
	for _, st := range a.fleet.Status() {
		if st.State == hub.StateStarting && st.Reason == nil && !a.catalog.Snapshot().Listed(st.Key) {
			body.Status, status = "starting", http.StatusServiceUnavailable
		}
		h := serverHealth{Key: st.Key, State: st.State, Since: st.Since, Tools: st.Tools, Junk: st.Junk}
		if st.Reason != nil {
			text := st.Reason.Text(lang)
			h.Code, h.Reason, h.Remedy = st.Reason.Code, text.What, text.Remedy
		}
		if !st.Retry.IsZero() {
			h.Retry = &st.Retry
		}
		body.Servers = append(body.Servers, h)
	}
	writeJSON(w, status, body)
}

// reasons is why a file is not in force, a line for each reason.
func reasons(fault error, lang message.Lang) string {
	if problems, ok := errors.AsType[config.Problems](fault); ok {
		lines := make([]string, len(problems))
		for i, e := range problems {
			lines[i] = e.In(lang)
		}
		return strings.Join(lines, "\n")
	}
	return hub.AsError(fault).In(lang)
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(body) // the client may be gone
}

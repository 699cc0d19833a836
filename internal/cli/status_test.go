package cli

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/message"
)

// A record that cannot be written is told of, with what it means; one that can
// is not, but for whoever looks at everything.
func TestRecordIsLookedAt(t *testing.T) {
	const unreadable = `{"type":"urn:toolcrib:audit_unreadable","title":"It cannot be read.","status":503,"code":"audit_unreadable","detail":"It cannot be read.","remedy":"Mend it.","class":"unavailable"}`
	for name, test := range map[string]struct {
		lang           message.Lang
		record, calls  string // as the hub answers; calls "" for none
		status, doctor string
		levels         []string
	}{
		"well":    {message.English, `{"up":true,"lost":0}`, "", "", "it can be written", []string{"ok"}},
		"down":    {message.English, `{"up":false,"lost":0}`, "", "are refused", "are refused", []string{"wrong"}},
		"Chinese": {message.Chinese, `{"up":false,"lost":0}`, "", "会被拒绝", "会被拒绝", []string{"wrong"}},
		"why":     {message.English, `{"up":false,"reason":"It is full.","lost":0}`, "", "It is full.", "are refused", []string{"wrong"}},
		"lost":    {message.English, `{"up":true,"lost":7}`, "", "7 entries", "7 entries", []string{"note"}},
		"away":    {message.English, `{"up":true,"lost":0}`, unreadable, "", "It cannot be read.", []string{"wrong"}},
		"taken": {
			message.English, `{"up":true,"lost":0,"taken":{"code":"audit_node_taken","reason":"Another has it.","remedy":"Remove it."}}`, "",
			"Another has it.", "Remove it.",
			[]string{"wrong"},
		},
		"both": {message.English, `{"up":false,"lost":0}`, unreadable, "are refused", "Mend it.", []string{"wrong", "wrong"}},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				text := `{"version":"v1","record":` + test.record + `}`
				if strings.HasSuffix(r.URL.Path, "/calls") {
					text = `{"calls":[]}`
					if test.calls != "" {
						w.Header().Set("Content-Type", "application/problem+json")
						w.WriteHeader(http.StatusServiceUnavailable)
						text = test.calls
					}
				}
				_, _ = w.Write([]byte(text))
			}))
			defer srv.Close()
			s, out, _ := newTest(t, test.lang, "")
			s.URL = srv.URL
			if err := (status{}).Run(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); !strings.Contains(got, test.status) || test.status == "" && (strings.Contains(got, "ecord") || strings.Contains(got, "entries")) {
				t.Errorf("status says\n%s", got)
			}
			out.Reset()
			h, err := s.attach(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			e := &examination{session: s}
			e.record(t.Context(), h)
			var levels []string
			for _, f := range e.report.Findings {
				levels = append(levels, f.Level)
			}
			if !slices.Equal(levels, test.levels) || !strings.Contains(out.String(), test.doctor) {
				t.Errorf("the doctor finds %q:\n%s", levels, out)
			}
		})
	}
}

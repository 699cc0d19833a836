package gateway_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/gateway"
	"github.com/toolcrib/toolcrib/internal/hub"
)

// What a server has is not known before it has been asked for the first time. A
// caller that came before may ask for all of it afterwards; one that is told of no
// changes gets its first list with it, if it comes in time.
func TestUnheard(t *testing.T) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"%s","version":"1"}}}`
	for _, tt := range []struct {
		client string
		slow   time.Duration
		took   time.Duration
		has    bool
	}{
		{"hears", 3 * time.Second, 0, false},
		{"deaf", 3 * time.Second, 3 * time.Second, true},
		{"deaf", 20 * time.Second, 10 * time.Second, false},
	} {
		t.Run(tt.client+" "+tt.slow.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := start(t, &scripted{slow: tt.slow, more: `,"prompts":{}`, def: func(s *hub.Server) { s.Timeout = time.Minute }}, gateway.Options{})
				defer h.stop()
				h.catalog.SetViews(nil, []hub.Profile{{Client: "deaf", Deaf: true}})
				synctest.Wait()
				s, answer := h.begin(msg(t, hello, tt.client))
				for _, name := range []string{`"resources":{"subscribe":true`, `"prompts":{`, `"completions":{}`, `"tools":{`} {
					if !strings.Contains(text(answer), name) {
						t.Errorf("%s is missing in %s", name, text(answer))
					}
				}
				began := time.Now()
				list := text(h.Request(t.Context(), s.Caller(), msg(t, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`), &ear{}))
				if took := time.Since(began); took != tt.took || strings.Contains(list, `"s__t"`) != tt.has {
					t.Errorf("after %v: %s", took, list)
				}
				time.Sleep(time.Minute) // until the server has told
				if _, answer := h.begin(msg(t, hello, "new")); strings.Contains(text(answer), "resources") || !strings.Contains(text(answer), `"prompts"`) {
					t.Errorf("when it is known what there is: %s", text(answer))
				}
			})
		})
	}
}

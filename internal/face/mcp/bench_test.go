package mcp_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// quiet is a response that costs nothing: all but the door's own work is left
// out.
type quiet struct {
	header http.Header
	status int
	size   int
}

func (q *quiet) Header() http.Header { return q.header }

func (q *quiet) WriteHeader(status int) { q.status = status }

func (q *quiet) Write(p []byte) (int, error) {
	q.size += len(p)
	return len(p), nil
}

// BenchmarkPost is one request of a session, from the door back to it, made in
// turn by so many sessions: one that the hub answers itself, and a call of a
// built-in tool.
func BenchmarkPost(b *testing.B) {
	for name, body := range map[string]string{"ping": fmt.Sprintf(ping, "1"), "call": fmt.Sprintf(add, 1, 1)} {
		for _, sessions := range []int{1, 1000} {
			b.Run(fmt.Sprint(name, "/", sessions), func(b *testing.B) {
				h := open(b)
				ids := make([]string, sessions)
				for i := range ids {
					ids[i] = h.enter(b, "2025-11-25").session
				}
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "/mcp", strings.NewReader(body))
					if err != nil {
						b.Fatal(err)
					}
					r.Header = http.Header{
						"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
						"Mcp-Session-Id": {ids[i%sessions]}, "Mcp-Protocol-Version": {"2025-11-25"},
					}
					w := &quiet{header: http.Header{}}
					h.door.ServeHTTP(w, r)
					if w.status != http.StatusOK || w.size == 0 {
						b.Fatalf("status %d with %d bytes", w.status, w.size)
					}
				}
			})
		}
	}
}

package approval

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// BenchmarkDesk is a request, its decision and its use.
func BenchmarkDesk(b *testing.B) {
	for name, opt := range map[string]func(testing.TB) store.Options{"sqlite": storetest.SQLite, "postgres": storetest.PostgreSQL} {
		b.Run(name, func(b *testing.B) {
			c := open(b, storetest.Open(b, opt(b)), "n1")
			n := 0
			for b.Loop() {
				n++
				r := c.mustAsk(b, asking("local", fmt.Sprintf(`{"n":%d}`, n)))
				c.mustDecide(b, r.ID, approve("alice"))
				if _, err := c.Take(b.Context(), r.ID, "call"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkGranted is the look for a grant before each call.
func BenchmarkGranted(b *testing.B) {
	for _, grants := range []int{0, 1, 1000} {
		for _, members := range []bool{false, true} {
			if members && grants != 1 {
				continue
			}
			b.Run(fmt.Sprintf("%d/members=%v", grants, members), func(b *testing.B) {
				c := open(b, storetest.Open(b, storetest.SQLite(b)), "n1")
				for i := range grants {
					g := granting("local")
					if i > 0 {
						g.Tool = fmt.Sprint("t", i)
					}
					if members {
						g.Members = map[string]json.RawMessage{"path": []byte(`"/tmp/x"`)}
					}
					c.mustGrant(b, operator("alice"), g)
				}
				q := asked("local", `{"path":"/tmp/x","n":1}`)
				b.ReportAllocs()
				for b.Loop() {
					c.Granted(&q)
				}
			})
		}
	}
}

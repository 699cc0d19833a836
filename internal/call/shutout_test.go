package call

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// purse has credentials for a server until it is emptied, and no others.
type purse struct{ empty atomic.Bool }

func (p *purse) Authorization(context.Context) (string, error) {
	if p.empty.Load() {
		return "", hub.E(message.UpstreamLoginNeeded, nil, "server", "s", "issuer", "x")
	}
	return "Bearer x", nil
}

func (p *purse) Refused(context.Context, string, int, http.Header) (bool, error) {
	return false, hub.E(message.UpstreamLoginNeeded, nil, "server", "s", "issuer", "x")
}

// An agreement by which a request went out is used, also if the server answers that
// it lets nobody in: what it did with the request before that is its own affair. One
// of which no byte was written is given back.
func TestShutOutWithAnAgreement(t *testing.T) {
	t.Parallel()
	for _, empty := range []bool{false, true} {
		t.Run(fmt.Sprint(empty), func(t *testing.T) {
			t.Parallel()
			var called atomic.Int32
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				var n note
				raw, _ := io.ReadAll(req.Body)
				_ = json.Unmarshal(raw, &n)
				w.Header().Set("Content-Type", "application/json")
				switch n.Method {
				case "initialize":
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`, n.ID)
				case "tools/list":
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`, n.ID, officeTools)
				case "tools/call":
					called.Add(1)
					w.WriteHeader(http.StatusUnauthorized)
				case "":
					w.WriteHeader(http.StatusMethodNotAllowed)
				default:
					w.WriteHeader(http.StatusAccepted)
				}
			}))
			t.Cleanup(site.Close)
			p := &purse{}
			s := hub.Server{Key: "s", Kind: hub.KindHTTP, URL: site.URL, Enabled: true, Timeout: 10 * time.Second}
			o := newOfficeBy(t, p, []hub.Rule{asks("do")}, s)
			must(t, o.fleet.Start(t.Context(), "s"))
			o.settings.Approval.Hold = time.Millisecond
			res, err := o.call(t.Context(), "s__do", `{"n":1}`)
			_, _, id := told(t, res, err)
			o.decide(id, approval.Deciding{Kind: approval.Approve})
			p.empty.Store(empty)
			_, err = o.call(t.Context(), "s__do", `{"n":1}`)
			if !hub.IsCode(err, message.UpstreamLoginNeeded) || (called.Load() == 1) == empty {
				t.Fatalf("got %v after %d calls", err, called.Load())
			}
			if now := o.status(id); (now.Taken == "") != empty {
				t.Errorf("the agreement is taken by %q", now.Taken)
			}
		})
	}
}

package rest

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Any caller may hold leases; they are seen on their servers and in one list.
func TestLeases(t *testing.T) {
	h := open(t, "")
	hold := func(holder, body string) *answer {
		t.Helper()
		return h.do(ask{method: http.MethodPut, path: "/leases/" + holder, body: body})
	}
	var grant api.LeaseGrant
	before := time.Now()
	hold("voice%20%E5%90%8D%2F1", `{"tools":["calculator","datetime__get_current_time","nothing"],"ttl":"90s"}`).into(http.StatusOK, &grant)
	if grant.Holder != "voice 名/1" || !slices.Equal(grant.Tools, []string{"calculator", "datetime__get_current_time"}) ||
		!slices.Equal(grant.Unknown, []string{"nothing"}) || !slices.Equal(grant.Started, []string{"calculator", "datetime"}) {
		t.Errorf("the grant is %+v", grant)
	}
	if left := grant.Expires.Sub(before); left < 89*time.Second || left > 2*time.Minute {
		t.Errorf("it expires in %s", left)
	}
	var list api.LeaseList
	h.get("/leases").into(http.StatusOK, &list)
	want := []api.Lease{
		{Holder: "voice 名/1", Subject: "local", Server: "calculator", Count: 1},
		{Holder: "voice 名/1", Subject: "local", Server: "datetime", Tool: "get_current_time", Count: 1},
	}
	if !slices.Equal(list.Leases, want) {
		t.Errorf("the leases are %+v", list.Leases)
	}
	var server api.Server
	h.get("/servers/datetime").into(http.StatusOK, &server)
	if !slices.Equal(server.Leases, want[1:]) {
		t.Errorf("the server's are %+v", server.Leases)
	}
	hold("other", `{"tools":[]}`).into(http.StatusOK, &grant)
	if grant.Tools == nil || grant.Unknown == nil || grant.Started == nil {
		t.Errorf("the grant is %+v", grant)
	}
	for _, body := range []string{
		`{}`, `{"tools":["a"],"ttl":"soon"}`, `{"tools":["a"],"ttl":"-1s"}`, `{"tools":["a"],"ttl":"0s"}`, `{"tools":["a"],"ttl":"25h"}`, `{"tools":[""]}`,
	} {
		hold("other", body).refused(http.StatusUnprocessableEntity, message.BodyInvalid)
	}
	hold(strings.Repeat("x", 129), `{"tools":[]}`).refused(http.StatusUnprocessableEntity, message.BodyInvalid)
	release := ask{method: http.MethodDelete, path: "/leases/voice%20%E5%90%8D%2F1"}
	h.do(release).into(http.StatusNoContent, nil)
	h.do(release).refused(http.StatusNotFound, message.LeaseUnknown)
	h.get("/leases").into(http.StatusOK, &list)
	if list.Leases == nil || len(list.Leases) > 0 {
		t.Errorf("the leases are %+v", list.Leases)
	}
}

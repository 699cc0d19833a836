package apiclient

import (
	"context"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/api"
)

// ActQuery says which acts of the record are asked for. The zero value stands for
// all; what is set has to hold together. The members are those of the query of
// GET /audit/acts.
type ActQuery struct {
	ID, Operation, Server, Subject, Tenant, Door, Code string

	Outcomes     []string // any of these
	Since, Until string   // RFC 3339, or how long ago
	Limit        int      // 0 for the usual
	Cursor       string
}

// Acts lists what was done to the hub, newest first.
func (c *Client) Acts(ctx context.Context, q ActQuery) (api.ActList, error) {
	v := given(map[string]string{
		"id": q.ID, "operation": q.Operation, "server": q.Server, "subject": q.Subject, "tenant": q.Tenant, "door": q.Door, "code": q.Code,
		"outcome": strings.Join(q.Outcomes, ","), "since": q.Since, "until": q.Until, "cursor": q.Cursor,
	})
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return get[api.ActList](ctx, c, "/audit/acts", v)
}

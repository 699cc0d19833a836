package audit

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// cursor says for each chain before which entry a page begins. What is added
// meanwhile comes after it, and changes no page that follows.
type cursor map[string]int64

func (c cursor) String() string {
	var b strings.Builder
	b.WriteString("1")
	for _, node := range slices.Sorted(maps.Keys(c)) {
		b.WriteString("," + node + ":" + strconv.FormatInt(c[node], 10))
	}
	return base64.RawURLEncoding.EncodeToString([]byte(b.String()))
}

func parseCursor(text string) (cursor, error) {
	if text == "" {
		return nil, nil
	}
	unknown := hub.E(message.AuditCursorUnknown, nil)
	raw, err := base64.RawURLEncoding.DecodeString(text)
	version, rest, _ := strings.Cut(string(raw), ",")
	if err != nil || version != "1" {
		return nil, unknown
	}
	c := make(cursor)
	for pair := range strings.SplitSeq(rest, ",") {
		node, at, _ := strings.Cut(pair, ":")
		n, err := strconv.ParseInt(at, 10, 64)
		if err != nil || n < 0 || node == "" {
			return nil, unknown
		}
		c[node] = n
	}
	return c, nil
}

package wire_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/wire"
)

func TestBatch(t *testing.T) {
	deep := strings.Repeat("[", 512) + strings.Repeat("]", 512)
	for _, tc := range []struct {
		raw     string
		parts   []string
		isBatch bool
		reason  wire.Reason
	}{
		{raw: `{"jsonrpc":"2.0","method":"m"}`},
		{raw: ` {]`},
		{raw: ``},
		{raw: `"["`},
		{raw: `[{"a":1}]`, isBatch: true, parts: []string{`{"a":1}`}},
		{raw: " [ {\"a\":1} ,\n1,\"x\" , [] ] \r\n", isBatch: true, parts: []string{`{"a":1}`, "1", `"x"`, "[]"}},
		{raw: `[{"a":1,"a":2}]`, isBatch: true, parts: []string{`{"a":1,"a":2}`}},
		{raw: `[` + deep + `]`, isBatch: true, parts: []string{deep}},
		{raw: `[[` + deep + `]]`, isBatch: true, reason: wire.TooDeep},
		{raw: `[]`, isBatch: true, reason: wire.NotMessage},
		{raw: `[ ]x`, isBatch: true, reason: wire.Malformed},
		{raw: `[1,]`, isBatch: true, reason: wire.Malformed},
		{raw: `[1`, isBatch: true, reason: wire.Malformed},
		{raw: `[`, isBatch: true, reason: wire.Malformed},
		{raw: `[1]]`, isBatch: true, reason: wire.Malformed},
		{raw: "[\"\xff\"]", isBatch: true, reason: wire.NotUTF8},
		{raw: `[1` + strings.Repeat(",1", wire.MaxBatch) + `]`, isBatch: true, reason: wire.TooLarge},
		{raw: `[1` + strings.Repeat(",1", wire.MaxBatch-1) + `]`, isBatch: true, parts: slices.Repeat([]string{"1"}, wire.MaxBatch)},
		{raw: `[` + strings.Repeat(" ", 1<<20) + `]`, reason: wire.TooLarge},
	} {
		parts, isBatch, err := wire.Batch([]byte(tc.raw), wire.Limits{MaxBytes: 1 << 20, UniqueKeys: true})
		name := tc.raw[:min(60, len(tc.raw))]
		if got := reasonOf(t, err); got.Reason != tc.reason || isBatch != tc.isBatch {
			t.Errorf("%s: batch %t, %v", name, isBatch, err)
		}
		if !slices.EqualFunc(parts, tc.parts, func(part []byte, want string) bool { return string(part) == want }) {
			t.Errorf("%s: %q", name, parts)
		}
		for _, part := range parts {
			if cap(part) != len(part) {
				t.Errorf("%s: appending to a part writes into the next", name)
			}
		}
	}
}

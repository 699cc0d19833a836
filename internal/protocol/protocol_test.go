package protocol_test

import (
	"testing"

	"github.com/toolcrib/toolcrib/internal/protocol"
)

func TestNegotiate(t *testing.T) {
	for asked, want := range map[protocol.Revision]protocol.Revision{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25", "1999-01-01": "2025-11-25", "": "2025-11-25", "2030-01-01": "2025-11-25",
	} {
		if got := protocol.Negotiate(asked); got != want {
			t.Errorf("Negotiate(%q) = %q, want %q", asked, got, want)
		}
	}
}

func TestLookupMethod(t *testing.T) {
	for _, tt := range []struct {
		method         string
		legacy, modern bool
	}{
		{"initialize", true, false},
		{"ping", true, false},
		{"logging/setLevel", true, false},
		{"server/discover", false, true},
		{"subscriptions/listen", false, true},
		{"tools/list", true, true},
		{"tools/call", true, true},
		{"tools/Call", false, false},
		{"tasks/get", false, false},
	} {
		_, legacy := protocol.LookupMethod(tt.method, protocol.Legacy)
		_, modern := protocol.LookupMethod(tt.method, protocol.Modern)
		if legacy != tt.legacy || modern != tt.modern {
			t.Errorf("%s: legacy %v, modern %v", tt.method, legacy, modern)
		}
	}
}

// The modern era ties errors to HTTP statuses (2026-07-28, "Streamable HTTP").
func TestHTTPStatus(t *testing.T) {
	for code, want := range map[int][2]int{
		protocol.CodeParse: {200, 400}, protocol.CodeInvalidRequest: {200, 400},
		protocol.CodeMethodUnknown: {200, 404}, protocol.CodeInvalidParams: {200, 400},
		protocol.CodeHeaderMismatch: {200, 400}, protocol.CodeVersion: {200, 400}, protocol.CodeMissingCapability: {200, 400},
		protocol.CodeInternal: {200, 200}, 0: {200, 200}, 1234: {200, 200},
	} {
		if l, m := protocol.HTTPStatus(protocol.Legacy, code), protocol.HTTPStatus(protocol.Modern, code); l != want[0] || m != want[1] {
			t.Errorf("HTTPStatus(%d): legacy %d, modern %d; want %v", code, l, m, want)
		}
	}
}

func TestParseHello(t *testing.T) {
	h, err := protocol.ParseInitialize([]byte(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"logging":{}},"serverInfo":{"name":"x"},"instructions":"do"}`))
	if err != nil || h.Revision != protocol.Rev20250618 || !h.Capabilities.Tools || !h.Capabilities.ToolsListChanged || !h.Capabilities.Logging || h.Instructions != "do" {
		t.Errorf("%+v, %v", h, err)
	}
	h, err = protocol.ParseDiscover([]byte(`{"supportedVersions":["2025-11-25","2026-07-28","2099-01-01"],"capabilities":{"tools":{}}}`))
	if err != nil || h.Revision != protocol.Rev20260728 || !h.Capabilities.Tools || h.Capabilities.ToolsListChanged {
		t.Errorf("%+v, %v", h, err)
	}
	if h, err = protocol.ParseDiscover([]byte(`{"supportedVersions":["2025-11-25"]}`)); err != nil || h.Revision != "" {
		t.Errorf("%+v, %v", h, err)
	}
	for _, bad := range []string{`[]`, `{"protocolVersion":5}`, `{"capabilities":[]}`} {
		if _, err := protocol.ParseInitialize([]byte(bad)); err == nil {
			t.Errorf("%s was taken for an initialize result", bad)
		}
	}
}

package xiaozhi

import (
	"testing"

	"github.com/toolcrib/toolcrib/internal/wire"
)

func TestAmbiguous(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"id":1,"method":"a","more":{"ID":1,"id":2}}`: false, `{}`: false, `[{"ID":1}]`: false, `"ID"`: false,
		`{"ID":1}`: true, `{"id":1,"Id":2}`: true, `{"id":1,"id":1}`: true, `{"\u0049d":1}`: true, `{"id\u0000x":1}`: true,
		`{"other":1,"Other":2}`: true, `{"Other":2}`: false, `{"is":1}`: false, `{"param` + "\u017f" + `":{}}`: true,
	} {
		if got := Ambiguous([]byte(raw), wire.Value([]byte(raw)), "id", "method", "params"); got != want {
			t.Errorf("%s: %v", raw, got)
		}
	}
	if Ambiguous([]byte(`{}`), wire.Span{}) {
		t.Error("what is not there is ambiguous")
	}
}

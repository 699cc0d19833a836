package rest

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write api/openapi.json anew")

// TestOpenAPI holds the committed description of the API against the door.
func TestOpenAPI(t *testing.T) {
	const path = "../../../api/openapi.json"
	got := New(Options{}).OpenAPI()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("api/openapi.json is not current; run go test ./internal/face/rest -update (-committed +now)\n%s", diff)
	}
}

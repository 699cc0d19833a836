package hub_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// Whatever prints or logs a server shows nothing that may be a secret.
func TestServerIsShownByItsKey(t *testing.T) {
	s := hub.Server{
		Key: "mail", Kind: hub.KindHTTP, URL: "https://ann:planted@h/?k=planted", Args: []string{"--token=planted"},
		Env: map[string]string{"K": "planted"}, Headers: map[string]string{"Authorization": "planted"},
	}
	var shown bytes.Buffer
	for _, what := range []any{s, &s, []hub.Server{s}, map[string]hub.Server{"x": s}, struct{ Server hub.Server }{s}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			fmt.Fprintf(&shown, verb+"\n", what)
		}
		for _, h := range []slog.Handler{slog.NewTextHandler(&shown, nil), slog.NewJSONHandler(&shown, nil)} {
			slog.New(h).Info("x", "server", what)
		}
	}
	if text := shown.String(); strings.Contains(text, "planted") || strings.Count(text, "mail (http)") < 20 {
		t.Errorf("it shows %s", text)
	}
}

func TestSessionRef(t *testing.T) {
	if ref := hub.SessionRef("secret"); len(ref) != 16 || ref != hub.SessionRef("secret") || ref == hub.SessionRef("other") || hub.SessionRef("") != "" {
		t.Errorf("got %q", ref)
	}
}

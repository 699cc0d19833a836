package upstream_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// What a process was given in its environment is not told, also if the process
// itself writes it.
func TestStderrIsRedacted(t *testing.T) {
	_, err := upstream.Dial(t.Context(), upstream.Options{
		Server: hub.Server{
			Key: "s", Kind: hub.KindStdio, Command: "/bin/sh",
			Args: []string{"-c", `echo "refused: key $KEY in mode $MODE" >&2; exit 3`},
			Env:  map[string]string{"KEY": "sk-very-secret", "MODE": "fast"},
		},
		ClientInfo: []byte(`{"name":"test","version":"1"}`),
		Log:        slog.New(slog.DiscardHandler),
	})
	if !hub.IsCode(err, message.ServerExited) {
		t.Fatalf("got %v", err)
	}
	text := hub.AsError(err).Text(message.English).String()
	if strings.Contains(text, "secret") || !strings.Contains(text, "refused: key *** in mode ***") {
		t.Errorf("it says %q", text)
	}
}

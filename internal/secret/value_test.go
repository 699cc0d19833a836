package secret_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/secret"
)

// Nothing that shows a value, or what it is in, tells what it is.
func TestValueIsNotShown(t *testing.T) {
	const text = "s3cret-öl"
	v := secret.NewValue(text)
	type hidden struct{ value secret.Value }
	type open struct {
		Value secret.Value
		List  []secret.Value
		Map   map[string]secret.Value
		hidden
	}
	all := open{v, []secret.Value{v}, map[string]secret.Value{"k": v}, hidden{v}}
	var shown bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T", "%t", "%c", "%U", "%p"} {
		for _, what := range []any{v, &v, all, &all, hidden{v}, []any{v}, map[secret.Value]int{v: 1}} {
			fmt.Fprintf(&shown, verb+"\n", what)
		}
	}
	for _, h := range []slog.Handler{
		slog.NewTextHandler(&shown, &slog.HandlerOptions{Level: slog.LevelDebug}),
		slog.NewJSONHandler(&shown, &slog.HandlerOptions{Level: slog.LevelDebug}),
	} {
		slog.New(h).Debug("x", "value", v, "all", all, "pointer", &all, slog.Group("g", "v", v), "error", fmt.Errorf("it is %v", v))
	}
	for _, what := range []any{v, all, map[string]any{"v": v}} {
		b, err := json.Marshal(what)
		if err != nil {
			t.Fatal(err)
		}
		shown.Write(b)
	}
	_ = gob.NewEncoder(&shown).Encode(struct{ Value secret.Value }{v}) // that it cannot be is fine too
	for _, form := range []string{text, fmt.Sprintf("%x", text), fmt.Sprintf("%X", text), fmt.Sprintf("%d", []byte(text)), "s3cret"} {
		if strings.Contains(shown.String(), form) {
			t.Errorf("%q is shown", form)
		}
	}
	if n := strings.Count(shown.String(), "••••"); n < 40 {
		t.Errorf("that there is a secret is shown %d times", n)
	}
	if v.Reveal() != text {
		t.Errorf("reveals %q", v.Reveal())
	}
}

func TestNoValue(t *testing.T) {
	v := secret.NewValue("")
	if v != (secret.Value{}) || v.Reveal() != "" || v.String() != "" || fmt.Sprint(v) != "" {
		t.Errorf("got %q, %q", v.Reveal(), v.String())
	}
}

package cli

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"go.uber.org/goleak"

	"github.com/toolcrib/toolcrib/internal/message"
)

func TestMain(m *testing.M) {
	if os.Getenv(toolcribEnv) != "" {
		os.Exit(Main(context.Background(), os.Args[1:], System("test")))
	}
	goleak.VerifyTestMain(m)
}

// newTest returns a session without a terminal, and what it prints.
func newTest(t *testing.T, lang message.Lang, stdin string) (s *session, out, errs *bytes.Buffer) {
	t.Helper()
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	env := Env{Version: "v1", Stdin: strings.NewReader(stdin), Stdout: out, Stderr: errs, Lang: lang}
	return newSession(globals{LogFormat: "text"}, env), out, errs
}

// parse reads a command line as Main does.
func parse(t *testing.T, args ...string) (*commands, *kong.Context) {
	t.Helper()
	var c commands
	parser, err := newParser(&c, Env{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}, func(int) { t.Errorf("%q: exited", args) })
	if err != nil {
		t.Fatal(err)
	}
	k, err := parser.Parse(args)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return &c, k
}

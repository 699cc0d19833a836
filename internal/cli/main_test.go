package cli

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/toolcrib/toolcrib/internal/message"
)

// labEnv makes this program a server that has a resource and a prompt.
const labEnv = "TOOLCRIB_TEST_LAB"

func TestMain(m *testing.M) {
	if os.Getenv(labEnv) != "" {
		lab()
		return
	}
	if os.Getenv(toolcribEnv) != "" {
		os.Exit(Main(context.Background(), os.Args[1:], System("test")))
	}
	goleak.VerifyTestMain(m)
}

// lab is a server that has a resource and a prompt, and no tools.
func lab() {
	server := sdk.NewServer(&sdk.Implementation{Name: "lab", Version: "1"}, nil)
	server.AddResource(&sdk.Resource{URI: "lab://readme", Name: "readme", MIMEType: "text/plain"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{
			{URI: "lab://readme", Text: "what is in it\n"}, {URI: "lab://readme", MIMEType: "image/png", Blob: []byte("xyz")},
		}}, nil
	})
	server.AddPrompt(&sdk.Prompt{Name: "greet", Arguments: []*sdk.PromptArgument{{Name: "whom", Required: true}, {Name: "how"}}}, func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		text := "Hello " + req.Params.Arguments["whom"]
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}}}, nil
	})
	_ = server.Run(context.Background(), &sdk.StdioTransport{})
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

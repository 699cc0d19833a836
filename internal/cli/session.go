package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/internal/datadir"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Exit codes.
const (
	exitOK        = 0
	exitFailure   = 1
	exitUsage     = 2
	exitToolError = 3
	exitNoHub     = 4
)

// globals are the flags that every command has.
type globals struct {
	DataDir   string `help:"Where Toolcrib keeps what it has to remember ($$TOOLCRIB_DATA_DIR)." type:"path" placeholder:"DIR"`
	Config    string `help:"Configuration file; its usual place is printed by \"config path\" ($$TOOLCRIB_CONFIG)." type:"path" placeholder:"FILE"`
	URL       string `name:"url" help:"Ask the hub that listens there, not the one of the data directory." env:"TOOLCRIB_URL" placeholder:"URL"`
	Token     string `help:"Token for --url." env:"TOOLCRIB_TOKEN" placeholder:"TOKEN"`
	JSON      bool   `name:"json" help:"Print JSON, as the HTTP API has it." env:"TOOLCRIB_JSON"`
	Lang      string `help:"Language of texts: en or zh." enum:"en,zh," default:"" env:"TOOLCRIB_LANG" placeholder:"LANG"`
	LogLevel  string `help:"What to log: debug, info, warn or error." enum:"debug,info,warn,error," default:"" env:"TOOLCRIB_LOG_LEVEL" placeholder:"LEVEL"`
	LogFormat string `help:"How to log: text or json." enum:"text,json" default:"text" env:"TOOLCRIB_LOG_FORMAT" placeholder:"FORMAT"`
}

// session is one run of one command.
type session struct {
	globals
	env    Env // its Stdout is stdout
	stdout *output
	out    *printer

	// patience is how much longer than a call's time limit its answer is waited for:
	// it is the hub that ends the call, and knows how things stand.
	patience time.Duration
}

func newSession(g globals, env Env) *session {
	if g.Lang != "" {
		env.Lang = message.Lang(g.Lang)
	}
	stdout := &output{w: env.Stdout}
	env.Stdout = stdout
	return &session{
		globals: g, env: env, stdout: stdout, out: &printer{w: stdout, color: env.Color, width: env.Width, lang: env.Lang},
		patience: 3 * time.Second,
	}
}

// output is standard output. It remembers an error of writing, which those
// who print do not look at: a result that is not whole must not look whole.
type output struct {
	w   io.Writer
	err error
}

// Write implements [io.Writer]. After an error nothing more is written.
func (o *output) Write(b []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(b)
	o.err = err
	return n, err
}

// Close closes standard output, if it can be.
func (o *output) Close() error {
	if c, ok := o.w.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// written is err, or else the error of writing to standard output.
func (s *session) written(err error) error {
	if err == nil && s.stdout.err != nil {
		return unwritable("standard output", s.stdout.err)
	}
	return err
}

// unchecked is standard output for those to whom an error of writing is none
// of their own.
func (s *session) unchecked() io.WriteCloser { return &output{w: s.stdout.w} }

// log returns what the command, or a hub in it, logs to: standard error, from
// the level that --log-level names on, or else from usual on.
func (s *session) log(usual slog.Level) *slog.Logger { return s.logTo(s.env.Stderr, usual) }

func (s *session) logTo(w io.Writer, usual slog.Level) *slog.Logger {
	level := usual
	if s.LogLevel != "" {
		if err := level.UnmarshalText([]byte(s.LogLevel)); err != nil {
			panic(err) // the flag's enum has passed it
		}
	}
	opt := &slog.HandlerOptions{Level: level}
	if s.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, opt))
	}
	return slog.New(slog.NewTextHandler(w, opt))
}

// dataDir is the path of the data directory.
func (s *session) dataDir() (string, error) {
	if s.DataDir != "" {
		return s.DataDir, nil
	}
	path, err := datadir.Default()
	if err != nil {
		return "", hub.E(message.DataDirUnusable, err, "path", "").With("detail", message.Cause(err))
	}
	return path, nil
}

// exit is an error that has been told already, or needs no words, and only
// says with which code the program ends.
type exit int

// Error implements error.
func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// ExitCode is the code with which the program ends after err.
func ExitCode(err error) int {
	if code, ok := errors.AsType[exit](err); ok {
		return int(code)
	}
	switch {
	case err == nil:
		return exitOK
	case hub.IsCode(err, message.UsageInvalid), hub.IsCode(err, message.ArgumentInvalid), hub.IsCode(err, message.ArgumentType):
		return exitUsage
	case hub.IsCode(err, message.HubUnreachable), hub.IsCode(err, message.HubNotRunning),
		hub.IsCode(err, message.HubStartFailed), hub.IsCode(err, message.HubStillStarting):
		return exitNoHub
	}
	return exitFailure
}

// tell prints an error as a person should read it: what happened and what to
// do, and not the chain of causes unless nothing else is known.
func (s *session) tell(err error) {
	if _, told := errors.AsType[exit](err); err == nil || told {
		return
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			s.tell(one)
		}
		return
	}
	text := s.text(err)
	fmt.Fprintf(s.env.Stderr, "toolcrib: %s\n", clean(text.What))
	if text.Remedy != "" {
		fmt.Fprintf(s.env.Stderr, "          %s\n", clean(text.Remedy))
	}
	if wrong, ok := errors.AsType[*mistyped](err); ok {
		fmt.Fprintf(s.env.Stderr, "          "+s.out.say("Did you mean %s?", "是否指 %s？")+"\n", clean(wrong.meant))
	}
	// A single one is what happened.
	if refused, ok := errors.AsType[*apiclient.Error](err); ok && len(refused.Problem.Problems) > 1 {
		for _, p := range refused.Problem.Problems {
			fmt.Fprintf(s.env.Stderr, "          %d:%d: %s\n", p.Line, p.Column, clean(p.Detail))
		}
	}
}

// text is what a person is told of an error.
func (s *session) text(err error) message.Text {
	if refused, ok := errors.AsType[*apiclient.Error](err); ok {
		return refused.Text()
	}
	if errors.Is(err, context.Canceled) {
		return message.For(s.env.Lang, message.Cancelled, nil)
	}
	if e, ok := errors.AsType[*hub.Error](err); ok && e.Code != message.Internal {
		return e.Text(s.env.Lang)
	}
	return message.Text{What: err.Error()}
}

// misuse is the error of flags or arguments that do not go together.
func misuse(command, detail string) error {
	return hub.E(message.UsageInvalid, nil, "command", command).With("detail", message.Term(detail))
}

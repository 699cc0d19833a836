// Package cli is the commands of the program.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"

	"github.com/alecthomas/kong"

	"github.com/toolcrib/toolcrib/internal/app"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// Env is what the program gets from the system.
type Env struct {
	Version string
	Stdout  io.Writer
	Stderr  io.Writer
	Lang    message.Lang // of what a person is told
}

// System returns the environment of this process.
func System(version string) Env {
	lang := os.Getenv("LC_ALL")
	for _, name := range []string{"LC_MESSAGES", "LANG"} {
		if lang == "" {
			lang = os.Getenv(name)
		}
	}
	return Env{Version: version, Stdout: os.Stdout, Stderr: os.Stderr, Lang: message.FromHeader(lang)}
}

type commands struct {
	Serve   serve   `cmd:"" help:"Start the hub and serve MCP clients until it is stopped."`
	Version version `cmd:"" help:"Print the version."`
}

// Main carries out the command that args give, without the program's name, and
// returns the exit code: 0 done, 1 failed, 2 not understood. A hub ends when
// ctx does.
func Main(ctx context.Context, args []string, env Env) int {
	var c commands
	exited := -1
	parser, err := kong.New(&c,
		kong.Name("toolcrib"),
		kong.Description("One place for all MCP servers: connect each once, call their tools from everywhere."),
		kong.Writers(env.Stdout, env.Stderr),
		kong.Exit(func(code int) { exited = code }),
		kong.Vars{"listen": "127.0.0.1:8080"},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(env),
	)
	if err != nil {
		panic(err) // the commands above are wrong
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	k, err := parser.Parse(args)
	if exited >= 0 {
		return exited // --help has been printed
	}
	if err != nil {
		fmt.Fprintf(env.Stderr, "toolcrib: %v\nRun \"toolcrib --help\" for the commands.\n", err)
		return exitUsage
	}
	if err := k.Run(); err != nil {
		tell(env, err)
		return exitFailure
	}
	return exitOK
}

// tell prints an error as a person should read it: what happened and what to
// do, and not the chain of causes unless nothing else is known.
func tell(env Env, err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			tell(env, one)
		}
		return
	}
	e, ok := errors.AsType[*hub.Error](err)
	if !ok || e.Code == message.Internal {
		fmt.Fprintf(env.Stderr, "toolcrib: %v\n", err)
		return
	}
	text := e.Text(env.Lang)
	fmt.Fprintf(env.Stderr, "toolcrib: %s\n", text.What)
	if text.Remedy != "" {
		fmt.Fprintf(env.Stderr, "          %s\n", text.Remedy)
	}
}

type version struct{}

// Run prints one line.
func (version) Run(env Env) error {
	_, err := fmt.Fprintf(env.Stdout, "toolcrib %s (%s, %s/%s)\n", env.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

type serve struct {
	Config   string `help:"Configuration file with an \"mcpServers\" block. Without it, only the built-in servers." type:"path" placeholder:"FILE"`
	Listen   string `help:"Address to listen on; loopback only." default:"${listen}" placeholder:"HOST:PORT"`
	DataDir  string `help:"Where Toolcrib keeps what it has to remember." type:"path" placeholder:"DIR"`
	LogLevel string `help:"What to log: debug, info, warn or error." enum:"debug,info,warn,error" default:"info"`
}

// Run serves until ctx ends.
func (s *serve) Run(ctx context.Context, env Env) error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.LogLevel)); err != nil {
		return fmt.Errorf("--log-level: %w", err)
	}
	log := slog.New(slog.NewTextHandler(env.Stderr, &slog.HandlerOptions{Level: level}))
	cfg, err := s.load(log)
	if err != nil {
		return err
	}
	return app.Run(ctx, app.Options{
		Config: cfg, Listen: s.Listen, DataDir: s.DataDir, Version: env.Version, Log: log,
	}, func(a *app.App) {
		fmt.Fprintf(env.Stdout, "Toolcrib %s is ready. MCP: %s/mcp  Health: %s/readyz  Servers: %d  Data: %s\n",
			env.Version, a.URL(), a.URL(), len(cfg.Servers), a.DataDir())
	})
}

func (s *serve) load(log *slog.Logger) (*config.Config, error) {
	if s.Config == "" {
		return config.Default(app.Builtins()), nil
	}
	cfg, warnings, err := config.Load(s.Config, app.Builtins())
	for _, w := range warnings {
		log.Warn("configuration", "warning", w.String())
	}
	return cfg, err
}

// Package cli is the commands of the program. Each reads its flags, asks a
// hub through apiclient or does what needs none, and prints; no command has a
// rule of its own about servers or calls.
//
// A command finds the hub that holds the data directory by its local socket.
// If none does, it starts one for its own length, in which nothing starts by
// itself, so that every command works from an empty home.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/sandbox"
)

// Env is what the program gets from the system.
type Env struct {
	Version string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Lang    message.Lang // of what a person is told, unless --lang says otherwise

	Terminal bool // a person reads Stdout and types on Stdin
	Color    bool // Stdout shows colours
	Width    int  // columns of Stdout; 0 if it is no terminal

	// Hurry is closed when a person wants the end now, whatever is under way.
	// Nil is never.
	Hurry <-chan struct{}
}

// System returns the environment of this process.
func System(version string) Env {
	lang := os.Getenv("LC_ALL")
	for _, name := range []string{"LC_MESSAGES", "LANG"} {
		if lang == "" {
			lang = os.Getenv(name)
		}
	}
	e := Env{
		Version: version,
		Stdin:   os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Lang: message.FromHeader(lang),
	}
	if out := int(os.Stdout.Fd()); term.IsTerminal(out) {
		e.Terminal = term.IsTerminal(int(os.Stdin.Fd()))
		// https://no-color.org
		e.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		if w, _, err := term.GetSize(out); err == nil {
			e.Width = w
		}
	}
	return e
}

type commands struct {
	Server   serverCommands   `cmd:"" group:"server" help:"The servers: list, show, add, remove, start, stop, log and more."`
	Tool     toolCommands     `cmd:"" group:"server" help:"The tools: list, show."`
	Call     call             `cmd:"" group:"server" help:"Call a tool."`
	Resource resourceCommands `cmd:"" group:"server" help:"The resources: list, read."`
	Prompt   promptCommands   `cmd:"" group:"server" help:"The prompts: list, get."`
	Group    groupCommands    `cmd:"" group:"server" help:"Groups, which are parts of what there is at addresses of their own: list, show, set, remove."`
	Index    indexCommands    `cmd:"" group:"server" help:"The tool index: list by tag, export, import."`
	Lease    leaseCommands    `cmd:"" group:"server" help:"Keep servers running: hold, list, release."`
	Import   importFile       `cmd:"" group:"server" help:"Take over the servers of another program's file."`
	Connect  connect          `cmd:"" group:"server" help:"Enter Toolcrib in the file of an MCP client."`

	Xiaozhi xiaozhiCommands `cmd:"" group:"voice" help:"Voice assistants: endpoints at which Toolcrib is an MCP server, backends to which it is a device."`
	Device  deviceCommands  `cmd:"" group:"voice" help:"Devices that dial in: list, show, token, log, call."`

	Approval approvalCommands `cmd:"" group:"rules" help:"Calls that wait for somebody to agree: list, show, approve, reject, edit, cancel."`
	Grant    grantCommands    `cmd:"" group:"rules" help:"Agreements that stand: list, add, preview, revoke."`
	Policy   policyCommands   `cmd:"" group:"rules" help:"The rules that calls are judged by: show, judge, test."`

	Serve  serve         `cmd:"" group:"hub" help:"Start the hub and serve MCP clients until it is stopped."`
	Stdio  stdio         `cmd:"" group:"hub" help:"Serve one MCP client on standard input and output; for clients that start a program."`
	Status status        `cmd:"" group:"hub" help:"Show how the hub is."`
	Top    top           `cmd:"" group:"hub" help:"Show what servers do and take, again and again."`
	Calls  callsCommands `cmd:"" group:"hub" help:"The record of calls: list, show, top."`
	Audit  auditCommands `cmd:"" group:"hub" help:"Prove what is in the record of calls: verify, head, acts, export."`
	State  stateCommands `cmd:"" group:"hub" help:"What callers' sessions show of their calls: show, retry, clear."`
	Events followEvents  `cmd:"" group:"hub" help:"Show what happens in the hub, as it happens."`
	Doctor doctor        `cmd:"" group:"hub" help:"Look for what is wrong, and say what to do about it."`
	Stop   stop          `cmd:"" group:"hub" help:"Stop the hub that is running."`

	Config     configCommands `cmd:"" group:"files" help:"The configuration file: path, check, schema, show, reload."`
	Secret     secretCommands `cmd:"" group:"files" help:"Sealed values that the configuration refers to as $${secret:NAME}."`
	Token      tokenCommands  `cmd:"" group:"files" help:"Who may come in: API tokens, and where the administrator's token is."`
	Tenant     tenantCommands `cmd:"" group:"files" help:"Tenants, who see nothing of each other: list, add, remove."`
	Backup     backup         `cmd:"" group:"files" help:"Save the configuration, the data directory and the database into one file."`
	Restore    restore        `cmd:"" group:"files" help:"Put a backup back in place, while no hub runs."`
	Completion completion     `cmd:"" group:"files" help:"Print the script that completes commands in a shell."`
	Version    version        `cmd:"" group:"files" help:"Print the version."`

	globals `group:"common"`
}

const exitCodes = `Exit codes:
  0  done
  1  failed
  2  the command was not understood
  3  the tool reported an error
  4  no hub could be reached`

// Main carries out the command that args give, without the program's name, and
// returns the exit code: 0 done, 1 failed, 2 not understood, 3 the tool
// reported an error, 4 no hub could be reached. A hub ends when ctx does.
func Main(ctx context.Context, args []string, env Env) int {
	// Before all else: this process may only be here to become another one.
	if handled, code := sandbox.Launch(args); handled {
		return code
	}
	var c commands
	exited := -1
	parser, err := newParser(&c, env, func(code int) { exited = code })
	if err != nil {
		panic(err) // the commands above are wrong
	}
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case args[0] == completeWord:
		printCandidates(ctx, parser, env, args[1:])
		return exitOK
	}
	k, err := parser.Parse(args)
	if exited >= 0 {
		return exited // --help has been printed
	}
	if err != nil {
		fmt.Fprintf(env.Stderr, "toolcrib: %v\n%s\n", err, hint(args))
		return exitUsage
	}
	s := newSession(c.globals, env)
	k.BindTo(ctx, (*context.Context)(nil))
	err = s.written(k.Run(s))
	s.tell(err)
	return ExitCode(err)
}

// hint is what to do about a command that was not understood.
func hint(args []string) string {
	if len(args) > 1 && args[0] == "server" && args[1] == "add" && !slices.Contains(args, "--") {
		return `A command stands behind "--": toolcrib server add KEY -- COMMAND ARGS...`
	}
	return `Run "toolcrib --help" for the commands.`
}

func newParser(c *commands, env Env, exit func(int)) (*kong.Kong, error) {
	return kong.New(c,
		kong.Name("toolcrib"),
		kong.Description("One place for all MCP servers: connect each once, call their tools from everywhere."),
		kong.Writers(env.Stdout, env.Stderr),
		kong.Exit(exit),
		kong.Vars{
			"listen":      defaultListen,
			"clients":     strings.Join(clientNames(false), ", "),
			"connectable": strings.Join(clientNames(true), ", "),
		},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.ExplicitGroups([]kong.Group{
			{Key: "server", Title: "Servers and tools:"},
			{Key: "voice", Title: "Voice assistants and devices:"},
			{Key: "hub", Title: "The hub:"},
			{Key: "rules", Title: "Who must say yes:"},
			{Key: "files", Title: "Files and the rest:"},
			{Key: "common", Title: "Flags of every command:"},
		}),
		kong.Help(func(o kong.HelpOptions, ctx *kong.Context) error {
			if err := kong.DefaultHelpPrinter(o, ctx); err != nil {
				return err
			}
			if ctx.Selected() == nil {
				fmt.Fprintf(ctx.Stdout, "\n%s\n", exitCodes)
			}
			return nil
		}),
	)
}

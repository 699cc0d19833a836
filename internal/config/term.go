package config

import (
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// term is a member of a server's entry that has a meaning: how it is read, and
// what the schema of the file says about it.
type term struct {
	name string
	doc  string // for people, in Markdown; that of other programs' words is made of what follows

	schema func() *jsonschema.Schema
	read   func(*entry, member) // nil: it has no effect

	// Of a word that other programs' files have.
	like  string // the member of ours that it stands for
	whose string // the programs
	adds  bool   // it adds to what like says; otherwise an entry has only one of them
	note  string // why it has no effect, if its writer has to know
}

// serverTerms is every term, ours first, in the order in which they are
// explained.
func serverTerms() []term {
	return append(ownTerms(), foreignTerms()...)
}

func ownTerms() []term {
	return []term{
		{
			name: "command", schema: textSchema, read: (*entry).readCommand,
			doc: "The program to run: a name that is looked up in the PATH, or a path. An address here (http://, https://, ws://, wss://) is taken as `url`.",
		},
		{
			name: "args", schema: listSchema, read: (*entry).readArgs,
			doc: "Arguments of the program, passed on as they are; no shell is involved.",
		},
		{
			name: "env", schema: mapSchema, read: (*entry).readEnv,
			doc: "Environment variables of the program, besides the few that every program gets.",
		},
		{
			name: "envFile", schema: textSchema, read: (*entry).readEnvFile,
			doc: "A file with more environment variables, a line `NAME=value` each. It is read at each start; `env` wins.",
		},
		{
			name: "cwd", schema: textSchema, read: (*entry).readDir,
			doc: "Working directory of the program; a relative one is within the project that the configuration file belongs to. By default that of Toolcrib.",
		},
		{
			name: "url", schema: textSchema, read: (*entry).readURL,
			doc: "The MCP endpoint of a remote server, in place of `command`: http://, https://, ws:// or wss://.",
		},
		{
			name: "type", schema: typeSchema, read: (*entry).readType,
			doc: "How the server is reached. By default `stdio` with `command`; with `url`, `ws` for ws:// and wss://, `sse` for a path that ends in /sse, else `http`. " +
				"`embedded` only changes the settings of the built-in server with the entry's key.",
		},
		{
			name: "headers", schema: mapSchema, read: (*entry).readHeaders,
			doc: "HTTP headers that are sent to `url` with every request.",
		},
		{
			name: "apiKey", schema: textSchema, read: (*entry).readAPIKey,
			doc: "Sent to `url` as `Authorization: Bearer <apiKey>`, unless `headers` has an Authorization of its own.",
		},
		{
			name: "oauth", schema: oauthSchema, read: (*entry).readOAuth,
			doc: "How Toolcrib logs in at a remote server. It need not be there: a server that asks for a login by OAuth is offered one. `false`: never.",
		},
		{
			name: "name", schema: textSchema, read: (*entry).readName,
			doc: "Name for people. By default the server's key.",
		},
		{
			name: "enabled", schema: onSchema, read: (*entry).readEnabled,
			doc: "false: the server is not listed and never started.",
		},
		{
			name: "disabled", schema: offSchema, read: (*entry).readDisabled,
			doc: "The opposite of `enabled`.",
		},
		{
			name: "autoStart", schema: offSchema, read: (*entry).readAutoStart,
			doc: "true: the server is started with Toolcrib and kept running. By default the first call starts it; one whose tools are not known yet is started once to learn them. Built-in servers always run unless this is false.",
		},
		{
			name: "preload", schema: offSchema, read: (*entry).readPreload,
			doc: "true: the server is started with Toolcrib, so that the first call finds it running, and ends after `cleanupInterval` like others.",
		},
		{
			name: "cleanupInterval", schema: intervalSchema(`"5m"`), read: (*entry).readIdleStop,
			doc: "After how long without a call and without a lease the server is ended, until it is needed again: whole milliseconds, or a text such as \"10m\"; at most 24h; 0 or \"off\" for never.",
		},
		{
			name: "instances", schema: instancesSchema, read: (*entry).readInstances,
			doc: "How many processes or connections of the server there may be at once: a number, or an object with `min`, `max` and `queue`. More than one makes calls run side by side that the server would carry out one after another.",
		},
		{
			name: "autoRestart", schema: onSchema, read: (*entry).readAutoRestart,
			doc: "false: a program that ended by itself is not started again until a person does.",
		},
		{
			name: "autoReconnect", schema: onSchema, read: (*entry).readAutoReconnect,
			doc: "false: a remote server that was lost is not tried again until a person does.",
		},
		{
			name: "maxReconnectAttempts", schema: countSchema(0, maxReconnects, "0"), read: (*entry).readReconnects,
			doc: "After how many failed attempts in a row a remote server is given up until a person starts it; 0 for never.",
		},
		{
			name: "healthCheckInterval", schema: intervalSchema(`"30s"`), read: (*entry).readHealthInterval,
			doc: "How often a server that is connected and says nothing by itself is asked whether it is well: whole milliseconds, or a text such as \"1m\"; at most 24h; 0 or \"off\" for never. A check never starts a server, and none is made while a call is under way.",
		},
		{
			name: "healthCheckTimeout", schema: spanSchema(`"10s"`), read: (*entry).readHealthTimeout,
			doc: "How long the answer to a health check may take.",
		},
		{
			name: "healthCheckMisses", schema: countSchema(1, maxMisses, "3"), read: (*entry).readMisses,
			doc: "How many health checks in a row without an answer make the server degraded; after as many more it is connected anew.",
		},
		{
			name: "healthCheckPath", schema: pathSchema, read: (*entry).readHealthPath,
			doc: "A path such as `/health` on the host of `url`: a GET of it is then the health check of a remote server, in place of a request in MCP.",
		},
		{
			name: "circuitBreaker", schema: breakerSchema, read: (*entry).readBreaker,
			doc: "After how many calls in a row that got no answer calls are refused at once (`failures`, 5), and after how long one is let through to try (`cooldown`, \"30s\"); false for never. An answer that reports an error is an answer.",
		},
		{
			name: "limits", schema: limitsSchema, read: (*entry).readLimits,
			doc: "What the program's processes may take.",
		},
		{
			name: "sandbox", schema: sandboxSchema, read: (*entry).readSandbox,
			doc: "Confines the program, on Linux: files and TCP ports are out of its reach unless they are named here or every program needs them to run. Without this, or with false, it is not confined. Where it cannot be confined, it is not started.",
		},
		{
			name: "directNode", schema: offSchema, read: (*entry).readDirectNode,
			doc: "true: once npx has installed the package, the server is started by node without npx, which is faster and needs less memory.",
		},
		{
			name: "cacheTTL", schema: intervalSchema(`"5m"`), read: (*entry).readListTTL,
			doc: "At what age the list of tools of a running server that announces no changes is asked for again: whole milliseconds, or a text such as \"5m\"; at most 24h; 0 or \"off\" for never.",
		},
		{
			name: "pinned", schema: offSchema, read: (*entry).readPinned,
			doc: "true: a tool whose description or parameters are not those that were accepted is not offered until a person accepts them.",
		},
		{
			name: "timeout", schema: timeoutSchema, read: (*entry).readTimeout,
			doc: "How long a call may take, the server's start and further tries included: whole milliseconds, or a text such as \"90s\" or \"2m\"; at most 24h.",
		},
		{
			name: "retries", schema: countSchema(0, maxRetries, "2"), read: (*entry).readRetries,
			doc: "How often a call that failed is tried again, if it certainly cannot take effect twice.",
		},
		{
			name: "retryDelay", schema: spanSchema(`"2s"`), read: (*entry).readRetryDelay,
			doc: "After how long it is tried again the first time; before each further time twice as long. Whole milliseconds, or a text such as \"500ms\"; 0 for at once.",
		},
		{
			name: "maxRetryDelay", schema: spanSchema(`"30s"`), read: (*entry).readMaxRetryDelay,
			doc: "How long that is at most.",
		},
		{
			name: "retryJitter", schema: shareSchema("0"), read: (*entry).readRetryJitter,
			doc: "Which share of that is left to chance, from 0 to 1, so that not all callers try again at the same moment.",
		},
		{
			name: "callLimits", schema: gateSchema, read: (*entry).readCallLimits,
			doc: "How many calls the server gets at once, and in a time. What is more waits, or is refused.",
		},
		{
			name: "toolCache", schema: intervalSchema(`"off"`), read: (*entry).readToolCache,
			doc: "How long results of tools that only read are kept, if the server itself does not say how long they may be: whole milliseconds, or a text such as \"1m\"; at most 24h; 0 or \"off\" for not at all.",
		},
		{
			name: "validate", schema: onSchema, read: (*entry).readValidate,
			doc: "false: arguments are sent also if they do not fit the tool's `inputSchema`.",
		},
		{
			name: "pool", schema: poolSchema, read: (*entry).readPool,
			doc: "Servers of one pool have the same tools: these are listed once, as `POOL__TOOL`, and each call goes to the member that has the least to do.",
		},
		{
			name: "priority", schema: prioritySchema, read: (*entry).readPriority,
			doc: "Higher is listed first, and is meant when a call uses a name that several servers have. By default 100 for built-in servers, 50 for remote ones, 10 for programs.",
		},
		{
			name: "tools", schema: listSchema, read: (*entry).readTools,
			doc: "The tools that are offered, by the server's own names. By default, and if it is empty or has `*`, all are.",
		},
		{
			name: "denyTools", schema: listSchema, read: (*entry).readDenyTools, adds: true,
			doc: "Tools that are not offered, whatever `tools` says.",
		},
		{
			name: "toolOverrides", schema: overridesSchema, read: (*entry).readOverrides,
			doc: "What holds for single tools in place of what the server says and of what holds for the server, by the server's own names.",
		},
		{
			name: "bareNames", schema: offSchema, read: (*entry).readBareNames,
			doc: "true: the tools are offered under their own names, without `server__`.",
		},
		{
			name: "resources", schema: resourcesSchema, read: (*entry).readResources,
			doc: "`prefixed`: resources are offered under URIs with the server's key.",
		},
		{
			name: "connection", schema: connectionSchema, read: (*entry).readConnection,
			doc: "Whose the connections to the server are. `shared`: one for all callers. `perCaller`: one for each caller that can be asked something. `auto`: shared until the server asks a caller something, and from then on as `perCaller`.",
		},
		{
			name: "maxCallers", schema: countSchema(1, maxCallers, "64"), read: (*entry).readMaxCallers,
			doc: "How many callers may have connections of their own to the server at once.",
		},
		{
			name: "resourceCache", schema: intervalSchema(`"off"`), read: (*entry).readResourceCache,
			doc: "How long a resource that was read is kept, if the server itself does not say how long it may be: whole milliseconds, or a text such as \"1m\"; at most 24h; 0 or \"off\" for not at all.",
		},
		{
			name: "spill", schema: spillSchema, read: (*entry).readSpill,
			doc: "From which size on a tool's result is kept in Toolcrib, and links to its pages are given instead: a text such as \"256KiB\", or a number of bytes; 0 or \"off\" for never.",
		},
		{
			name: "tenants", schema: wordsSchema, read: (*entry).readTenants,
			doc: "Whose the server is: names of tenants, or `*` for everybody. By default it belongs to Toolcrib itself, and no tenant sees it.",
		},
		{
			name: "trusted", schema: offSchema, read: (*entry).readTrusted,
			doc: "true: what the server's tools say about themselves is believed also where it makes them look harmless, such as that they only read.",
		},
		{
			name: "tags", schema: wordsSchema, read: (*entry).readTags,
			doc: "Words that rules can name the server by, such as `internal`.",
		},
		{
			name: "simulated", schema: offSchema, read: (*entry).readSimulated,
			doc: "true: a built-in server only pretends, and says so. Of built-in servers only.",
		},
	}
}

// foreignTerms are the words of other programs' files: those that stand for
// one of ours, and those that have no effect here but are no mistake either.
func foreignTerms() []term {
	return []term{
		{name: "transport", like: "type", whose: "Lumi and LibreChat", adds: true, read: (*entry).readTransport},
		{name: "transportType", like: "type", whose: "Cline", adds: true, read: (*entry).readTransport},
		{name: "serverUrl", like: "url", whose: "Windsurf", read: (*entry).readURL},
		{name: "httpUrl", like: "url", whose: "Gemini CLI", read: (*entry).readURL},
		{name: "health_check_path", like: "healthCheckPath", whose: "UI Config", read: (*entry).readHealthPath},
		{name: "maxRetries", like: "retries", whose: "Lumi", read: (*entry).readRetries},
		{name: "environment", like: "env", whose: "opencode", read: (*entry).readEnv},
		{name: "isActive", like: "enabled", whose: "Cherry Studio", read: (*entry).readEnabled},
		{name: "includeTools", like: "tools", whose: "Gemini CLI", read: (*entry).readTools},
		{name: "excludeTools", like: "denyTools", whose: "Gemini CLI", adds: true, read: (*entry).readDenyTools},
		{name: "disabledTools", like: "denyTools", whose: "Roo Code and Kiro", adds: true, read: (*entry).readDenyTools},

		{name: "id", whose: "mcp_server.json, where it is the server's key"},
		{name: "source", whose: "Zed"},
		{name: "description", whose: "several programs, for people"},
		{name: "autoApprove", whose: "Cline and Kiro, which ask before a call"},
		{name: "alwaysAllow", whose: "Roo Code, which asks before a call"},
		{name: "trust", whose: "Gemini CLI, which asks before a call"},
		{name: "watchPaths", whose: "Roo Code"},
		{name: "dev", whose: "VS Code, to work on a server"},
		{name: "gallery", whose: "VS Code"},
		{name: "version", whose: "VS Code"},
		{name: "initTimeout", whose: "LibreChat"},
		{name: "iconPath", whose: "LibreChat"},
		{name: "chatMenu", whose: "LibreChat"},
		{name: "serverInstructions", whose: "LibreChat"},
		{name: "auth", like: "oauth", whose: "Cursor and FastMCP", read: (*entry).readOAuth},
		{name: "authProviderType", whose: "Gemini CLI", note: "how to log in is found out from the server"},
		{name: "headersHelper", whose: "Claude Code", note: "this version runs no program to get headers"},
		{name: "settings", whose: "Zed", note: "only Zed's extensions read it"},
	}
}

// description is what the schema says about the term.
func (t term) description() string {
	switch {
	case t.whose == "":
		return t.doc
	case t.like != "":
		return fmt.Sprintf("The same as `%s`, in files of %s.", t.like, t.whose)
	}
	return fmt.Sprintf("No effect here; it is in files of %s.", t.whose)
}

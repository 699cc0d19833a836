package risk

import (
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// interpreter judges shells and the interpreters of programming languages.
func (s *shell) interpreter(program string, rest []arg) bool {
	name := strings.TrimRight(program, "0123456789.")
	var code, valued string // options that are followed by a program, and by something else
	switch name {
	case "sh", "bash", "zsh", "dash", "ash", "ksh", "fish", "rbash", "csh", "tcsh":
		return s.subshell(rest)
	case "powershell", "pwsh", "cmd":
		return s.windowsShell(name, rest)
	case "python", "pypy", "ipython":
		code, valued = "-c", "-W -X"
	case "node", "nodejs", "bun", "deno":
		code, valued = "-e --eval -p --print -pe", "-r --require"
		if (name == "deno" || name == "bun") && len(rest) > 0 {
			if rest[0].text == "eval" && len(rest) > 1 {
				s.program(rest[1])
				return true
			}
			return s.tool("npm", append([]arg{{"npm", true}}, rest...))
		}
	case "perl":
		code = "-e -E -ne -pe -lne -lpe -nE -pE -le -ane -lane -nle -wne -we -0777ne -0777pe -Mstrict"
		if hasLetter(rest, "i") && hasPrefix(rest, "-i") || has(rest, "-pi", "-pie", "-ni") || hasPrefix(rest, "-pi") {
			s.f.add(hub.RiskHigh, "write", "\"%s\" changes something", "perl -i")
		}
	case "ruby":
		code = "-e -ne -pe -rjson"
	case "php":
		code = "-r"
	case "lua", "luajit", "Rscript", "R", "julia", "groovy", "scala", "swift", "elixir", "erl", "tclsh", "gjs", "osascript", "irb", "jshell", "guile", "sbcl":
		code = "-e --eval -eval"
	case "java":
		if has(rest, "-version", "--version") {
			return true
		}
		s.f.add(hub.RiskHigh, "execute", "it runs the program \"%s\", of which nothing is known", "java")
		return true
	default:
		return false
	}
	if name == "osascript" {
		s.f.add(hub.RiskHigh, "execute", "it opens something in a program")
	}
	for i, a := range rest {
		switch {
		case hasField(code, a.text) && i+1 < len(rest):
			s.program(rest[i+1])
			return true
		case a.text == "-m" && name == "python":
			return s.module(rest[i+1:])
		case len(rest) == 1 && has(rest, "--version", "-V", "-v", "-h", "--help", "-version"):
			return true
		case name == "php" && has(rest, "-l", "-i", "-m"), name == "node" && has(rest, "--check", "-c"), name == "perl" && a.text == "-c", name == "ruby" && a.text == "-c":
			return true
		case name == "node" && a.text == "--test":
			s.f.add(hub.RiskMedium, "", "\"%s\" adds something, or asks the network", "node --test")
			return true
		}
	}
	words := skipAll(rest, valued)
	if len(words) > 0 && words[0].text != "-" && words[0].text != "/dev/stdin" {
		s.f.add(hub.RiskHigh, "execute", "it runs the program \"%s\", of which nothing is known", shorten(words[0].text))
		return true
	}
	s.listens(s.program)
	return true
}

// listens judges a program that is read from where input comes from.
func (s *shell) listens(judge func(arg)) {
	switch {
	case s.fed && s.known:
		judge(arg{s.heard, true})
	case s.fed:
		s.f.add(hub.RiskCritical, "execute", "it runs as a program what another command gives it")
	default:
		s.f.add(hub.RiskHigh, "execute", "it opens a session that goes on")
	}
}

// subshell judges what a shell is told to run.
func (s *shell) subshell(rest []arg) bool {
	for i, a := range rest {
		if !a.flag() {
			break
		}
		if a.text[1] != '-' && strings.Contains(a.text, "c") && i+1 < len(rest) {
			next := rest[i+1]
			for j := i + 1; j < len(rest) && rest[j].flag(); j++ {
				next = rest[min(j+1, len(rest)-1)]
			}
			if !next.fixed {
				s.f.hide(hub.RiskHigh, "execute", "what is run is put together only when it is run")
			}
			s.inner(next.text)
			return true
		}
		if a.text == "--version" || a.text == "--help" || a.text == "-n" {
			return true
		}
	}
	words := skipAll(rest, "-o -O --rcfile --init-file")
	if len(words) > 0 && !has(rest, "-s") && words[0].text != "-" && words[0].text != "/dev/stdin" {
		s.f.add(hub.RiskHigh, "execute", "it runs the program \"%s\", of which nothing is known", shorten(words[0].text))
		return true
	}
	s.listens(func(a arg) { s.inner(a.text) })
	return true
}

// module judges what Python runs by the name of a module.
func (s *shell) module(rest []arg) bool {
	if len(rest) == 0 {
		return true
	}
	switch rest[0].text {
	case "json.tool", "calendar", "this", "platform", "site", "sysconfig", "tokenize", "ast", "dis", "timeit", "pydoc", "tabnanny", "antigravity":
		s.reading("python", rest)
	case "pytest", "unittest", "doctest", "py_compile", "compileall", "mypy", "flake8", "black", "ruff", "pylint", "coverage", "isort", "tox", "nox",
		"build", "venv", "virtualenv", "cProfile", "trace", "sphinx", "pyright", "bandit":
		s.f.add(hub.RiskMedium, "", "\"%s\" adds something, or asks the network", "python -m "+rest[0].text)
	case "pip":
		return s.tool("pip", rest)
	default:
		s.f.add(hub.RiskHigh, "execute", "it runs the program \"%s\", of which nothing is known", "python -m "+shorten(rest[0].text))
	}
	return true
}

// program judges a program that stands in a command.
func (s *shell) program(a arg) {
	if !a.fixed && !strings.Contains(a.text, " ") {
		s.f.hide(hub.RiskHigh, "execute", "what is run is put together only when it is run")
	}
	judgeCode(s.f, a.text)
}

// judgeCode judges a short program of a language that is not known. One that
// names nothing but what computes and prints is of medium risk; what is not known
// is not taken for harmless.
func judgeCode(f *findings, text string) {
	const short = 2000
	lower := strings.ToLower(text)
	for _, group := range codeWords {
		for _, word := range group.words {
			if isMode(word) && !strings.Contains(lower, "open") {
				continue // no file is opened by it
			}
			if strings.Contains(lower, word) {
				f.add(group.risk, group.tag, "the program says \"%s\"", word)
			}
		}
	}
	for rest := text; ; { // quoted paths
		at := strings.IndexAny(rest, `'"`)
		if at < 0 {
			break
		}
		quote := rest[at]
		rest = rest[at+1:]
		end := strings.IndexByte(rest, quote)
		if end < 0 {
			break
		}
		judgePath(f, rest[:end], false, nil, looksLikePath(rest[:end]))
		judgeURL(f, rest[:end], false)
		rest = rest[end+1:]
	}
	switch {
	case len(text) > short:
		f.hide(hub.RiskHigh, "execute", "what it is to carry out is too long to be judged")
	case f.risk < hub.RiskHigh && !importsKnown(lower):
		f.add(hub.RiskHigh, "execute", "the program uses what is not known here")
	default:
		f.add(hub.RiskMedium, "execute", "it runs a short program")
	}
}

// isMode reports whether a word is how a file is opened.
func isMode(word string) bool {
	letters := strings.Trim(word, "'\"")
	return len(letters) < len(word) && len(letters) <= 2 && strings.Trim(letters, "wax+b") == ""
}

// codeWords are what in a program reaches beyond it.
var codeWords = []struct {
	risk  hub.Risk
	tag   string
	words []string
}{
	{hub.RiskCritical, "execute", []string{
		"os.system", "subprocess", "popen", "child_process", "execsync", "spawn", "os.exec", "exec(", "exec ", "eval(", "eval (", "system(", "system ", "__import__",
		"importlib", "compile(", "shell_exec", "passthru", "proc_open", "qx", "`", "ctypes", "pty.", "runtime.getruntime", "processbuilder",
		"kernel.", "%x", "invoke-expression", "do shell script", "os.execute", "io.popen", "function(", "new function", "vm.run", "process.binding",
		"getattr(", "__builtins__", "__subclasses__", "globals(", "pickle", "marshal", "base64_decode", "b64decode", "codecs.", "fromcharcode",
	}},
	{hub.RiskCritical, "destroy", []string{
		"unlink", "rmtree", "rmdir", "os.remove", "remove(", "rmsync", "fs.rm", "removedirs", "file.delete", "fileutils", "shutil", "truncate", "os.kill", "delete(", "send2trash", "killpg", "process.kill",
	}},
	{hub.RiskHigh, "write", []string{
		"fs.", "write_text", "write_bytes", ".write(", "'w'", "\"w\"", "'a'", "\"a\"", "'wb'", "\"wb\"", "'w+'", "\"w+\"", "'x'", "file_put_contents", "fwrite", "os.rename", "chmod", "chown",
		"mkdir", "makedirs", "symlink", "rename(", "touch(", "file.write", "writefile", "io.open", "open(my", "os.environ[", "putenv", "createwritestream", "'>", "\">", ">>",
	}},
	{hub.RiskHigh, "network", []string{
		"socket", "urllib", "requests", "http.", "https.", "'http'", "'https'", "\"http\"", "\"https\"", "fetch(", "net.", "'net'", "ftplib", "smtplib", "paramiko", "telnetlib", "xmlhttprequest", "lwp", "open-uri", "net::", "httpx", "aiohttp", "curl", "webbrowser", "dgram", "websocket", "file_get_contents(\"http", "file_get_contents('http",
	}},
	{hub.RiskHigh, "secret", []string{"os.environ", "process.env", "getenv", "%env", "$env"}},
	{hub.RiskHigh, "execute", []string{"fork", "while true", "while(1)", "while 1", "signal.", "require(\"fs", "require('fs", "import fs", "os.nice", "os.dup", "sys.modules", "builtins", "\\x", "atob(", "input("}},
}

// importsKnown reports whether a program takes in only modules that compute.
func importsKnown(lower string) bool {
	for statement := range strings.FieldsFuncSeq(lower, func(r rune) bool { return r == ';' || r == '\n' }) {
		statement = strings.TrimSpace(statement)
		var names string
		switch {
		case strings.HasPrefix(statement, "import "):
			names = statement[len("import "):]
			if _, from, ok := strings.Cut(names, " from "); ok {
				names = strings.Trim(from, `'" `)
			}
		case strings.HasPrefix(statement, "from "):
			names, _, _ = strings.Cut(statement[len("from "):], " import")
		default:
			continue
		}
		for name := range strings.SplitSeq(names, ",") {
			name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
			name, _, _ = strings.Cut(name, ".")
			if !pureModules[name] {
				return false
			}
		}
	}
	for rest := lower; ; {
		_, after, found := strings.Cut(rest, "require(")
		if !found {
			return true
		}
		rest = after
		name := strings.Trim(after[:max(0, strings.IndexByte(after, ')'))], `'"`)
		if !pureModules[strings.TrimPrefix(name, "node:")] && !strings.HasSuffix(name, "package.json") {
			return false
		}
	}
}

var pureModules = fields(`json sys math datetime time re random string itertools collections functools statistics decimal fractions textwrap
	platform hashlib uuid base64 csv pprint calendar operator numbers cmath bisect heapq typing enum dataclasses copy locale zlib binascii
	unicodedata difflib struct secrets timeit numpy pandas scipy sympy torch tensorflow sklearn matplotlib django flask fastapi yaml toml tomllib
	configparser html xml ast inspect keyword types abc contextlib warnings traceback sysconfig site ipaddress colorsys zoneinfo pathlib os
	path util url querystring assert events buffer punycode string_decoder crypto perf_hooks v8 lodash`)

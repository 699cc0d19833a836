package risk

import (
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// command judges one command by its words, of which there is at least one.
func (s *shell) command(args []arg) {
	if *s.left--; *s.left < 0 || s.depth > maxNested {
		s.f.hide(hub.RiskHigh, "shell", "the command cannot be read to its end")
		return
	}
	for len(args) > 1 && args[0].fixed && args[0].text == "" {
		args = args[1:] // an empty variable
	}
	name := args[0].text
	switch {
	case !args[0].fixed:
		s.f.hide(hub.RiskHigh, "execute", "what is run is put together only when it is run")
		return
	case strings.ContainsAny(name, "*?"):
		s.f.add(hub.RiskCritical, "execute", "what is run is hidden: \"%s\"", shorten(name))
		return
	case s.funcs[name]:
		return
	}
	program, here := programOf(name)
	if here {
		if version(args) {
			return
		}
		if program == "gradlew" || program == "mvnw" {
			s.tool(program, args)
			return
		}
		if strings.HasPrefix(name, "node_modules/.bin/") || strings.HasPrefix(name, "./node_modules/.bin/") {
			s.command(append([]arg{{program, true}}, args[1:]...))
			return
		}
		s.f.add(hub.RiskHigh, "execute", "it runs the program \"%s\", of which nothing is known", shorten(name))
		return
	}
	switch {
	case s.wrapper(program, args):
	case s.particular(program, args):
	case s.tool(program, args):
	default:
		s.listed(program, args)
	}
}

// programOf is the name of a program without the directories where programs are,
// and whether it is one of another place.
func programOf(name string) (string, bool) {
	if strings.IndexByte(name, '\\') >= 0 {
		name = name[strings.LastIndexByte(name, '\\')+1:]
	}
	at := strings.LastIndexByte(name, '/')
	program := name[at+1:]
	if at >= 0 {
		switch name[:at] {
		case "/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin", "/snap/bin":
		default:
			return program, true
		}
	}
	if len(program) > 4 && strings.EqualFold(program[len(program)-4:], ".exe") {
		program = program[:len(program)-4]
	}
	return program, program == ""
}

// version reports whether a program is only asked what it is.
func version(args []arg) bool {
	if len(args) != 2 {
		return false
	}
	switch args[1].text {
	case "--version", "-version", "--help", "-V", "-h":
		return true
	}
	return false
}

// listed judges a command by the lists of what commands do.
func (s *shell) listed(program string, args []arg) {
	if risk, ok := harmless[program]; ok {
		if risk > hub.RiskLow {
			s.f.add(risk, "", "\"%s\" adds something, or asks the network", program)
		}
		if !namesOnly[program] {
			s.reading(program, args)
		}
		if s.f.risk >= hub.RiskHigh || program != "mkdir" && program != "touch" {
			return
		}
		for _, a := range args[1:] {
			judgePath(s.f, a.text, true, nil, false)
		}
		return
	}
	if version(args) {
		return
	}
	if risk, ok := harmful[program]; ok {
		if risk == hub.RiskCritical {
			s.f.add(risk, "destroy", "\"%s\" deletes or destroys", program)
		} else {
			s.f.add(risk, "write", "\"%s\" changes something", program)
		}
		for _, a := range args[1:] {
			judgePath(s.f, a.text, true, nil, false)
			s.url(a)
		}
		return
	}
	if s.windows(program, args) {
		return
	}
	s.f.add(hub.RiskHigh, "execute", "it runs the program \"%s\", of which nothing is known", shorten(program))
}

// reading judges what a command that only looks is given.
func (s *shell) reading(program string, args []arg) {
	pattern := program == "grep" || program == "egrep" || program == "fgrep" || program == "rg" || program == "ag" || program == "ack" ||
		program == "zgrep" || program == "findstr" || program == "jq"
	for _, a := range args[1:] {
		if a.flag() {
			if _, value, ok := strings.Cut(a.text, "="); ok {
				judgePath(s.f, value, false, nil, false)
			}
			continue
		}
		if pattern {
			pattern = false
			continue
		}
		if s.url(a) || a.text == "" {
			continue
		}
		judgePath(s.f, a.text, false, nil, true)
	}
}

// url judges a word that may be a URL.
func (s *shell) url(a arg) bool { return judgeURL(s.f, a.text, false) }

// wrapper judges commands that run another one.
func (s *shell) wrapper(program string, args []arg) bool {
	rest := args[1:]
	switch program {
	case "sudo", "doas", "gosu", "runas":
		s.f.add(hub.RiskMedium, "execute", "it is run with the rights of another user")
		rest, _ = skip(rest, "-u -g -p -h -C -r -t -U -D -R --user --group")
		if len(rest) == 0 && !only(args, "-l", "-v", "-k", "-V") {
			s.f.add(hub.RiskCritical, "execute", "it opens a shell with the rights of another user")
		}
	case "env":
		rest, _ = skip(rest, "-u --unset -C --chdir")
		for len(rest) > 0 && strings.IndexByte(rest[0].text, '=') > 0 {
			if key, _, _ := strings.Cut(rest[0].text, "="); key == "LD_PRELOAD" || key == "PATH" || key == "LD_LIBRARY_PATH" || key == "BASH_ENV" {
				s.f.add(hub.RiskHigh, "execute", "\"%s\" decides which programs are run", key)
			}
			rest = rest[1:]
		}
		if has(args[1:], "-S", "--split-string") && len(rest) > 0 {
			s.inner(rest[0].text)
			return true
		}
		if len(rest) == 0 {
			s.f.add(hub.RiskMedium, "secret", "it shows variables, which may hold passwords or keys")
		}
	case "nohup", "setsid", "command", "builtin", "exec", "unbuffer", "eatmydata", "caffeinate", "winpty":
		if program == "command" && has(rest, "-v", "-V") {
			return true
		}
		rest, _ = skip(rest, "-a")
	case "nice", "ionice", "chrt", "taskset", "stdbuf", "time", "numactl", "cpulimit", "systemd-run", "strace", "ltrace", "perf", "valgrind":
		rest, _ = skip(rest, "-n -c -p -o -e -i -f -s --adjustment")
		if program == "taskset" && len(rest) > 1 || program == "perf" && len(rest) > 0 {
			rest = rest[1:]
		}
	case "timeout", "flock", "chroot", "gtimeout":
		rest, _ = skip(rest, "-k -s --signal --kill-after -w -E")
		rest = rest[min(1, len(rest)):]
		if program == "chroot" {
			s.f.add(hub.RiskHigh, "execute", "\"%s\" changes something", program)
		}
	case "watch":
		rest, _ = skip(rest, "-n --interval")
		s.script2(rest)
		return true
	case "xargs", "parallel":
		rest, _ = skip(rest, "-I -n -P -L -d -s -a -E -i -j --max-args --max-procs --delimiter")
		if len(rest) == 0 {
			if program == "parallel" {
				s.f.add(hub.RiskHigh, "execute", "what is run is put together only when it is run")
			}
			return true
		}
		rest = append(slices.Clip(rest), arg{"", false})
	case "busybox", "toybox":
	case "eval":
		if !joined(rest) {
			s.f.hide(hub.RiskCritical, "execute", "what is run is put together only when it is run")
			return true
		}
		s.inner(join(rest))
		return true
	case "ssh", "mosh", "autossh":
		return s.remote(rest)
	case "trap":
		if len(rest) > 1 && !rest[0].flag() {
			s.inner(rest[0].text)
		}
		return true
	default:
		return false
	}
	if len(rest) > 0 {
		s.command(spread(rest))
	}
	return true
}

// script2 judges words that are put together and read by a shell again.
func (s *shell) script2(words []arg) {
	if len(words) == 0 {
		return
	}
	if !joined(words) {
		s.f.hide(hub.RiskHigh, "execute", "what is run is put together only when it is run")
	}
	s.inner(join(words))
}

// remote judges a command on another machine.
func (s *shell) remote(rest []arg) bool {
	if only(rest, "-V", "-G") {
		return true
	}
	for _, a := range rest {
		if strings.Contains(strings.ToLower(a.text), "proxycommand") || strings.Contains(strings.ToLower(a.text), "localcommand") {
			s.f.add(hub.RiskCritical, "execute", "the connection starts a program")
		}
	}
	if has(rest, "-L", "-R", "-D", "-N", "-w") {
		s.f.add(hub.RiskHigh, "internal", "it opens a way into another network")
	}
	rest, _ = skip(rest, "-p -i -l -o -F -J -b -c -e -m -L -R -D -E -S -W -w -B -I -Q -O")
	if len(rest) < 2 {
		s.f.add(hub.RiskHigh, "execute", "it opens a shell on another machine")
		return true
	}
	s.f.add(hub.RiskMedium, "execute", "it is run on another machine")
	s.script2(rest[1:])
	return true
}

// skip leaves out the options at the beginning of words; those that are named
// have a value of their own. It returns the options too.
func skip(words []arg, valued string) (rest, options []arg) {
	for i := 0; i < len(words); i++ {
		a := words[i]
		if a.text == "--" {
			return words[i+1:], words[:i]
		}
		if !a.flag() {
			return words[i:], words[:i]
		}
		if hasField(valued, a.text) {
			i++
		}
	}
	return nil, words
}

// hasField reports whether one of the words of a list is the given one.
func hasField(list, word string) bool {
	for rest := list; rest != ""; {
		var field string
		field, rest, _ = strings.Cut(rest, " ")
		if field == word {
			return true
		}
	}
	return false
}

// has reports whether one of the words is there.
func has(words []arg, wanted ...string) bool {
	for _, a := range words {
		for _, w := range wanted {
			if a.text == w || strings.HasPrefix(w, "--") && strings.HasPrefix(a.text, w) && len(a.text) > len(w) && a.text[len(w)] == '=' {
				return true
			}
		}
	}
	return false
}

// hasLetter reports whether one of the letters is among the short options.
func hasLetter(words []arg, letters string) bool {
	for _, a := range words {
		if a.flag() && a.text[1] != '-' && strings.ContainsAny(a.text[1:], letters) {
			return true
		}
	}
	return false
}

// only reports whether all words but the first are among the wanted ones.
func only(words []arg, wanted ...string) bool {
	for _, a := range words[min(1, len(words)):] {
		if !has([]arg{a}, wanted...) {
			return false
		}
	}
	return len(words) > 0 && (len(words) > 1 || has(words, wanted...))
}

// plainWords are the words that are no options.
func plainWords(words []arg) []arg {
	var out []arg
	for _, a := range words {
		if !a.flag() {
			out = append(out, a)
		}
	}
	return out
}

// joined reports whether all of the words are known.
func joined(words []arg) bool {
	for _, a := range words {
		if !a.fixed {
			return false
		}
	}
	return true
}

func join(words []arg) string {
	texts := make([]string, len(words))
	for i, a := range words {
		texts[i] = a.text
	}
	return strings.Join(texts, " ")
}

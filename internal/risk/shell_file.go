package risk

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// find judges what is done to the files that are found.
func (s *shell) find(rest []arg) bool {
	s.reading("find", append([]arg{{"find", true}}, rest...)[:1])
	for i, a := range rest {
		switch a.text {
		case "-delete":
			s.f.add(hub.RiskCritical, "destroy", "\"%s\" deletes or destroys", "find -delete")
		case "-fprint", "-fprint0", "-fprintf", "-fls":
			s.f.add(hub.RiskHigh, "write", "\"%s\" changes something", "find "+a.text)
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch":
			if i+1 < len(rest) {
				end := i + 1
				for end < len(rest) && rest[end].text != ";" && rest[end].text != "+" {
					end++
				}
				s.command(spread(append(rest[i+1:end:end], arg{"", false})))
			}
		}
	}
	return true
}

// sedWrites reports whether a script of sed writes files or runs commands.
func sedWrites(rest []arg) bool {
	if has(rest, "-f", "--file") {
		return true
	}
	for _, a := range plainWords(rest) {
		script := strings.TrimLeft(a.text, "0123456789,$ ")
		if strings.HasPrefix(script, "w ") || strings.HasPrefix(script, "e ") || script == "e" || strings.HasPrefix(script, "W ") {
			return true
		}
		if strings.HasPrefix(script, "s") && len(script) > 3 {
			tail := script[strings.LastIndexByte(script, script[1])+1:]
			if flags, _, _ := strings.Cut(tail, " "); len(flags) < 6 && strings.ContainsAny(flags, "ew") {
				return true
			}
		}
	}
	return false
}

// awkActs reports whether a program of awk writes files or runs commands.
func awkActs(rest []arg) bool {
	for _, a := range rest {
		text := strings.ReplaceAll(a.text, "||", "")
		if strings.Contains(text, "system") || strings.Contains(text, "|") || strings.Contains(text, ">>") || strings.Contains(text, "/inet/") {
			return true
		}
		for rest := text; ; {
			_, after, found := strings.Cut(rest, ">")
			if !found {
				break
			}
			if strings.HasPrefix(strings.TrimLeft(after, " "), `"`) {
				return true
			}
			rest = after
		}
	}
	return false
}

// redirect judges where input comes from and output goes to.
func (s *shell) redirect(r *syntax.Redirect) {
	if r.Hdoc != nil {
		s.within(r.Hdoc)
		s.heard, s.known = s.text(r.Hdoc)
		s.fed = true
		return
	}
	if r.Word == nil {
		return
	}
	s.within(r.Word)
	target, fixed := s.text(r.Word)
	switch r.Op {
	case syntax.WordHdoc:
		s.heard, s.known = target, fixed
		s.fed = true
	case syntax.RdrIn, syntax.DplIn:
		s.fed, s.known = true, false
		if r.Op == syntax.RdrIn {
			s.readsFile(arg{target, fixed})
		}
	case syntax.RdrInOut:
		s.fed, s.known = true, false
		s.writesFile(arg{target, fixed})
	case syntax.DplOut:
		if strings.Trim(target, "0123456789-") != "" {
			s.writesFile(arg{target, fixed})
		}
	default:
		s.writesFile(arg{target, fixed})
	}
}

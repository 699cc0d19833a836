package risk

import "strings"

const (
	// ansibleModules are those that change nothing.
	ansibleModules = "ping setup stat debug gather_facts service_facts package_facts"
	// ansibleFlags are the short options of ansible that take no value.
	ansibleFlags = "vbkKoDChJ"
)

// ansibleLooks reports whether ansible is told to run modules only that change
// nothing. Of several it takes the last; here each has to be one of those. Modules
// from elsewhere may have any name, and a template runs programs of its own.
func ansibleLooks(rest []arg) bool {
	found := false
	for i, a := range rest {
		name, module, attached := strings.Cut(a.text, "=")
		switch {
		case !a.fixed, strings.Contains(a.text, "{{"), strings.Contains(a.text, "{%"):
			return false
		case a.text == "--":
			return found
		case strings.HasPrefix(name, "--module-p"), strings.HasPrefix(name, "--pl"):
			return false
		case strings.HasPrefix(name, "--"):
			if !strings.HasPrefix("--module-name", name) {
				continue
			}
		case a.flag():
			letters := strings.TrimLeft(a.text[1:], ansibleFlags)
			if strings.HasPrefix(letters, "M") {
				return false
			}
			if module, attached = strings.CutPrefix(letters, "m"); !attached {
				continue
			}
			module, attached = strings.TrimPrefix(module, "="), module != ""
		default:
			continue
		}
		if !attached && i+1 < len(rest) {
			module = rest[i+1].text
		}
		if !hasField(ansibleModules, module) {
			return false
		}
		found = true
	}
	return found
}

package upstream

import (
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/message"
)

// stderrTail is what a process's standard error says last, to stand at the end
// of a text.
func stderrTail(s string) message.Phrase {
	last := lastWords(s)
	if last == "" {
		return message.Phrase{}
	}
	return message.Say(" Its last words: %s", message.Quote(last))
}

// lastWords is the line of a process's standard error that says why it ended:
// the last one, but for what Node.js and npm write behind it.
func lastWords(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	end := len(lines) - 1
	for end >= 0 && isTrailer(lines[end]) {
		end--
	}
	if end < 0 { // there is nothing else
		return strings.TrimSpace(lines[len(lines)-1])
	}
	// npm begins with what is wrong, and goes on with advice.
	for _, mark := range [...]string{"npm error ", "npm ERR! "} {
		if !strings.HasPrefix(lines[end], mark) {
			continue
		}
		first := slices.IndexFunc(lines, func(l string) bool {
			return strings.HasPrefix(l, mark) && !strings.HasPrefix(l, mark+"code ")
		})
		return lines[max(first, 0)]
	}
	return lines[end]
}

// isTrailer reports whether a line is one of those that follow the message of
// an error that nobody caught in Node.js, or of npm.
func isTrailer(line string) bool {
	for _, begin := range [...]string{
		"at ", "Node.js v", "code: ", "errno: ", "syscall: ", "path: ", "spawnargs: ", "requireStack: ", "Require stack:", "- /", "'/",
		"npm notice", "npm error A complete log", "npm ERR! A complete log", "npm error     /", "npm ERR!     /",
	} {
		if strings.HasPrefix(line, begin) {
			return true
		}
	}
	return strings.Trim(line, "{}[](),^~ ") == ""
}

package config

import (
	"strings"

	"github.com/toolcrib/toolcrib/internal/message"
)

// nearest is the known name that the writer of name probably meant, or empty.
func nearest(name string, known []string) string {
	if meant := alias(name); meant != "" {
		for _, k := range known {
			if k == meant {
				return k
			}
		}
	}
	const maxLen = 32 // longer names are no misspellings of ours
	if len(name) > maxLen {
		return ""
	}
	best, least := "", 3
	for _, k := range known {
		// Within a short name two changes make any other.
		if n := message.Distance(strings.ToLower(name), strings.ToLower(k)); n < least && n*3 <= len(k) {
			best, least = k, n
		}
	}
	return best
}

// alias is the name here of what other programs' files call otherwise, and
// whose reading would go too far.
func alias(name string) string {
	switch name {
	case "endpoint", "baseUrl":
		return "url"
	case "workingDirectory", "workdir", "dir":
		return "cwd"
	case "active":
		return "enabled"
	case "requestTimeout", "timeoutMs":
		return "timeout"
	case "maxRetries":
		return "retries"
	case "allowedTools", "allowTools":
		return "tools"
	case "blockedTools", "deniedTools":
		return "denyTools"
	}
	return ""
}

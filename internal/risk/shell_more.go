package risk

import (
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// more judges what the first words of some tools do not tell.
func (s *shell) more(name, program string, words []arg) hub.Risk {
	first, rest := words[0].text, words[1:]
	switch name {
	case "docker", "kubectl":
		at := 0
		if first == "compose" || first == "container" {
			at = 1
		}
		if at < len(words) && words[at].text == "exec" {
			return s.contained(name, words[at+1:])
		}
		if first == "run" || first == "create" || first == "container" {
			if has(rest, "--privileged", "--pid=host", "--net=host", "--network=host", "--cap-add", "--device", "--userns=host", "--ipc=host") || hasPrefix(rest, "/:") || hasPrefix(rest, "--volume=/:") || hasPrefix(rest, "-v/:") || strings.Contains(join(rest), "docker.sock") || strings.Contains(join(rest), "-v /etc") || strings.Contains(join(rest), "/root:") {
				return hub.RiskCritical
			}
		}
		if name == "kubectl" && first == "get" && len(rest) > 0 && strings.HasPrefix(rest[0].text, "secret") && (has(rest, "-o", "--output") || hasPrefix(rest, "-o")) {
			s.f.add(hub.RiskHigh, "secret", "\"%s\" shows passwords or keys", "kubectl get secret")
		}
	case "git":
		if program == "svn" && (first == "commit" || first == "ci") {
			return hub.RiskHigh
		}
		return gitMore(first, rest)
	case "go":
		if first == "run" && strings.Contains(join(rest), "@") || has(rest, "-exec", "-toolexec", "-o") && first != "build" {
			return hub.RiskHigh
		}
		if has(rest, "-toolexec", "-exec", "-vettool") {
			return hub.RiskHigh
		}
	case "npm":
		if program == "yarn" && len(words) > 0 {
			return hub.RiskLow
		}
	case "gradle":
		worst := hub.RiskLow
		for _, w := range rest {
			worst = max(worst, tools["gradle"].does[w.text])
		}
		return worst
	case "gh":
		if has(rest, "-X", "--method") || first == "api" && has(rest, "-f", "-F", "--field", "--raw-field", "--input") {
			method := strings.ToUpper(join(rest))
			switch {
			case strings.Contains(method, "DELETE"):
				return hub.RiskCritical
			case !strings.Contains(method, " GET"):
				return hub.RiskHigh
			}
		}
		if has(words, "--delete", "--force") {
			return hub.RiskCritical
		}
	}
	return hub.RiskLow
}

// contained judges a command that is run in a container.
func (s *shell) contained(name string, words []arg) hub.Risk {
	rest, options := skip(words, "-u --user -e --env -w --workdir -n --namespace -c --container --index --env-file --detach-keys")
	if len(rest) > 0 && (name == "docker" || len(options) == 0 || options[len(options)-1].text != "--") {
		rest = rest[1:] // the container
	}
	if name == "kubectl" {
		for i, a := range words {
			if a.text == "--" {
				rest = words[i+1:]
				break
			}
		}
	}
	for len(rest) > 0 && rest[0].flag() {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return hub.RiskHigh
	}
	if has(options, "--privileged") {
		return hub.RiskCritical
	}
	s.command(spread(rest))
	return hub.RiskMedium
}

// gitMore judges what of git depends on more than two words.
func gitMore(first string, rest []arg) hub.Risk {
	words := plainWords(rest)
	switch first {
	case "branch", "tag":
		switch {
		case has(rest, "-D", "-d", "--delete", "-f", "--force"):
			return hub.RiskCritical
		case has(rest, "-m", "-M", "--move", "-c", "-C", "--set-upstream-to", "-u", "--edit-description"):
			return pick(first == "tag", hub.RiskMedium, hub.RiskHigh)
		case len(words) > 0 && !has(rest, "-l", "--list", "--contains", "--merged", "--no-merged", "-a", "-r", "--points-at", "-v", "-n", "--sort"):
			return hub.RiskMedium
		}
	case "push":
		for _, a := range rest {
			if strings.HasPrefix(a.text, "--force") || strings.HasPrefix(a.text, "+") || strings.HasPrefix(a.text, ":") || a.flag() && a.text[1] != '-' && strings.ContainsAny(a.text, "fd") {
				return hub.RiskCritical
			}
		}
	case "checkout", "switch":
		if has(rest, "--", ".", "-f", "--force", "--ours", "--theirs", "-p", "--discard-changes", "-B", "-C") || len(words) > 1 && !has(rest, "-b", "-c", "--track", "-t", "--orphan") {
			return hub.RiskHigh
		}
	case "stash":
		if len(words) > 0 && words[0].text != "push" && words[0].text != "save" && words[0].text != "list" && words[0].text != "show" {
			return hub.RiskHigh
		}
	case "log", "diff", "show", "grep":
		if hasPrefix(rest, "--output") || has(rest, "--ext-diff", "-O", "--open-files-in-pager") || hasPrefix(rest, "--open-files") {
			return hub.RiskHigh
		}
	case "config":
		if len(words) >= 2 && !has(rest, "--get", "--get-all", "-l", "--list", "--get-regexp") && words[0].text != "get" && words[0].text != "list" || has(rest, "--unset", "--unset-all", "--edit", "-e", "--add", "--replace-all", "--remove-section") {
			return hub.RiskHigh
		}
	case "remote":
		if len(words) > 0 && words[0].text != "show" && words[0].text != "get-url" && words[0].text != "-v" {
			return hub.RiskHigh
		}
	case "commit", "fetch", "ls-remote", "clone", "pull":
		if has(rest, "--amend", "--upload-pack", "-f", "--force") || hasPrefix(rest, "--upload-pack") || hasPrefix(rest, "ext::") || hasPrefix(rest, "-u ext") {
			return hub.RiskHigh
		}
	case "reset":
		if has(rest, "--hard", "--merge", "--keep") {
			return hub.RiskCritical
		}
	case "restore":
		if has(rest, "--staged", "-S") && !has(rest, "--worktree", "-W") {
			return hub.RiskLow
		}
	case "reflog":
		if len(words) > 0 && words[0].text != "show" && words[0].text != "exists" {
			return hub.RiskCritical
		}
	}
	return hub.RiskLow
}

package risk

import (
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// particular judges commands that do harm only with some of their options.
func (s *shell) particular(program string, args []arg) bool {
	rest := args[1:]
	reads := func() { s.reading(program, args) }
	changes := func(risk hub.Risk) {
		if risk == hub.RiskCritical {
			s.f.add(risk, "destroy", "\"%s\" deletes or destroys", program)
		} else {
			s.f.add(risk, "write", "\"%s\" changes something", program)
		}
		for _, a := range rest {
			judgePath(s.f, a.text, true, nil, false)
		}
	}
	// when judges by whether the command is told to do more than look.
	when := func(changing bool, risk hub.Risk) bool {
		if changing {
			changes(risk)
		} else {
			reads()
		}
		return true
	}
	words := plainWords(rest)
	first := ""
	if len(words) > 0 {
		first = words[0].text
	}
	switch program {
	case "find", "fd", "fdfind", "gfind":
		return s.find(rest)
	case "sed", "gsed":
		return when(has(rest, "--in-place") || hasLetter(rest, "i") || sedWrites(rest), hub.RiskHigh)
	case "awk", "gawk", "mawk", "nawk":
		return when(has(rest, "-i", "-f") || awkActs(rest), hub.RiskHigh)
	case "sort":
		return when(hasLetter(rest, "o") || has(rest, "--output", "--compress-program"), hub.RiskHigh)
	case "grep", "rg", "ag", "ack":
		return when(has(rest, "--pre", "--pager", "--hostname-bin"), hub.RiskHigh)
	case "xxd":
		return when(hasLetter(rest, "r"), hub.RiskHigh)
	case "yq":
		return when(hasLetter(rest, "i") || has(rest, "--inplace"), hub.RiskHigh)
	case "tee", "sponge":
		for _, a := range words {
			s.writesFile(a)
		}
		return true
	case "cp", "gcp":
		return s.copies(rest, words)
	case "tar", "bsdtar", "gtar":
		return s.tar(rest)
	case "zip":
		if hasLetter(rest, "md") || has(rest, "--move", "--delete", "-T", "-TT", "--unzip-command") {
			changes(hub.RiskHigh)
			return true
		}
		return false
	case "mysqladmin":
		looks := len(words) > 0
		for _, a := range words {
			looks = looks && hasField("status ping version variables processlist extended-status", a.text)
		}
		return when(!looks, hub.RiskCritical)
	case "7z", "7za", "7zr":
		return when(first != "l" && first != "t" && first != "h" && first != "i", hub.RiskHigh)
	case "unzip", "unrar":
		return when(!hasLetter(rest, "lptvZ") && first != "l", hub.RiskHigh)
	case "gzip", "bzip2", "xz", "zstd", "lz4", "brotli":
		return when(len(words) > 0 && !hasLetter(rest, "klct") && !has(rest, "--keep", "--list", "--test", "--stdout"), hub.RiskHigh)
	case "chmod":
		return s.chmod(rest, words)
	case "chown", "chgrp":
		return when(true, pick(hasLetter(rest, "R") || has(rest, "--recursive"), hub.RiskCritical, hub.RiskHigh))
	case "kill":
		return when(!has(rest, "-0", "-l", "-L") && len(rest) > 0, hub.RiskHigh)
	case "curl", "http", "https", "xh", "curlie":
		return s.curl(program, rest)
	case "wget":
		return s.wget(rest)
	case "rsync":
		return when(!has(rest, "--dry-run", "--list-only") && !hasLetter(rest, "n"), pick(has(rest, "--remove-source-files") || hasPrefix(rest, "--del"), hub.RiskCritical, hub.RiskHigh))
	case "crontab":
		return when(!has(rest, "-l"), pick(hasLetter(rest, "r"), hub.RiskCritical, hub.RiskHigh))
	case "systemctl", "service", "supervisorctl", "initctl", "rc-service":
		return s.service(program, words)
	case "journalctl":
		return when(hasPrefix(rest, "--vacuum") || has(rest, "--rotate", "--flush", "--sync"), hub.RiskHigh)
	case "dmesg":
		return when(hasLetter(rest, "cCnDE") || has(rest, "--clear", "--read-clear"), hub.RiskHigh)
	case "ip", "bridge":
		return when(hasWord(rest, "add del delete set flush replace change append up down exec"), hub.RiskHigh)
	case "ifconfig", "iwconfig", "route", "hostname", "domainname":
		return when(len(words) > pick(program == "ifconfig", 1, 0) && !hasLetter(rest, "fIisAdn"), hub.RiskHigh)
	case "iptables", "ip6tables", "nft", "ufw", "firewall-cmd", "pfctl", "arp", "ipset":
		looks := has(rest, "-L", "-S", "--list", "-nL", "-nvL", "-vnL", "-sr", "-sa", "-a", "--state", "--list-all", "--get-active-zones", "-Lnv", "-Ln", "-an", "-n") || first == "list" || first == "status" || first == "show"
		return when(!(looks && !hasLetter(rest, "FXDAIPZR")) && !(program == "arp" && len(rest) == 0), hub.RiskCritical)
	case "mount":
		return when(len(words) > 0, hub.RiskHigh)
	case "sysctl":
		return when(hasLetter(rest, "wp") || strings.Contains(join(rest), "=") || has(rest, "--system", "--load"), hub.RiskHigh)
	case "date", "timedatectl", "hostnamectl", "localectl", "loginctl", "nmcli", "resolvectl", "busctl", "networkctl", "bluetoothctl", "rfkill":
		if program == "date" {
			return when(has(rest, "-s", "--set") || len(words) > 0 && !strings.HasPrefix(first, "+") && !has(rest, "-d", "-r", "-f", "-v", "-j"), hub.RiskHigh)
		}
		return when(!looksOnly(words), hub.RiskHigh)
	case "parted":
		looks := has(rest, "-l", "--list")
		for _, a := range words[min(1, len(words)):] {
			looks = hasField("print free all devices unit s B KiB MiB GiB TiB kB MB GB TB", a.text)
			if !looks {
				break
			}
		}
		return when(!looks, hub.RiskCritical)
	case "fdisk", "sfdisk", "gdisk", "swapon", "hdparm", "nvme", "losetup", "dumpe2fs", "mdadm", "zfs", "zpool", "lvs", "vgs", "pvs", "btrfs", "smartctl":
		return when(!has(rest, "-l", "-s", "--show", "--list", "-a", "-I", "-i", "-D", "--detail", "-x", "-H") && !looksOnly(words) && !strings.HasSuffix(program, "vs") && program != "dumpe2fs", pick(program == "swapon" || program == "losetup", hub.RiskHigh, hub.RiskCritical))
	case "dd":
		return when(hasPrefix(words, "of=") && !hasPrefix(words, "of=/dev/null") || !hasPrefix(words, "if="), hub.RiskCritical)
	case "history":
		s.f.add(hub.RiskMedium, "secret", "it shows what was typed before, which may hold passwords or keys")
		return when(hasLetter(rest, "cdwra"), hub.RiskHigh)
	case "alias", "export", "declare", "readonly":
		if program == "alias" {
			s.renames(rest)
		}
		return true
	case "source", ".":
		if !strings.HasSuffix(first, "/bin/activate") {
			s.f.add(hub.RiskHigh, "execute", "it runs the program \"%s\", of which nothing is known", shorten(first))
		}
		return true
	case "su":
		changes(hub.RiskCritical)
		for i, a := range rest {
			if a.text == "-c" && i+1 < len(rest) {
				s.inner(rest[i+1].text)
			}
		}
		return true
	case "openssl":
		return when(first == "s_server" || first == "s_client" || has(rest, "-out", "-writerand", "-engine", "-provider"), hub.RiskHigh)
	case "gpg", "gpg2", "age":
		return when(!has(rest, "--list-keys", "-k", "-K", "--list-secret-keys", "--verify", "--fingerprint", "--list-packets", "--print-md"), hub.RiskHigh)
	case "ssh-keygen", "ssh-add", "ssh-agent":
		return when(!has(rest, "-l", "-lf", "-L", "-F"), hub.RiskHigh)
	case "xclip", "xsel":
		return when(!has(rest, "-o", "--output"), hub.RiskHigh)
	case "screen", "tmux":
		return when(first != "ls" && first != "list-sessions" && !has(rest, "-ls", "-list", "-V"), hub.RiskHigh)
	case "defaults", "launchctl", "scutil", "pmset", "diskutil", "softwareupdate", "networksetup", "security", "spctl", "tmutil", "csrutil":
		return when(!hasWord(rest, "read list print info -l -g --list --dns listbackups status -listallhardwareports blame apfs"), hub.RiskHigh)
	case "nc", "ncat", "netcat", "socat":
		if program != "socat" && hasLetter(rest, "z") && !hasLetter(rest, "elc") {
			s.f.add(hub.RiskMedium, "", "\"%s\" adds something, or asks the network", program)
			return true
		}
		return when(true, pick(hasLetter(rest, "elc") || program == "socat" || has(rest, "--exec", "--sh-exec"), hub.RiskCritical, hub.RiskHigh))
	case "ping", "dig", "nslookup", "host":
		s.f.add(hub.RiskMedium, "", "\"%s\" adds something, or asks the network", program)
		if !joined(rest) {
			s.f.add(hub.RiskHigh, "secret", "what it puts together may be told to another machine")
		}
		return true
	case "open", "xdg-open", "start", "explorer", "wslview":
		s.f.add(pick(strings.Contains(first, "://") || first == "." || first == "", hub.RiskMedium, hub.RiskHigh), "execute", "it opens something in a program")
		return true
	case "docker-compose":
		return s.tool("docker", append([]arg{{"docker", true}, {"compose", true}}, rest...))
	case "cmake":
		return when(has(rest, "--install", "-P", "-E"), hub.RiskHigh)
	case "make", "gmake", "just", "task", "mage", "rake", "ninja":
		return s.build(program, rest)
	case "prettier", "black", "gofmt", "goimports", "eslint", "ruff", "isort", "shfmt", "rustfmt":
		s.f.add(hub.RiskMedium, "", "\"%s\" adds something, or asks the network", program)
		return true
	case "ansible-inventory", "ansible-doc":
		return when(!has(rest, "--list", "--graph", "--host", "-l"), hub.RiskHigh)
	case "ffmpeg", "convert":
		return when(true, hub.RiskHigh)
	case "ansible-playbook", "ansible":
		looks := program == "ansible" && ansibleLooks(rest)
		return when(!looks && !has(rest, "--syntax-check", "--list-tasks", "--list-hosts", "--check", "-C"), hub.RiskHigh)
	}
	if strings.HasPrefix(program, "kafka-") {
		looks := has(rest, "--list", "--describe", "--version", "--help") && !has(rest, "--delete", "--alter", "--create", "--add", "--remove", "--execute", "--reset-offsets")
		return when(!looks, pick(has(rest, "--delete", "--reset-offsets"), hub.RiskCritical, hub.RiskHigh))
	}
	if strings.HasPrefix(program, "mkfs.") || strings.HasPrefix(program, "mkfs_") {
		changes(hub.RiskCritical)
		return true
	}
	return s.interpreter(program, rest) || s.database(program, rest)
}

func pick[T any](condition bool, yes, no T) T {
	if condition {
		return yes
	}
	return no
}

// hasWord reports whether one of the words is one of a list.
func hasWord(words []arg, list string) bool {
	for _, a := range words {
		if hasField(list, a.text) {
			return true
		}
	}
	return false
}

func hasPrefix(words []arg, prefix string) bool {
	for _, a := range words {
		if strings.HasPrefix(a.text, prefix) {
			return true
		}
	}
	return false
}

// looksOnly reports whether the first words of a command name no more than
// something to look at.
func looksOnly(words []arg) bool {
	if len(words) == 0 {
		return true
	}
	for _, a := range words[:min(len(words), 3)] {
		switch verbWord(a.text).sort {
		case acts:
			return false
		case reads:
			return true
		}
	}
	return words[0].text == "device" || words[0].text == "dev" || words[0].text == "connection" || words[0].text == "general" || words[0].text == "con"
}

// copies judges where files are copied to and from.
func (s *shell) copies(rest, words []arg) bool {
	s.reading("cp", append([]arg{{"cp", true}}, rest...))
	if len(words) == 0 {
		return true
	}
	target := words[len(words)-1]
	for i, a := range rest {
		if (a.text == "-t" || a.text == "--target-directory") && i+1 < len(rest) {
			target = rest[i+1]
		}
	}
	clean := cleanPath(target.text)
	elsewhere := strings.HasPrefix(clean, "/") && !strings.HasPrefix(clean, "/tmp") || strings.HasPrefix(clean, "~") || strings.HasPrefix(clean, "$") || strings.HasPrefix(clean, "..")
	device := strings.HasPrefix(words[0].text, "/dev/")
	if elsewhere || device || !target.fixed || hasLetter(rest, "f") || has(rest, "--force", "--remove-destination") {
		s.f.add(hub.RiskHigh, "write", "\"%s\" changes something", "cp")
	} else {
		s.f.add(hub.RiskMedium, "", "\"%s\" adds something, or asks the network", "cp")
	}
	judgePath(s.f, target.text, true, nil, true)
	return true
}

func (s *shell) tar(rest []arg) bool {
	if hasPrefix(rest, "--to-command") || hasPrefix(rest, "--checkpoint-action") || has(rest, "--use-compress-program", "-I", "--remove-files", "--delete") {
		s.f.add(hub.RiskCritical, "execute", "\"%s\" changes something", "tar")
		return true
	}
	if len(rest) == 0 {
		return true
	}
	mode := rest[0].text
	switch {
	case has(rest, "--list") || !strings.HasPrefix(mode, "--") && strings.Contains(mode, "t") && !strings.ContainsAny(mode, "xc"):
	case has(rest, "--create") || !strings.HasPrefix(mode, "--") && strings.Contains(mode, "c"):
		s.f.add(hub.RiskMedium, "", "\"%s\" adds something, or asks the network", "tar")
		s.reading("tar", append([]arg{{"tar", true}}, rest...))
	default:
		s.f.add(hub.RiskHigh, "write", "\"%s\" changes something", "tar")
		for _, a := range rest {
			judgePath(s.f, a.text, true, nil, false)
		}
	}
	return true
}

func (s *shell) chmod(rest, words []arg) bool {
	if len(words) > 0 && len(words) < 4 && joined(words) && !hasLetter(rest, "R") && (words[0].text == "+x" || words[0].text == "u+x" || words[0].text == "a+x") {
		local := true
		for _, a := range words[1:] {
			local = local && !strings.HasPrefix(a.text, "/") && !strings.HasPrefix(a.text, "~")
		}
		if local {
			s.f.add(hub.RiskMedium, "", "\"%s\" adds something, or asks the network", "chmod")
			return true
		}
	}
	risk := hub.RiskHigh
	if hasLetter(rest, "R") || has(rest, "--recursive") || len(words) > 0 && (strings.HasSuffix(words[0].text, "777") || strings.Contains(words[0].text, "s") || strings.HasSuffix(words[0].text, "666")) {
		risk = hub.RiskCritical
	}
	s.f.add(risk, "write", "\"%s\" changes something", "chmod")
	return true
}

// service judges what is done to services of the system.
func (s *shell) service(program string, words []arg) bool {
	verb := ""
	if program == "service" || program == "rc-service" {
		if len(words) > 1 {
			verb = words[1].text
		}
	} else if len(words) > 0 {
		verb = words[0].text
	}
	switch verb {
	case "", "status", "show", "is-active", "is-enabled", "is-failed", "is-system-running", "cat", "help", "list-units", "list-unit-files",
		"list-timers", "list-sockets", "list-dependencies", "list-jobs", "get-default", "avail", "tail", "pid", "--status-all":
		return true
	case "stop", "disable", "mask", "kill", "poweroff", "reboot", "halt", "isolate", "emergency", "rescue", "shutdown", "remove", "hibernate", "suspend":
		s.f.add(hub.RiskCritical, "destroy", "\"%s\" changes something", program+" "+verb)
		return true
	}
	s.f.add(hub.RiskHigh, "write", "\"%s\" changes something", program+" "+shorten(verb))
	return true
}

// build judges what a tool that builds is asked to make.
func (s *shell) build(program string, rest []arg) bool {
	if program == "ninja" {
		for i, a := range rest[:max(0, len(rest)-1)] {
			if a.text == "-t" && hasField("targets query deps commands inputs graph list compdb rules missingdeps", rest[i+1].text) {
				return true
			}
		}
	}
	if hasLetter(rest, "n") && !has(rest, "-C") || has(rest, "--dry-run", "--list", "-l", "--tasks", "-T") {
		return true
	}
	words := skipAll(rest, "-C -f -j -l -I -o -W --directory --file")
	for _, a := range words {
		target := a.text
		if key, value, ok := strings.Cut(target, "="); ok {
			if key == "SHELL" || key == "CC" || strings.ContainsAny(value, "$`;|&") || !a.fixed {
				s.f.add(hub.RiskHigh, "execute", "\"%s\" changes something", program)
			}
			continue
		}
		name := target
		if at := strings.IndexAny(name, "-_:/."); at > 0 {
			name = name[:at]
		}
		switch name {
		case "all", "build", "test", "tests", "check", "lint", "fmt", "format", "vet", "help", "docs", "doc", "bench", "coverage", "cover",
			"compile", "debug", "release", "dev", "unit", "integration", "typecheck", "verify", "ci", "default", "list", "spec", "generate":
		default:
			s.f.add(hub.RiskHigh, "write", "\"%s\" changes something", program+" "+shorten(target))
			return true
		}
	}
	s.f.add(hub.RiskMedium, "", "\"%s\" adds something, or asks the network", program)
	return true
}

// renames judges what names are made to mean: the command that takes their place.
// What is done by that name later is judged by what it usually means.
func (s *shell) renames(words []arg) {
	for _, a := range words {
		name, value, ok := strings.Cut(a.text, "=")
		if !ok {
			continue
		}
		if special[name] || !a.fixed || strings.TrimSpace(value) == "" {
			s.f.add(hub.RiskHigh, "execute", "\"%s\" is made to mean something else", shorten(a.text))
		}
		s.inner(value)
	}
}

// skipAll leaves out all options, wherever they stand, with the values of those
// that are named.
func skipAll(words []arg, valued string) (rest []arg) {
	for i := 0; i < len(words); i++ {
		a := words[i]
		switch {
		case hasField(valued, a.text):
			i++
		case !a.flag() && a.text != "--":
			rest = append(rest, a)
		}
	}
	return rest
}

package risk

import (
	"net/url"
	"path"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// cleanPath follows a path lexically: backslashes are slashes, ".." takes away
// what stands before it, and what a URL of a file wraps around it is taken off.
// Nothing is asked of the file system.
func cleanPath(text string) string {
	text = strings.TrimSpace(text)
	if rest, ok := cutPrefixFold(text, "file:"); ok {
		text = strings.TrimPrefix(strings.TrimPrefix(rest, "//"), "localhost")
	}
	if strings.Contains(text, "%") {
		if plain, err := url.PathUnescape(text); err == nil {
			text = plain
		}
	}
	if strings.IndexByte(text, '\\') >= 0 {
		text = strings.ReplaceAll(text, "\\", "/")
	}
	if rest, ok := strings.CutPrefix(text, "//?/"); ok {
		text = rest
	}
	for _, home := range [...]string{"$HOME", "${HOME}", "%USERPROFILE%", "$env:USERPROFILE"} {
		if rest, ok := strings.CutPrefix(text, home); ok {
			text = "~" + rest
		}
	}
	if text == "" {
		return ""
	}
	return path.Clean(text)
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
		return s[len(prefix):], true
	}
	return s, false
}

// place is what is known of a path by its words alone.
type place uint8

const (
	anywhere   place = iota
	settings         // of the system: reading it tells something about the machine
	system           // of the system: reading it does not matter
	startup          // what is written there is run later, by itself
	credential       // passwords and keys
)

// placeOf tells what is known of a clean path.
func placeOf(clean string) place {
	lower := strings.ToLower(clean)
	if isCredential(lower) {
		return credential
	}
	if isStartup(lower) {
		return startup
	}
	if len(lower) > 2 && lower[1] == ':' {
		lower = lower[2:]
	} else if strings.HasPrefix(lower, "/mnt/c/") {
		lower = lower[6:]
	}
	switch first, _, _ := strings.Cut(strings.TrimPrefix(lower, "/"), "/"); {
	case !strings.HasPrefix(lower, "/"):
	case first == "etc", first == "root", first == "proc", first == "sys", first == "dev", first == "boot":
		if lower == "/dev/null" || lower == "/dev/stdin" || lower == "/dev/stdout" || lower == "/dev/stderr" || lower == "/dev/tty" {
			return anywhere
		}
		return settings
	case first == "usr", first == "bin", first == "sbin", first == "lib", first == "lib64", first == "system", first == "library",
		first == "windows", first == "program files", first == "program files (x86)", first == "programdata", first == "opt":
		return system
	case first == "var" && !strings.HasPrefix(lower, "/var/tmp") && !strings.HasPrefix(lower, "/var/folders"):
		return system
	}
	return anywhere
}

// isCredential reports whether a path in lower case is one of passwords or keys.
func isCredential(lower string) bool {
	name := lower[strings.LastIndexByte(lower, '/')+1:]
	if strings.HasSuffix(name, ".pub") || strings.HasSuffix(name, ".example") || strings.HasSuffix(name, ".sample") || strings.HasSuffix(name, ".template") {
		return false
	}
	switch name {
	case ".env", ".netrc", "_netrc", ".npmrc", ".pypirc", ".git-credentials", ".pgpass", ".my.cnf", ".htpasswd", "shadow", "gshadow",
		"shadow-", "sudoers", "credentials.json", "secrets.json", "secrets.yaml", "secrets.yml", "secrets.env", "wallet.dat",
		"login data", "cookies.sqlite", "logins.json", "key4.db", "ntds.dit", "sam", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519",
		"authorized_keys", "service-account.json", "token.json", ".vault-token", ".dockercfg", "master.key", "kubeconfig",
		".bash_history", ".zsh_history", ".psql_history", ".mysql_history", "htpasswd", ".boto", ".s3cfg", "web.config", "wp-config.php",
		"known_hosts.old", "environ", "credentials", "keychain-db", "terraform.tfstate", "application_default_credentials.json":
		switch name {
		case "shadow", "gshadow", "shadow-", "sudoers":
			return strings.HasPrefix(lower, "/etc/") || strings.Contains(lower, "/etc/")
		case "sam", "ntds.dit":
			return strings.Contains(lower, "windows/") || strings.Contains(lower, "config/")
		case "environ":
			return strings.Contains(lower, "proc/")
		case "credentials":
			return strings.Contains(lower, ".")
		}
		return true
	}
	for _, prefix := range [...]string{".env.", "id_rsa", "id_ed25519", "id_ecdsa"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	for _, suffix := range [...]string{".pem", ".key", ".p12", ".pfx", ".kdbx", ".jks", ".keystore", ".ppk", ".keychain", ".keychain-db"} {
		if strings.HasSuffix(name, suffix) && len(name) > len(suffix) {
			return suffix != ".pem" || !isCertificate(name)
		}
	}
	for _, dir := range [...]string{
		".ssh", ".aws", ".gnupg", ".azure", ".kube", "etc/sudoers.d", "run/secrets", "serviceaccount", "library/keychains",
		".config/gcloud", ".config/gh", ".password-store", ".docker/config.json", ".local/share/keyrings", "etc/kubernetes/pki",
		"microsoft/credentials", "microsoft/protect", "proc/kcore", "dev/mem", ".config/op", "etc/ssl/private", ".secrets",
	} {
		if within(lower, dir) {
			return true
		}
	}
	return false
}

// isCertificate reports whether the name of a file says that what is in it is shown to
// everybody.
func isCertificate(name string) bool {
	if strings.Contains(name, "key") || strings.Contains(name, "priv") {
		return false
	}
	return strings.Contains(name, "cert") || strings.Contains(name, "chain") || strings.Contains(name, "public") || strings.HasPrefix(name, "ca.") ||
		strings.HasPrefix(name, "ca-")
}

// isStartup reports whether what stands at a path in lower case is run by itself
// later on.
func isStartup(lower string) bool {
	name := lower[strings.LastIndexByte(lower, '/')+1:]
	switch name {
	case ".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zprofile", ".zshenv", ".zlogin", ".bash_logout", ".login",
		".cshrc", ".xinitrc", ".xprofile", ".inputrc", ".gitconfig", "crontab", "config.fish", "ld.so.preload", "rc.local", ".vimrc",
		"profile.ps1", "microsoft.powershell_profile.ps1", ".mcp.json", "claude_desktop_config.json", ".pythonrc":
		return true
	}
	for _, dir := range [...]string{
		".git/hooks", "etc/cron.d", "etc/cron.daily", "etc/cron.hourly", "etc/cron.weekly", "etc/profile.d", "spool/cron",
		"launchagents", "launchdaemons", ".config/autostart", "etc/systemd", ".config/systemd", "lib/systemd", "etc/init.d",
		"start menu/programs/startup", "etc/pam.d", "etc/ld.so.conf.d", "etc/udev/rules.d",
	} {
		if within(lower, dir) {
			return true
		}
	}
	return false
}

// within reports whether the words of dir follow one another in a path.
func within(clean, dir string) bool {
	for rest := clean; ; {
		at := strings.Index(rest, dir)
		if at < 0 {
			return false
		}
		end := at + len(dir)
		if (at == 0 || rest[at-1] == '/') && (end == len(rest) || rest[end] == '/') {
			return true
		}
		rest = rest[end:]
	}
}

// looksLikePath reports whether a text can only be meant as a path.
func looksLikePath(text string) bool {
	switch {
	case strings.HasPrefix(text, "/"), strings.HasPrefix(text, "~"), strings.HasPrefix(text, "./"), strings.HasPrefix(text, "../"),
		strings.HasPrefix(text, ".\\"), strings.HasPrefix(text, "..\\"), strings.HasPrefix(text, "\\\\"),
		strings.HasPrefix(text, ".env"), strings.HasPrefix(text, ".ssh"), strings.HasPrefix(text, ".aws"), strings.HasPrefix(text, ".git"):
		return true
	case len(text) > 2 && text[1] == ':' && (text[2] == '\\' || text[2] == '/'):
		return true
	}
	_, ok := cutPrefixFold(text, "file:")
	return ok
}

// judgePath judges a path that is read or written. Certain are those that are
// known to be meant as paths; roots are within which they are to stay, if there
// are any.
func judgePath(f *findings, text string, writes bool, roots []string, certain bool) {
	if !certain && !looksLikePath(text) || len(text) > maxValue {
		return
	}
	if strings.IndexByte(text, 0) >= 0 {
		f.hide(hub.RiskHigh, "path", "a path holds a character that is none of a path")
		return
	}
	clean := cleanPath(text)
	shown := text[:min(len(text), 120)]
	risk := hub.RiskHigh
	if writes {
		risk = hub.RiskCritical
	}
	switch where := placeOf(clean); {
	case where == credential:
		f.add(risk, "secret", "passwords or keys are kept in \"%s\"", shown)
	case where == startup && writes:
		f.add(risk, "startup", "what is written to \"%s\" is run later on by itself", shown)
	case where >= settings && where != startup && writes:
		f.add(risk, "path", "\"%s\" belongs to the system", shown)
	case where == settings:
		f.add(hub.RiskMedium, "path", "\"%s\" belongs to the system", shown)
	case writes && certain && (clean == "/" || clean == "~" || strings.HasPrefix(clean, "/*") || len(clean) <= 3 && len(clean) > 1 && clean[1] == ':'):
		f.add(risk, "path", "\"%s\" is all there is", shown)
	}
	if !certain && len(roots) == 0 {
		return
	}
	switch outside, sure := leaves(clean, roots); {
	case outside && sure:
		f.add(risk, "path", "\"%s\" lies outside of the directories that calls are meant for", shown)
	case outside && writes:
		f.add(hub.RiskHigh, "path", "\"%s\" leads out of the directory that it begins in", shown)
	case outside:
		f.add(hub.RiskMedium, "path", "\"%s\" leads out of the directory that it begins in", shown)
	}
}

// leaves reports whether a clean path leads outside of the roots, and whether
// that is sure: without roots only a path that climbs leads anywhere.
func leaves(clean string, roots []string) (outside, sure bool) {
	climbs := clean == ".." || strings.HasPrefix(clean, "../")
	if len(roots) == 0 {
		return climbs, false
	}
	absolute := strings.HasPrefix(clean, "/") || strings.HasPrefix(clean, "~") || len(clean) > 1 && clean[1] == ':'
	if !absolute {
		return climbs, climbs
	}
	for _, root := range roots {
		if clean == root || strings.HasPrefix(clean, strings.TrimSuffix(root, "/")+"/") {
			return false, false
		}
	}
	return true, true
}

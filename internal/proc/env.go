package proc

import (
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
)

// Environ makes the environment of a child, as sorted "NAME=value" strings:
// extra, and of the environment of this process only what programs need to
// run at all: where things are (PATH, HOME, TMPDIR and their like on Windows),
// who and where the user is (USER, LOGNAME, LANG, LC_*, TZ), the way to the
// network (proxies, certificates), and the settings of the package runners
// (NPM_CONFIG_*, UV_*). Where both have a name, extra wins. On Windows names
// are the same in upper and lower case.
func Environ(extra map[string]string) []string {
	return environ(os.Environ(), extra, runtime.GOOS == "windows")
}

func environ(parent []string, extra map[string]string, windows bool) []string {
	fold := func(name string) string { return name }
	if windows {
		fold = strings.ToUpper
	}
	chosen := make(map[string]string)
	for _, entry := range parent {
		if name, _, ok := strings.Cut(entry, "="); ok && inherited(fold(name), windows) {
			chosen[fold(name)] = entry
		}
	}
	for name, value := range extra {
		chosen[fold(name)] = name + "=" + value
	}
	// Never nil, which to the system stands for all variables of this process.
	env := slices.AppendSeq(make([]string, 0, len(chosen)), maps.Values(chosen))
	slices.Sort(env)
	return env
}

// inherited reports whether a child gets a variable of this process. A name
// on Windows is given in upper case.
func inherited(name string, windows bool) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "TZ",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS":
		return true
	case "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP",
		"APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "USERPROFILE", "USERNAME",
		"HOMEDRIVE", "HOMEPATH", "PROCESSOR_ARCHITECTURE":
		return windows
	}
	for _, prefix := range []string{"LC_", "NPM_CONFIG_", "npm_config_", "UV_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return windows && strings.HasPrefix(name, "PROGRAMFILES")
}

// getenv reads a variable of an environment made by [Environ]; the name is in
// upper case.
func getenv(env []string, name string) string {
	for _, entry := range env {
		key, value, _ := strings.Cut(entry, "=")
		if key == name || runtime.GOOS == "windows" && strings.EqualFold(key, name) {
			return value
		}
	}
	return ""
}

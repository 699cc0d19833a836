package npx

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// place is where npx is asked: what its answer depends on.
type place struct {
	path   string   // the PATH
	node   string   // an absolute path
	cache  string   // npm's
	prefix string   // of global installations
	dirs   []string // the working directory and those above it
}

// matters reports whether by a setting of npm npx would run something else, or
// run it otherwise.
func matters(setting string) bool {
	switch setting {
	case "cache", "prefix", // as variables of the environment they are taken into account
		"call", "global", "globalconfig", "include-workspace-root", "local-prefix", "location", "node-options",
		"package", "script-shell", "shell", "userconfig", "workspace", "workspaces":
		return true
	}
	return false
}

// look finds out where npx is asked; false if that cannot be told for sure.
func look(command string, env []string, dir string) (place, bool) {
	var p place
	vars := make(map[string]string, len(env))
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		vars[name] = value
		name, ok := cutPrefixFold(name, "npm_config_")
		if !ok || value == "" {
			continue
		}
		name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
		switch {
		case name == "cache":
			p.cache = value
		case name == "prefix":
			p.prefix = value
		case matters(name):
			return p, false
		}
	}
	dir, err := filepath.Abs(dir)
	home := vars["HOME"]
	if err != nil || !filepath.IsAbs(home) || vars["PREFIX"] != "" || vars["DESTDIR"] != "" {
		return p, false
	}
	for {
		p.dirs = append(p.dirs, dir)
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}

	p.path = vars["PATH"]
	npm, ok := npmOf(command, p.path)
	if !ok {
		return p, false
	}
	p.node, ok = find("node", p.path)
	if !ok {
		return p, false
	}
	real, err := filepath.EvalSymlinks(p.node)
	if err != nil || filepath.Base(real) != "node" || strings.HasPrefix(firstLine(real), "#!") {
		return p, false // a stand-in of a version manager
	}
	own := filepath.Dir(filepath.Dir(real)) // npm's default prefix
	if p.prefix == "" {
		p.prefix = own
	}
	if p.cache == "" {
		p.cache = filepath.Join(home, ".npm")
	}
	files := []string{
		filepath.Join(npm, "npmrc"), filepath.Join(own, "etc", "npmrc"), filepath.Join(p.prefix, "etc", "npmrc"),
		filepath.Join(home, ".npmrc"),
	}
	for _, dir := range p.dirs {
		files = append(files, filepath.Join(dir, ".npmrc"))
	}
	usual := filepath.IsAbs(p.cache) && filepath.IsAbs(p.prefix) && !slices.ContainsFunc(files, unusual)
	return p, usual
}

// npmOf returns npm's directory, if the command is the npx of an npm that can
// be foreseen. Before its version 9, npm run by root ran programs as the owner
// of the working directory.
func npmOf(command, path string) (dir string, ok bool) {
	file := command
	if !strings.Contains(command, "/") {
		if file, ok = find(command, path); !ok {
			return "", false
		}
	}
	file, err := filepath.EvalSymlinks(file)
	if err != nil || !filepath.IsAbs(file) || !strings.HasSuffix(file, "/npm/bin/npx-cli.js") {
		return "", false
	}
	dir = filepath.Dir(filepath.Dir(file))
	npm, ok := readManifest(filepath.Join(dir, "package.json"))
	major, _, _ := strings.Cut(npm.Version, ".")
	n, err := strconv.Atoi(major)
	return dir, ok && err == nil && n >= 9
}

// find looks a program up as a shell does; false also where the answer depends
// on the working directory.
func find(name, path string) (string, bool) {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			return "", false
		}
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, true
		}
	}
	return "", false
}

// provides reports whether a project that the working directory lies in, or a
// global installation, may have the package or a program of that name. They go
// before npx's own.
func (p place) provides(r request) bool {
	first := r.spec
	if r.command != "" {
		first = r.command
	}
	if exists(filepath.Join(p.prefix, "bin", first)) || exists(filepath.Join(p.prefix, "lib", "node_modules", r.name)) {
		return true
	}
	for _, dir := range p.dirs {
		modules := filepath.Join(dir, "node_modules")
		if exists(filepath.Join(modules, ".bin", first)) || exists(filepath.Join(modules, ".bin", "node")) ||
			exists(filepath.Join(modules, r.name)) {
			return true
		}
		file := filepath.Join(dir, "package.json")
		if !exists(file) {
			continue
		}
		project, ok := readManifest(file)
		if !ok || project.Name == r.name || project.Bin != nil || project.Workspaces != nil {
			return true
		}
	}
	return false
}

// unusual reports whether a configuration file of npm has a setting by which
// npx would do something else.
func unusual(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return !os.IsNotExist(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		key, _, _ := strings.Cut(lines.Text(), "=")
		key = strings.ToLower(strings.Trim(strings.TrimSuffix(strings.TrimSpace(key), "[]"), `"' `))
		if matters(key) || strings.Contains(key, "${") {
			return true
		}
	}
	return lines.Err() != nil
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

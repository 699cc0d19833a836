// Package npx finds out what npx would run, without running it: npx itself
// takes a second or two for that each time, and stays as a process, with a
// shell, above the program.
//
// It knows what npm 9 and later do ("npm exec", package libnpmexec), where a
// package that was once fetched lies in npm's cache under the hash of how it
// was asked for, and gives up wherever something else might be run: then npx is
// the one to ask.
package npx

import (
	"crypto/sha512"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// Program is what npx would run.
type Program struct {
	Node string   // the program to start, an absolute path
	Args []string // its arguments: the package's command, then those that it is given
	Path string   // the PATH that it gets, which begins with the package's commands
	Root string   // the directory with the package and all that it depends on
}

// Resolve returns the program that a command, which may be npx, stands for with
// these arguments, environment ("NAME=value") and working directory ("" for
// that of this process). It only reads files.
//
// It returns false if the command is not npx, if the package has not been
// fetched yet in just these words, and for whatever is unusual: options other
// than --yes, --quiet, --silent, --prefer-offline and one --package; packages
// that are not from a registry, or that a project, a global installation or a
// setting of npm could provide otherwise; commands that are no scripts for
// "env node". It always does so on Windows, where npm links commands in other
// ways.
//
// A package that is asked for by a range, a tag or its name only is taken as it
// was fetched. When npx would look for a newer one, this does not.
func Resolve(command string, args, env []string, dir string) (Program, bool) {
	if runtime.GOOS == "windows" || filepath.Base(command) != "npx" {
		return Program{}, false
	}
	request, ok := parse(args)
	if !ok {
		return Program{}, false
	}
	place, ok := look(command, env, dir)
	if !ok || place.provides(request) {
		return Program{}, false
	}
	root := filepath.Join(place.cache, "_npx", hash(request.spec))
	bin, ok := request.find(root)
	if !ok || exists(filepath.Join(filepath.Dir(bin), "node")) {
		return Program{}, false
	}
	return Program{
		Node: place.node,
		Args: append([]string{bin}, request.args...),
		Path: filepath.Dir(bin) + string(filepath.ListSeparator) + place.path,
		Root: root,
	}, true
}

// request is what npx is asked for.
type request struct {
	spec    string // of the package, as it was written
	name    string // of the package
	version string // that has to be there; "" for any that was fetched for the spec
	command string // of the package; "" for the one that it is about
	args    []string
}

// specPattern is a package of a registry: its name, and a version, a range in
// one word or a tag.
var specPattern = regexp.MustCompile(`^((?:@[a-z0-9~][a-z0-9._~-]*/)?[a-z0-9~][a-z0-9._~-]*)(?:@([\w.^~<>=*+-]+))?$`)

// exactPattern is a version that stands for itself (semver.org).
var exactPattern = regexp.MustCompile(`^\d+\.\d+\.\d+(?:-[\w.-]+)?(?:\+[\w.-]+)?$`)

// parse reads the arguments of npx. What follows the first one that is no
// option belongs to the command.
func parse(args []string) (request, bool) {
	var r request
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "--" {
		option, value, joined := strings.Cut(args[0], "=")
		args = args[1:]
		switch {
		case slices.Contains([]string{"-y", "--yes", "-q", "--quiet", "-s", "--silent", "--prefer-offline"}, option) && !joined:
		case (option == "-p" || option == "--package") && r.spec == "":
			if !joined {
				if len(args) == 0 {
					return r, false
				}
				value, args = args[0], args[1:]
			}
			r.spec = value
		default:
			return r, false
		}
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	// npm has its own way with another "--".
	if len(args) == 0 || slices.Contains(args, "--") {
		return r, false
	}
	if r.spec == "" {
		r.spec = args[0]
	} else {
		r.command = args[0]
	}
	r.args = args[1:]

	parts := specPattern.FindStringSubmatch(r.spec)
	if parts == nil || strings.ContainsAny(r.command, `/\`) || isArchive(r.spec) {
		return r, false
	}
	r.name = parts[1]
	if exactPattern.MatchString(parts[2]) {
		r.version = parts[2]
	}
	return r, true
}

// isArchive reports whether npm takes a word for a file.
func isArchive(spec string) bool {
	spec = strings.ToLower(spec)
	return strings.HasSuffix(spec, ".tgz") || strings.HasSuffix(spec, ".tar.gz") || strings.HasSuffix(spec, ".tar")
}

// hash is the name of the directory that a package lies in.
func hash(spec string) string {
	sum := sha512.Sum512([]byte(spec))
	return hex.EncodeToString(sum[:])[:16]
}

// find returns the link to the command of the package that npx has fetched into
// a directory.
func (r request) find(root string) (link string, ok bool) {
	// npx is at it, or was when it was ended.
	if exists(filepath.Join(root, "concurrency.lock")) {
		return "", false
	}
	fetched, ok := readManifest(filepath.Join(root, "package.json"))
	if !ok || !slices.Equal(fetched.NPX.Packages, []string{r.spec}) {
		return "", false
	}
	dir := filepath.Join(root, "node_modules", filepath.FromSlash(r.name))
	pkg, ok := readManifest(filepath.Join(dir, "package.json"))
	if !ok || pkg.Name != r.name || r.version != "" && r.version != pkg.Version {
		return "", false
	}
	bin, ok := pkg.command(r.command)
	if !ok {
		return "", false
	}
	link = filepath.Join(root, "node_modules", ".bin", bin.name)
	target, err := filepath.EvalSymlinks(link)
	if err != nil {
		return "", false
	}
	file, err := filepath.EvalSymlinks(filepath.Join(dir, filepath.FromSlash(bin.file)))
	return link, err == nil && file == target && firstLine(file) == "#!/usr/bin/env node"
}

// exists reports whether something is there, or cannot be ruled out to be.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !os.IsNotExist(err)
}

// firstLine returns the first line of a file; "" if it has none that is short.
func firstLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 128)
	n, _ := f.Read(head)
	line, _, whole := strings.Cut(string(head[:n]), "\n")
	if !whole {
		return ""
	}
	return strings.TrimRight(line, " \r")
}

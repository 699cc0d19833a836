package secret

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolcrib/toolcrib/internal/message"
)

// maxFile is how many bytes a file that holds a secret may have.
const maxFile = 64 << 10

// Options say where a Resolver finds what placeholders refer to.
type Options struct {
	Dir    string                           // of the configuration file; the working directory if empty
	Home   string                           // of the user; as the operating system says if empty
	Getenv func(name string) (string, bool) // os.LookupEnv if nil
	Store  *Store                           // of sealed values; nil if there is none
}

// Resolver fills in placeholders. It keeps nothing: each text is filled in
// with what the environment, the files and the store hold at that moment. It
// is safe for concurrent use.
type Resolver struct {
	dir    string
	home   string
	getenv func(string) (string, bool)
	store  *Store
}

// New returns a Resolver.
func New(opt Options) *Resolver {
	r := &Resolver{dir: opt.Dir, home: opt.Home, getenv: opt.Getenv, store: opt.Store}
	// Without an absolute directory, or a home, what refers to it fails later.
	if dir, err := filepath.Abs(r.dir); err == nil {
		r.dir = dir
	}
	if r.home == "" {
		r.home, _ = os.UserHomeDir()
	}
	if r.getenv == nil {
		r.getenv = os.LookupEnv
	}
	return r
}

// Workspace is the project that a configuration file in the directory dir
// belongs to: dir itself, or its parent if dir is a folder in which an editor
// keeps its settings within a project, such as .vscode.
func Workspace(dir string) string {
	switch filepath.Base(dir) {
	case ".vscode", ".cursor", ".roo", ".kilocode", ".kiro", ".gemini", ".zed":
		return filepath.Dir(dir)
	}
	return dir
}

// Resolve returns the text with its placeholders filled in. The error is an
// [*UnresolvedError].
func (r *Resolver) Resolve(text string) (string, error) {
	filled, _, err := r.Fill(text)
	return filled, err
}

// Fill is Resolve, and returns besides what it has filled in that is not to be
// shown: every value but the names of places.
func (r *Resolver) Fill(text string) (filled string, secrets []string, err error) {
	var b strings.Builder
	err = scan(text, func(s string) { b.WriteString(s) }, func(p Placeholder) error {
		value, reason := r.value(p)
		if !reason.Empty() {
			return &UnresolvedError{Placeholder: p.String(), Reason: reason}
		}
		if p.Kind != Place {
			secrets = append(secrets, value)
		}
		b.WriteString(value)
		return nil
	})
	if err != nil {
		return "", nil, err
	}
	return b.String(), secrets, nil
}

// value is what a placeholder stands for, or the reason why there is nothing.
func (r *Resolver) value(p Placeholder) (value string, reason message.Phrase) {
	if fault := p.Fault(); fault != "" {
		return "", message.Term(fault)
	}
	switch p.Kind {
	case Env:
		value, reason = r.variable(p)
	case File:
		value, reason = r.content(p.Name)
	case Stored:
		value, reason = r.sealed(p.Name)
	case Input:
		value, reason = r.input(p.Name)
	case Place:
		value, reason = r.place(p.Name)
	}
	if strings.Contains(value, "\x00") {
		return "", message.Say("the value has a NUL character")
	}
	return value, reason
}

func (r *Resolver) variable(p Placeholder) (value string, reason message.Phrase) {
	if value, _ := r.getenv(p.Name); value != "" {
		return value, message.Phrase{}
	}
	if p.HasDefault {
		return p.Default, message.Phrase{}
	}
	return "", message.Say("the environment variable %s of Toolcrib is not set", message.Quote(p.Name))
}

func (r *Resolver) content(name string) (value string, reason message.Phrase) {
	path, err := r.path(r.dir, name)
	if err != nil {
		return "", message.Cause(err)
	}
	text, err := readFile(path)
	if err != nil {
		return "", message.Say("the file %s cannot be read: %s", message.Quote(path), message.Cause(err))
	}
	if value, found := strings.CutSuffix(text, "\n"); found {
		text = strings.TrimSuffix(value, "\r")
	}
	if text == "" {
		return "", message.Say("the file %s is empty", message.Quote(path))
	}
	return text, message.Phrase{}
}

func (r *Resolver) sealed(name string) (value string, reason message.Phrase) {
	if r.store == nil {
		return "", message.Say("there is no store of sealed values")
	}
	value, err := r.store.Get(name)
	switch {
	case errors.Is(err, ErrNotSet):
		return "", message.Say("no value is sealed under %q; set it with: toolcrib secret set %s", name, message.Quote(name))
	case err != nil:
		return "", message.Cause(err)
	}
	return value, message.Phrase{}
}

// InputName is the name under which the store has the value of an input.
func InputName(id string) string { return "input." + id }

func (r *Resolver) input(id string) (value string, reason message.Phrase) {
	name := InputName(id)
	if r.store != nil && ValidName(name) {
		value, err := r.store.Get(name)
		switch {
		case err == nil:
			return value, message.Phrase{}
		case !errors.Is(err, ErrNotSet):
			return "", message.Cause(err)
		}
	}
	variable := "TOOLCRIB_INPUT_" + strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z':
			return c - 'a' + 'A'
		case 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
			return c
		}
		return '_'
	}, id)
	if value, _ := r.getenv(variable); value != "" {
		return value, message.Phrase{}
	}
	if !ValidName(name) {
		return "", message.Say("the environment variable %s of Toolcrib is not set", variable)
	}
	return "", message.Say("the input has no value; set it with: toolcrib secret set %s, or with the environment variable %s", name, variable)
}

func (r *Resolver) place(name string) (value string, reason message.Phrase) {
	switch name {
	case "workspaceFolder":
		return Workspace(r.dir), message.Phrase{}
	case "workspaceFolderBasename":
		return filepath.Base(Workspace(r.dir)), message.Phrase{}
	case "userHome":
		if r.home == "" {
			return "", message.Say("where the user's home is is not known")
		}
		return r.home, message.Phrase{}
	}
	return string(filepath.Separator), message.Phrase{} // pathSeparator, /
}

// Path returns an absolute path: relative ones are within the project that the
// configuration file belongs to, and ~/ is the user's home.
func (r *Resolver) Path(name string) (string, error) { return r.path(Workspace(r.dir), name) }

func (r *Resolver) path(base, name string) (string, error) {
	switch {
	case name == "~" || strings.HasPrefix(name, "~/") || strings.HasPrefix(name, `~\`):
		if r.home == "" {
			return "", errors.New("where the user's home is is not known")
		}
		return filepath.Join(r.home, name[1:]), nil
	case filepath.IsAbs(name):
		return filepath.Clean(name), nil
	}
	return filepath.Join(base, name), nil
}

// readFile reads a regular file of limited size. Its errors do not name it.
func readFile(path string) (string, error) {
	info, err := os.Stat(path) // opening a pipe would wait for its writer
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errors.New("there is no such file")
	case err != nil:
		return "", plain(err)
	case !info.Mode().IsRegular():
		return "", errors.New("it is no regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", plain(err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return "", plain(err)
	}
	if len(raw) > maxFile {
		return "", fmt.Errorf("it is larger than %d KiB", maxFile>>10)
	}
	return string(raw), nil
}

// plain is an error of the file system without the path.
func plain(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

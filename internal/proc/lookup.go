package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// NotFoundError says that there is no program of that name. It unwraps to
// [fs.ErrNotExist].
type NotFoundError struct {
	Command string // as in the [Spec]
	Path    string // the PATH that was searched, or the file for a command given as a path
}

// Error names the command and where it was looked for.
func (e *NotFoundError) Error() string {
	if e.Command == "" {
		return "start: no command given"
	}
	return fmt.Sprintf("start %s: command not found in %q", e.Command, e.Path)
}

// Unwrap returns [fs.ErrNotExist].
func (e *NotFoundError) Unwrap() error { return fs.ErrNotExist }

// Reason tells why a program that is there could not be started.
type Reason string

// The reasons of a [StartError].
const (
	NotExecutable    Reason = "not executable"    // a directory, or a file that is no program
	PermissionDenied Reason = "permission denied" // the system refuses to run it
	BadFormat        Reason = "bad format"        // not a program for this machine, or its interpreter is missing
	BadDir           Reason = "bad directory"     // the working directory is missing or not a directory
	NotConfined      Reason = "not confined"      // there is no sandbox as asked for; the error is one of package sandbox
	Failed           Reason = "failed"            // anything else, such as too many processes
)

// StartError tells why a child could not be started, other than that its
// program was not found. It unwraps to the error of the system.
type StartError struct {
	Reason  Reason
	Command string // as in the [Spec]
	File    string // the program that was found; for BadDir, the directory
	Err     error
}

// Error says what could not be started and why.
func (e *StartError) Error() string {
	switch e.Reason {
	case NotExecutable:
		return fmt.Sprintf("start %s: %s is not executable", e.Command, e.File)
	case PermissionDenied:
		return fmt.Sprintf("start %s: permission denied for %s", e.Command, e.File)
	case BadFormat:
		return fmt.Sprintf("start %s: %s is no program for this machine, or its interpreter is missing", e.Command, e.File)
	case BadDir:
		return fmt.Sprintf("start %s: working directory %s: %v", e.Command, e.File, cause(e.Err))
	default:
		return fmt.Sprintf("start %s: %v", e.Command, cause(e.Err))
	}
}

// Unwrap returns the error of the system.
func (e *StartError) Unwrap() error { return e.Err }

// cause strips the operation and the path, which the sentence already has.
func cause(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

// lookup finds the file that a command stands for, as an absolute path.
//
// A bare name is looked up in the PATH of env, which is the child's. Relative
// entries of PATH are skipped: what runs must not depend on where this process
// happens to stand.
func lookup(command, dir string, env []string) (string, error) {
	if command == "" {
		return "", &NotFoundError{}
	}
	if strings.Contains(command, "/") || filepath.Base(command) != command {
		return lookupPath(command, dir, env)
	}
	path := getenv(env, "PATH")
	var refused *StartError
	for _, entry := range filepath.SplitList(path) {
		if !filepath.IsAbs(entry) {
			continue
		}
		candidate := filepath.Join(entry, command)
		file, err := executable(candidate, env)
		if err == nil {
			return file, nil
		}
		if r := refusal(command, candidate, err); refused == nil && r.Reason != Failed {
			refused = r
		}
	}
	if refused != nil {
		return "", refused
	}
	return "", &NotFoundError{Command: command, Path: path}
}

func lookupPath(command, dir string, env []string) (string, error) {
	file := command
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return "", &StartError{Reason: Failed, Command: command, File: command, Err: err}
	}
	found, err := executable(file, env)
	if errors.Is(err, fs.ErrNotExist) {
		return "", &NotFoundError{Command: command, Path: file}
	}
	if err != nil {
		return "", refusal(command, file, err)
	}
	return found, nil
}

func refusal(command, file string, err error) *StartError {
	reason := Failed
	switch {
	case errors.Is(err, errNotExecutable):
		reason = NotExecutable
	case errors.Is(err, fs.ErrPermission):
		reason = PermissionDenied
	}
	return &StartError{Reason: reason, Command: command, File: file, Err: err}
}

// errNotExecutable is the answer of executable for a file that is there and
// is no program.
var errNotExecutable = errors.New("not executable")

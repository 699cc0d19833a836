// Package sandbox confines a program, and whatever it starts in turn, to the
// files and TCP ports that are named for it.
//
// A process can give up rights for itself only, not for a child. So this
// program is started once more in the child's place ([Command]), confines
// itself, and then becomes the program that was meant ([Launch]). That program
// keeps its process id, environment, working directory and open standard
// streams.
//
// It is done with Landlock and seccomp of Linux, for which nobody needs to be
// root. What holds then, for as long as the program and what it starts live:
//
//   - Files and directories can be read, run, changed and made only as named,
//     and as in the base set below. What a path leads to is still seen by
//     stat(2), and a symbolic link can be read everywhere.
//   - TCP connections go to the ports named, and only such ports can be bound;
//     to none if none is named. Protocols that would get around that (Multipath
//     TCP, SCTP, SMC, TCP Fast Open, raw sockets) are refused. What listens
//     without binding a port first gets one that the system picks all the same.
//   - UDP, such as for DNS, and Unix sockets are not restricted, which are
//     beyond what Landlock can tell apart. A server that may reach the socket of
//     a container engine, of a session bus or of the hub itself can have others
//     work for it. The hub's is closed to it if every caller has to show a token,
//     which lies in a file.
//   - Set-user-ID programs give no rights. A program that runs as root keeps
//     only the capabilities that are about files, users and low ports.
//   - Processes outside cannot be traced, nor sent signals to where the kernel
//     can refuse that (6.12 and later).
//   - Programs for another architecture than that of this program do not run.
//
// The base set is what every program needs to start, and holds nothing of a
// person's. To be read and run: the directories of the system's programs and
// libraries (/usr, /bin, /sbin, /lib*, /opt, /nix/store, /gnu/store), /etc with
// the files of name resolution that links in it lead to, and
// /sys/devices/system/cpu. To be written too: /dev/null, zero, full, random and
// urandom. And the program's own file, with the interpreters that "#!" lines
// name.
//
// These are left out for a reason, and have to be named where a program needs
// them: the program's directory, which may be a home; temporary directories,
// which all programs of a user share; /dev/tty, which is the hub's terminal; and
// /proc, in which the command lines of all processes stand, keys and all. Of
// /proc there is all or nothing: a process's own part of it is another file each
// time the kernel remembers it anew, so that leave to read it would be lost.
package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

// Policy is what a program may reach besides the base set.
//
// A path may begin with "~", which is this process's home, and is else
// absolute or relative to Dir. It has to be there when the program is started;
// a symbolic link stands for what it leads to at that moment.
type Policy struct {
	Read    []string // files, and directories with all in them, that may be read and run
	Write   []string // that may be changed as well
	Connect []uint16 // TCP ports that connections may be made to
	Bind    []uint16 // TCP ports that may be listened on; 0 for any that the system picks

	Dir string // where relative paths start; "" for this process's working directory

	// Limits of the program and of each process that it starts; 0 for this
	// process's own. They do not hold for the launcher, which may need more.
	Files  int   // open at once (RLIMIT_NOFILE)
	Memory int64 // bytes of data (RLIMIT_DATA)

	// Parent, if not 0, is the process that starts the program: when its thread
	// which did so ends, the program is asked to end by SIGTERM. Without it the
	// program is not, whatever was set for the launcher.
	Parent int
}

// UnavailableError says why this system has no sandbox to give. Trying again
// is of no use.
type UnavailableError struct{ Reason string }

// Error is the reason.
func (e *UnavailableError) Error() string { return e.Reason }

// PolicyError says what is wrong with a [Policy] for a program.
type PolicyError struct {
	Path string // as it was written, or the program's
	Err  error
}

// Error names the path.
func (e *PolicyError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }

// Unwrap returns what is wrong with the path.
func (e *PolicyError) Unwrap() error { return e.Err }

// Available returns nil if this system can enforce all of a [Policy], else an
// [*UnavailableError].
func Available() error {
	if reason := unavailable(); reason != "" {
		return &UnavailableError{Reason: reason}
	}
	return nil
}

// Command returns the program and arguments, its name first, by which this
// very program starts the program at the absolute path with argv, confined by
// p. Nothing of it is secret but what is in argv. The errors are
// [*UnavailableError] and [*PolicyError].
func Command(p Policy, path string, argv []string) (launcher string, launch []string, err error) {
	if err := Available(); err != nil {
		return "", nil, err
	}
	o := order{Program: path, Connect: p.Connect, Bind: p.Bind, Files: p.Files, Memory: p.Memory, Parent: p.Parent}
	if o.Read, err = p.resolve(p.Read); err != nil {
		return "", nil, err
	}
	if o.Write, err = p.resolve(p.Write); err != nil {
		return "", nil, err
	}
	o.Read = append(o.Read, programFiles(path)...)
	text, err := json.Marshal(o)
	if err != nil {
		return "", nil, &PolicyError{Path: path, Err: err}
	}
	return self, append([]string{"toolcrib", launchWord, string(text)}, argv...), nil
}

// Launch carries out what [Command] has asked for. It is to be called first of
// all by main and TestMain, with the program's arguments without its name. If
// it was not asked for anything it returns false. Else it does not return,
// unless the program cannot be confined or started: then it has said why on
// standard error, for [Refused] to find, and the process is to exit with code:
// 126, or 127 if the program is not there.
func Launch(args []string) (handled bool, code int) {
	if len(args) == 0 || args[0] != launchWord {
		return false, 0
	}
	if len(args) < 3 {
		return true, refuse(errors.New("it was called without a program"))
	}
	signal.Reset() // what was to end the program ends this process in its place
	var o order
	if err := json.Unmarshal([]byte(args[1]), &o); err != nil {
		return true, refuse(fmt.Errorf("it cannot read what it was asked for: %w", err))
	}
	return true, refuse(o.launch(args[2:]))
}

// Refused finds in what a program that ended has written to standard error why
// it was not started in its sandbox, in words for a person.
func Refused(stderr string) (reason string, ok bool) {
	for line := range strings.Lines(stderr) {
		if reason, ok = strings.CutPrefix(line, refusalMark); ok {
			return strings.TrimSpace(reason), true
		}
	}
	return "", false
}

const (
	// launchWord is the first argument of this program as a launcher. It is no
	// command that anybody would type.
	launchWord = "__sandbox"

	refusalMark = "toolcrib: no sandbox: "
)

// refuse says why a program was not started and returns the exit code, which
// is as a shell's.
func refuse(err error) int {
	fmt.Fprintf(os.Stderr, "%s%v\n", refusalMark, err)
	if errors.Is(err, fs.ErrNotExist) {
		return 127
	}
	return 126
}

// order is what a launcher is asked for: a policy whose paths are absolute.
type order struct {
	Program string   `json:"program"`
	Read    []string `json:"read,omitempty"`
	Write   []string `json:"write,omitempty"`
	Connect []uint16 `json:"connect,omitempty"`
	Bind    []uint16 `json:"bind,omitempty"`
	Files   int      `json:"files,omitempty"`
	Memory  int64    `json:"memory,omitempty"`
	Parent  int      `json:"parent,omitempty"`
}

// resolve makes paths absolute and sees that they are there.
func (p Policy) resolve(paths []string) ([]string, error) {
	all := make([]string, 0, len(paths))
	for _, written := range paths {
		path, err := p.absolute(written)
		if err == nil {
			_, err = os.Stat(path)
		}
		if err != nil {
			return nil, &PolicyError{Path: written, Err: cause(err)}
		}
		all = append(all, path)
	}
	return all, nil
}

func (p Policy) absolute(path string) (string, error) {
	switch {
	case path == "":
		return "", errors.New("a path is empty")
	case path == "~" || strings.HasPrefix(path, "~/"):
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		return filepath.Join(home, path[1:]), nil
	case filepath.IsAbs(path):
		return filepath.Clean(path), nil
	}
	return filepath.Abs(filepath.Join(p.Dir, path))
}

// programFiles are the files that starting a program runs: its own, and the
// interpreters of scripts, of which the kernel follows a few.
func programFiles(path string) []string {
	files := []string{path}
	for range 4 {
		next := interpreter(path)
		if !filepath.IsAbs(next) {
			break
		}
		if _, err := os.Stat(next); err != nil {
			break
		}
		files, path = append(files, next), next
	}
	return files
}

// interpreter reads the "#!" line of a script; "" if there is none.
func interpreter(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 256) // BINPRM_BUF_SIZE of Linux
	n, _ := f.Read(head)
	line, script := strings.CutPrefix(string(head[:n]), "#!")
	if !script {
		return ""
	}
	line, _, _ = strings.Cut(line, "\n")
	name, _, _ := strings.Cut(strings.Trim(line, " \t"), " ")
	name, _, _ = strings.Cut(name, "\t")
	return name
}

// cause strips the operation and the path, which the sentence already has.
func cause(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

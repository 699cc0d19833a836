//go:build unix

package proc

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func writeFile(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func TestLookup(t *testing.T) {
	root := t.TempDir()
	const hello = "#!/bin/sh\necho hello from $0\n"
	writeFile(t, root+"/a/plain", "data", 0o644)
	writeFile(t, root+"/b/plain", hello, 0o755)
	writeFile(t, root+"/b/tool", hello, 0o755)
	path := map[string]string{"PATH": "relative:" + root + "/missing:" + root + "/b/tool:" + root + "/a:" + root + "/b"}

	tests := []struct {
		name string
		spec Spec
		want string
	}{
		{"in the PATH of the child", Spec{Command: "tool", Env: path}, root + "/b/tool"},
		{"behind a file that is no program", Spec{Command: "plain", Env: path}, root + "/b/plain"},
		{"relative to the directory", Spec{Command: "./b/tool", Dir: root}, root + "/b/tool"},
		{"absolute", Spec{Command: root + "/b/tool", Dir: root + "/a"}, root + "/b/tool"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, err := Start(test.spec)
			if err != nil {
				t.Fatal(err)
			}
			out, _ := io.ReadAll(p.Stdout())
			stop(t, p)
			if got := string(out); got != "hello from "+test.want+"\n" {
				t.Errorf("%q, want %s", got, test.want)
			}
		})
	}
}

func TestStartErrors(t *testing.T) {
	root := t.TempDir()
	t.Setenv("PATH", root+"/bin")
	writeFile(t, root+"/bin/data", "data", 0o644)
	writeFile(t, root+"/bin/garbage", "\x00\x01garbage", 0o755)
	writeFile(t, root+"/bin/lost", "#!/no/such/interpreter\n", 0o755)
	writeFile(t, root+"/bin/fine", "#!/bin/sh\n", 0o755)

	for _, test := range []struct {
		name  string
		spec  Spec
		path  string
		error string
	}{
		{"bare name", Spec{Command: "npx"}, root + "/bin", `start npx: command not found in "` + root + `/bin"`},
		{"PATH of the child", Spec{Command: "fine", Env: map[string]string{"PATH": "/x:/y"}}, "/x:/y", `start fine: command not found in "/x:/y"`},
		{"path", Spec{Command: "./fine", Dir: root}, root + "/fine", `start ./fine: command not found in "` + root + `/fine"`},
		{"no command", Spec{}, "", "start: no command given"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Start(test.spec)
			missing, ok := errors.AsType[*NotFoundError](err)
			if !ok || missing.Command != test.spec.Command || missing.Path != test.path || err.Error() != test.error {
				t.Errorf("%#v: %v", err, err)
			}
			if !errors.Is(err, fs.ErrNotExist) {
				t.Error("not fs.ErrNotExist")
			}
		})
	}

	for _, test := range []struct {
		name   string
		spec   Spec
		reason Reason
		error  string
	}{
		{"no program", Spec{Command: "data"}, NotExecutable, "start data: " + root + "/bin/data is not executable"},
		{"directory", Spec{Command: root + "/bin"}, NotExecutable, "start " + root + "/bin: " + root + "/bin is not executable"},
		{"garbage", Spec{Command: "garbage"}, BadFormat, "start garbage: " + root + "/bin/garbage is no program for this machine, or its interpreter is missing"},
		{"interpreter", Spec{Command: "lost"}, BadFormat, "start lost: " + root + "/bin/lost is no program for this machine, or its interpreter is missing"},
		{"no directory", Spec{Command: "fine", Dir: root + "/none"}, BadDir, "start fine: working directory " + root + "/none: no such file or directory"},
		{"directory is a file", Spec{Command: "fine", Dir: root + "/bin/fine"}, BadDir, "start fine: working directory " + root + "/bin/fine: not a directory"},
		{"NUL", Spec{Command: "fine", Args: []string{"a\x00b"}}, Failed, "start fine: invalid argument"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Start(test.spec)
			failed, ok := errors.AsType[*StartError](err)
			if !ok || failed.Reason != test.reason || failed.Command != test.spec.Command || err.Error() != test.error {
				t.Errorf("%#v: %v", err, err)
			}
		})
	}
}

func TestPermissionDenied(t *testing.T) {
	if os.Getuid() == 0 {
		// Root is refused nothing, so ask how a refusal would be told.
		err := refusal("x", "/x", &fs.PathError{Op: "stat", Path: "/x", Err: fs.ErrPermission})
		if err.Reason != PermissionDenied || err.Error() != "start x: permission denied for /x" {
			t.Errorf("%#v: %v", err, err)
		}
		return
	}
	dir := t.TempDir()
	writeFile(t, dir+"/tool", "#!/bin/sh\n", 0o755)
	if err := os.Chmod(dir, 0); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(dir, 0o755) }()
	_, err := Start(Spec{Command: dir + "/tool"})
	if failed, ok := errors.AsType[*StartError](err); !ok || failed.Reason != PermissionDenied {
		t.Errorf("%#v", err)
	}
}

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/datadir"
	codes "github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// TestTokenFiles: the hub does not start on a token that others may know, or
// that is somewhere else than it seems, nor at a socket that others could have
// put there.
func TestTokenFiles(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T, env []string, dir string, code codes.Code, want string) {
		t.Helper()
		p := rig.Spawn(t, append([]string{"LC_ALL=C"}, env...), rig.HubBinary(t), "serve", "--listen", "none", "--data-dir", dir)
		if line, ok := p.Line(); ok {
			t.Errorf("the hub started: %s", line)
		}
		if exit := p.Wait(); exit != 1 || !said(code).MatchString(p.Stderr()) || !strings.Contains(p.Stderr(), want) {
			t.Errorf("exit code %d, and standard error does not say %s with %q:\n%s", exit, code, want, p.Stderr())
		}
	}
	fresh := func(t *testing.T) (dir, token string) {
		t.Helper()
		hub := rig.Serve(t, nil, "--listen", "none", "--data-dir", t.TempDir())
		hub.Stop()
		token = datadir.Layout(hub.DataDir).AdminToken()
		for _, path := range []string{token, datadir.Layout(hub.DataDir).CallerToken()} {
			if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
				t.Errorf("%s has %v, %v", path, info.Mode(), err)
			}
		}
		return hub.DataDir, token
	}
	t.Run("readable by others", func(t *testing.T) {
		t.Parallel()
		dir, token := fresh(t)
		if err := os.Chmod(token, 0o644); err != nil { //nolint:gosec // that is what is refused
			t.Fatal(err)
		}
		start(t, nil, dir, codes.TokenExposed, "can be read or changed by others")
	})
	t.Run("a symbolic link", func(t *testing.T) {
		t.Parallel()
		dir, token := fresh(t)
		if err := os.Rename(token, token+".real"); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(token+".real", token); err != nil {
			t.Fatal(err)
		}
		start(t, nil, dir, codes.TokenUnusable, "it is no regular file")
	})
	t.Run("both the same", func(t *testing.T) {
		t.Parallel()
		dir, token := fresh(t)
		text, err := os.ReadFile(token)
		if err != nil {
			t.Fatal(err)
		}
		write(t, string(text), datadir.Layout(dir).CallerToken())
		start(t, nil, dir, codes.TokenUnusable, "it holds the administrator's token")
	})
	t.Run("something at the socket's place", func(t *testing.T) {
		t.Parallel()
		dir, _ := fresh(t)
		write(t, "mine", dir, "hub.sock")
		start(t, nil, dir, codes.SocketUnusable, filepath.Join(dir, "hub.sock"))
		if text, err := os.ReadFile(filepath.Join(dir, "hub.sock")); err != nil || string(text) != "mine" {
			t.Errorf("what was there is %q, %v", text, err)
		}
	})
	// The path of a socket is short, so that the one of a long directory is
	// elsewhere; see where, and put a link there.
	t.Run("a link at the socket's directory", func(t *testing.T) {
		t.Parallel()
		runtime := t.TempDir()
		env := []string{"XDG_RUNTIME_DIR=" + runtime}
		dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
		hub := rig.Serve(t, env, "--listen", "none", "--data-dir", dir)
		hub.Stop()
		made, err := filepath.Glob(filepath.Join(runtime, "toolcrib-*"))
		if err != nil || len(made) != 1 {
			t.Fatalf("in %s are %q, %v", runtime, made, err)
		}
		if info, err := os.Stat(made[0]); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s has %v, %v", made[0], info.Mode(), err)
		}
		elsewhere := t.TempDir()
		if err := os.Remove(made[0]); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(elsewhere, made[0]); err != nil {
			t.Fatal(err)
		}
		start(t, env, dir, codes.DataDirUnusable, made[0])
		if left, err := os.ReadDir(elsewhere); err != nil || len(left) > 0 {
			t.Errorf("something was made where the link points to: %v, %v", left, err)
		}
		// Neither is a directory that others may use.
		if err := os.Remove(made[0]); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(made[0], 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(made[0], 0o777); err != nil { //nolint:gosec // that is what is refused
			t.Fatal(err)
		}
		start(t, env, dir, codes.DataDirUnusable, made[0])
	})
	t.Run("a data directory that others may write", func(t *testing.T) {
		t.Parallel()
		dir, _ := fresh(t)
		if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // that is what is refused
			t.Fatal(err)
		}
		start(t, nil, dir, codes.DataDirUnusable, dir)
	})
}

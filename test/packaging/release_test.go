package packaging_test

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// epoch is the time that the files in the archive have.
const epoch = 1_800_000_000

// top is the directory in the archive.
const top = "toolcrib_" + stamp + "_" + runtime.GOOS + "_" + runtime.GOARCH

// releaseOnce makes a release for this machine, and returns its directory.
var releaseOnce = sync.OnceValues(func() (string, error) { return makeRelease("release") })

func makeRelease(name string) (string, error) {
	out, err := filepath.Abs(filepath.Join(buildDir(), name))
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(context.Background(), "go", "run", "./packaging/release", "-version", stamp, "-out", out, "-targets", runtime.GOOS+"/"+runtime.GOARCH)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", epoch))
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", cmd, err, said)
	}
	return out, nil
}

func released(t *testing.T) string {
	t.Helper()
	long(t)
	lookAt(t, "cmd", "internal", "packaging", "docs")
	dir, err := releaseOnce()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// unpackOnce unpacks the archive of this machine.
var unpackOnce = sync.OnceValues(func() (map[string]*tar.Header, error) {
	dir, err := releaseOnce()
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(dir, top+".tar.gz"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	headers := map[string]*tar.Header{}
	for tape := tar.NewReader(z); ; {
		h, err := tape.Next()
		if errors.Is(err, io.EOF) {
			return headers, nil
		}
		if err != nil {
			return nil, err
		}
		headers[h.Name] = h
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		content, err := io.ReadAll(tape)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o755)
		}
		if err == nil {
			err = os.WriteFile(path, content, h.FileInfo().Mode().Perm())
		}
		if err != nil {
			return nil, err
		}
	}
})

// program is the path of the program as the archive has it.
func program(t *testing.T) string {
	t.Helper()
	dir := released(t)
	if _, err := unpackOnce(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, top, "toolcrib")
}

func TestRelease(t *testing.T) {
	path := program(t)
	headers, err := unpackOnce()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"toolcrib", "LICENSE", "README.md", "README.zh-CN.md", "CHANGELOG.md", "THIRD-PARTY-NOTICES.txt",
		"completions/toolcrib.bash", "completions/toolcrib.zsh", "completions/toolcrib.fish",
		"docs/running.md", "docs/running.zh-CN.md", "docs/configuration.md",
		"packaging/monitoring/alerts.yaml", "packaging/monitoring/grafana-dashboard.json", "packaging/monitoring/README.md",
	}
	if runtime.GOOS == "linux" {
		want = append(want, "systemd/toolcrib.service", "systemd/user/toolcrib.service", "systemd/sysusers.d/toolcrib.conf")
	}
	for _, name := range want {
		h := headers[top+"/"+name]
		mode := int64(0o644)
		if name == "toolcrib" {
			mode = 0o755
		}
		if h == nil || h.Size == 0 || h.Mode != mode || h.Uid != 0 || h.Gid != 0 || !h.ModTime.Equal(time.Unix(epoch, 0)) {
			t.Errorf("%s: %+v", name, h)
		}
	}
	if got, want := output(t, command(t, path, "version")), "toolcrib "+stamp+" "; !strings.HasPrefix(got, want) {
		t.Errorf("it says %q, want %q", got, want)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script, err := os.ReadFile(filepath.Join(filepath.Dir(path), "completions", "toolcrib."+shell))
		if want := output(t, command(t, path, "completion", shell)); err != nil || string(script) != want {
			t.Errorf("%s: %v\n%s", shell, err, script)
		}
	}
	notices, err := os.ReadFile(filepath.Join(filepath.Dir(path), "THIRD-PARTY-NOTICES.txt"))
	for _, name := range []string{"The Go standard library: LICENSE", "github.com/alecthomas/kong v", "golang.org/x/sys v"} {
		if err != nil || !strings.Contains(string(notices), "\n"+name) {
			t.Errorf("the notices do not have %q: %v", name, err)
		}
	}
}

// The same source gives the same bytes, and the sums are theirs.
func TestReleaseIsReproducible(t *testing.T) {
	first := released(t)
	second, err := makeRelease("again")
	if err != nil {
		t.Fatal(err)
	}
	archive := top + ".tar.gz"
	var sums []string
	for _, dir := range []string{first, second} {
		raw, err := os.ReadFile(filepath.Join(dir, archive))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, fmt.Sprintf("%x  %s\n", sha256.Sum256(raw), archive))
		listed, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, string(listed))
	}
	if len(slices.Compact(sums)) != 1 {
		t.Errorf("the sums differ: %q", sums)
	}
}

func TestReleaseRefusals(t *testing.T) {
	long(t)
	for _, tt := range []struct{ version, epoch, targets, want string }{
		{"", "1", "linux/amd64", "-version"},
		{"../v1", "1", "linux/amd64", "-version"},
		{"v1", "", "linux/amd64", "SOURCE_DATE_EPOCH"},
		{"v1", "yesterday", "linux/amd64", "SOURCE_DATE_EPOCH"},
	} {
		cmd := command(t, "go", "run", "./packaging/release", "-version", tt.version, "-targets", tt.targets, "-out", t.TempDir())
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH="+tt.epoch)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "release: ") || !strings.Contains(string(out), tt.want) {
			t.Errorf("%+v: %v\n%s", tt, err, out)
		}
	}
}

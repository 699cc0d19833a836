package packaging_test

import (
	"bytes"
	"context"
	"encoding/json"
	"go/version"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// stage is one image of the container file.
type stage struct {
	base, name   string
	instructions [][2]string // what and its arguments, in order
}

// last is what a stage says of something that is said once or overwritten.
func (s stage) last(what string) string {
	for _, i := range slices.Backward(s.instructions) {
		if i[0] == what {
			return i[1]
		}
	}
	return ""
}

// list is last for what is written as a JSON array.
func (s stage) list(t *testing.T, what string) []string {
	t.Helper()
	return parseList(t, s.last(what))
}

func parseList(t *testing.T, text string) (list []string) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return list
}

// environ are the variables that a stage sets.
func (s stage) environ() map[string]string {
	env := map[string]string{}
	for _, i := range s.instructions {
		if i[0] != "ENV" {
			continue
		}
		for word := range strings.FieldsSeq(i[1]) {
			name, value, _ := strings.Cut(word, "=")
			env[name] = value
		}
	}
	return env
}

func stages(t *testing.T) []stage {
	t.Helper()
	text := regexp.MustCompile(`(?m)^\s*#.*\n`).ReplaceAllString(readFile(t, "Dockerfile"), "")
	var all []stage
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		what, args, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case what == "":
		case what == "FROM":
			base, name, _ := strings.Cut(args, " AS ")
			all = append(all, stage{base: base, name: name})
		case len(all) == 0:
			t.Fatalf("%q comes before the first stage", line)
		default:
			s := &all[len(all)-1]
			s.instructions = append(s.instructions, [2]string{what, args})
		}
	}
	if len(all) != 3 {
		t.Fatalf("want the stage that builds and two images, got %+v", all)
	}
	return all
}

// images are the stages that people run.
func images(t *testing.T) []stage {
	t.Helper()
	return stages(t)[1:]
}

// What is built on does not change by itself, and names no registry.
func TestImageBases(t *testing.T) {
	pinned := regexp.MustCompile(`^[a-z]+:(\d+\.\d+\.\d+)(-[a-z0-9-]+)?$`)
	for _, s := range stages(t) {
		if s.base != "scratch" && !pinned.MatchString(s.base) {
			t.Errorf("FROM %s is not pinned to a version", s.base)
		}
	}
	wanted := regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(readFile(t, "go.mod"))[1]
	got := pinned.FindStringSubmatch(stages(t)[0].base)[1]
	if version.Lang("go"+got) != version.Lang("go"+wanted) || version.Compare("go"+got, "go"+wanted) < 0 {
		t.Errorf("it is built by Go %s, go.mod wants %s", got, wanted)
	}
}

func TestImages(t *testing.T) {
	for _, s := range images(t) {
		if user := s.last("USER"); !regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(user) {
			t.Errorf("%s: it runs as %q, want a user by number that is not the superuser", s.base, user)
		}
		env := s.environ()
		for _, dir := range []string{env["TOOLCRIB_DATA_DIR"], path.Dir(env["TOOLCRIB_CONFIG"])} {
			if !slices.Contains(strings.Fields(s.last("VOLUME")), dir) {
				t.Errorf("%s: %q is no volume", s.base, dir)
			}
		}
		if args := s.list(t, "CMD"); !slices.Contains(args, "0.0.0.0:"+s.last("EXPOSE")) || !slices.Contains(args, "--require-token") {
			t.Errorf("%s: port %s is exposed, and run is %q", s.base, s.last("EXPOSE"), args)
		}
		for what, want := range map[string]string{"ENTRYPOINT": "toolcrib", "HEALTHCHECK": `["toolcrib", "status"]`} {
			if got := s.last(what); !strings.Contains(got, want) {
				t.Errorf("%s: %s %s", s.base, what, got)
			}
		}
	}
	// Where servers run, orphans of theirs have to be reaped.
	if first := images(t)[1].list(t, "ENTRYPOINT")[0]; first != "tini" {
		t.Errorf("the first process is %s", first)
	}
}

// contextOf copies what .dockerignore lets through to a directory.
func contextOf(t *testing.T, dir string) {
	t.Helper()
	kept := 0
	for line := range strings.Lines(readFile(t, ".dockerignore")) {
		line = strings.TrimSpace(line)
		name, again := strings.CutPrefix(line, "!")
		switch {
		case line == "" || line[0] == '#' || line == "*":
			continue
		case !again || strings.ContainsAny(name, "*?["):
			t.Fatalf("%q: all is left out but what is named", line)
		}
		kept++
		from, to := filepath.Join(root, name), filepath.Join(dir, name)
		info, err := os.Stat(from)
		switch {
		case err == nil && info.IsDir():
			err = os.CopyFS(to, os.DirFS(from))
		case err == nil:
			err = os.WriteFile(to, []byte(readFile(t, name)), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if kept == 0 {
		t.Fatal(".dockerignore lets nothing through")
	}
}

// The commands of the stage that builds are run on what the image would get.
// They make the very program that the archives have, since both say how to
// build and nothing else has a say.
func TestImageBuilds(t *testing.T) {
	want := program(t)
	dir, out := t.TempDir(), t.TempDir()
	contextOf(t, dir)
	for _, i := range stages(t)[0].instructions {
		if i[0] != "RUN" {
			continue
		}
		cmd := command(t, "sh", "-ec", strings.ReplaceAll(i[1], "/out/", out+"/"))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "VERSION="+stamp)
		output(t, cmd)
	}
	got, err := os.ReadFile(filepath.Join(out, "toolcrib"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(want)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, raw) {
		t.Error("the image has another program than the archive")
	}
}

// What the images run is run here, with their directories in another place and
// at any port that is free.
func TestImageRuns(t *testing.T) {
	bin := program(t)
	for _, s := range images(t) {
		t.Run(s.base, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var env []string
			for name, value := range s.environ() {
				if name != "PATH" && name != "HOME" {
					env = append(env, name+"="+filepath.Join(dir, value))
				}
			}
			env = home(t.TempDir(), env...)
			run := func(args ...string) *exec.Cmd {
				for i, arg := range args {
					args[i] = strings.Replace(arg, "0.0.0.0:8080", "0.0.0.0:0", 1)
				}
				cmd := command(t, bin, args...)
				cmd.Env = env
				return cmd
			}
			_, check, _ := strings.Cut(s.last("HEALTHCHECK"), "CMD ")
			health := parseList(t, check)[1:]
			if out, err := run(health...).CombinedOutput(); err == nil {
				t.Errorf("it is healthy before it runs: %s", out)
			}
			cmd := run(s.list(t, "CMD")...)
			line, stop := hub(t, cmd)
			if !strings.Contains(line, filepath.Join(dir, "data")) {
				t.Errorf("its data is elsewhere: %s", line)
			}
			output(t, run(health...))

			url := regexp.MustCompile(`http://\S+:\d+`).FindString(line)
			for path, want := range map[string]int{"/healthz": http.StatusOK, "/api/v1/status": http.StatusUnauthorized, "/mcp": http.StatusUnauthorized} {
				if got := statusOf(t, url+path); got != want {
					t.Errorf("GET %s: %d, want %d", path, got, want)
				}
			}
			output(t, run("server", "add", "echo", "--no-test", "--disabled", "--", "echo"))
			if raw, err := os.ReadFile(filepath.Join(dir, "config", "toolcrib.json")); err != nil || !bytes.Contains(raw, []byte("echo")) {
				t.Errorf("the server was not added to the file: %v\n%s", err, raw)
			}
			stop()
			if out, err := run(health...).CombinedOutput(); err == nil {
				t.Errorf("it is healthy when it has ended: %s", out)
			}
		})
	}
}

func statusOf(t *testing.T, url string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

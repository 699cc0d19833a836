package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/secret"
)

// resolver has a project with a few files.
func resolver(t *testing.T) (*secret.Resolver, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		".env": "FROM_FILE=file-value\nBOTH=\"not this\"\n", "bad.env": "hunter2", "token": "tok-from-file\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"KEY": "sk-secret", "HOST": "example.com", "WS": "wss://example.com/mcp", "BREAK": "a\nb", "BLANK": " "}
	return secret.New(secret.Options{Dir: dir, Home: dir, Getenv: func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}}), dir
}

// one is the single server of a text.
func one(t *testing.T, entry string) hub.Server {
	t.Helper()
	c, _, err := Parse("f", []byte(`{"mcpServers":{"a":`+entry+`}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Servers[0]
}

func TestResolve(t *testing.T) {
	r, dir := resolver(t)
	for name, test := range map[string]struct {
		entry   string
		want    func(*hub.Server)
		secrets []string // besides others
		shown   []string // these are none
	}{
		"stdio": {
			`{"command":"${userHome}/run","args":["-y","${KEY}","--api-key=abcdef","plain-argument","$${x}"],"cwd":"sub","env":{"A":"${file:token}","B":"short","C":"long enough"}}`,
			func(s *hub.Server) {
				s.Command, s.Dir = dir+"/run", filepath.Join(dir, "sub")
				s.Args = []string{"-y", "sk-secret", "--api-key=abcdef", "plain-argument", "${x}"}
				s.Env = map[string]string{"A": "tok-from-file", "B": "short", "C": "long enough"}
			},
			[]string{"sk-secret", "abcdef", "tok-from-file", "long enough"},
			[]string{"short", "plain-argument", "-y", dir},
		},
		"command line": {
			`{"command":"npx -y tool --api-key planted-key"}`,
			func(*hub.Server) {},
			[]string{"planted-key"},
			[]string{"npx", "tool"},
		},
		"sandbox": {
			`{"command":"x","cwd":"sub","sandbox":{"read":["${userHome}/docs","data","~/more"],"write":["${TMP_DIR:-../out}"],"connect":[443]}}`,
			func(s *hub.Server) {
				s.Dir = filepath.Join(dir, "sub")
				s.Sandbox = &hub.Sandbox{
					Read:  []string{dir + "/docs", filepath.Join(dir, "sub", "data"), filepath.Join(dir, "more")},
					Write: []string{filepath.Join(dir, "out")}, Connect: []uint16{443},
				}
			},
			nil,
			[]string{dir},
		},
		"sandbox without a folder": {
			`{"command":"x","sandbox":{"read":["data"]}}`,
			func(s *hub.Server) {
				here, err := filepath.Abs("data")
				if err != nil {
					t.Fatal(err)
				}
				s.Sandbox = &hub.Sandbox{Read: []string{here}}
			},
			nil, nil,
		},
		"env file": {
			`{"command":"x","envFile":"${workspaceFolder}/.env","env":{"BOTH":"this one"}}`,
			func(s *hub.Server) {
				s.Env, s.EnvFile = map[string]string{"FROM_FILE": "file-value", "BOTH": "this one"}, ""
			},
			[]string{"file-value", "this one"},
			nil,
		},
		"remote": {
			`{"url":"https://${HOST}/mcp?key=in-query&n=1","headers":{"X":"y","Authorization":"Bearer ${KEY}"}}`,
			func(s *hub.Server) {
				s.URL = "https://example.com/mcp?key=in-query&n=1"
				s.Headers = map[string]string{"X": "y", "Authorization": "Bearer sk-secret"}
			},
			[]string{"sk-secret", "Bearer sk-secret", "in-query", "key=in-query&n=1"},
			[]string{"y", "1"},
		},
		"scheme": {
			`{"url":"${WS}"}`,
			func(s *hub.Server) { s.URL, s.Kind = "wss://example.com/mcp", hub.KindWebSocket }, nil, nil,
		},
		"nothing": {`{"command":"x"}`, func(*hub.Server) {}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := one(t, test.entry)
			before := one(t, test.entry)
			got, secrets, err := Resolve(s, r)
			if err != nil {
				t.Fatal(err)
			}
			want := s
			test.want(&want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(before, s); diff != "" {
				t.Errorf("the server that was given is changed (-want +got)\n%s", diff)
			}
			for _, text := range test.secrets {
				if !slices.Contains(secrets, text) {
					t.Errorf("%q is not told as a secret", text)
				}
			}
			for _, text := range test.shown {
				if slices.Contains(secrets, text) {
					t.Errorf("%q is told as a secret", text)
				}
			}
		})
	}
}

func TestUnresolved(t *testing.T) {
	r, dir := resolver(t)
	for entry, want := range map[string]string{
		`{"command":"x","args":["${NONE}"]}`:                             "${env:NONE}: the environment variable NONE of Toolcrib is not set",
		`{"command":"${BLANK}"}`:                                         `${env:BLANK}: with it, "command" is empty`,
		`{"command":"x","env":{"B":"${B}","A":"${secret:a}"}}`:           "${secret:a}: there is no store of sealed values",
		`{"command":"x","sandbox":{"write":["${env:NONE}/x"]}}`:          "${env:NONE}: the environment variable NONE of Toolcrib is not set",
		`{"command":"x","cwd":"${env:NONE}/x"}`:                          "${env:NONE}: the environment variable NONE of Toolcrib is not set",
		`{"command":"x","cwd":"/","sandbox":{"write":["${NOTES:-}"]}}`:   "${NOTES:-…}: with it, a path of the sandbox is empty",
		`{"command":"x","envFile":"gone"}`:                               "${envFile:gone}: the file " + dir + "/gone cannot be read: there is no such file",
		`{"command":"x","envFile":"bad.env"}`:                            "${envFile:bad.env}: line 1 of the file " + dir + `/bad.env has no "="`,
		`{"command":"x","envFile":"${NONE}"}`:                            "${env:NONE}: the environment variable NONE of Toolcrib is not set",
		`{"url":"${HOST}"}`:                                              `${env:HOST}: with it, "url" must begin with http:// or https://`,
		`{"url":"http://a:${KEY}/"}`:                                     `${env:KEY}: with it, "url" is not a valid URL`,
		`{"type":"http","url":"http://a","headers":{"A":"${BREAK}"}}`:    `${env:BREAK}: with it, the header "A" has a control character`,
		`{"url":"http://a","apiKey":"${command:hunter2}"}`:               "${command:…}: placeholders of this kind are not known here; write $${ for a literal ${",
		`{"command":"x","args":["${env:KEY} ${input:x}","${env:NONE}"]}`: "${input:x}: the input has no value; set it with: toolcrib secret set input.x, or with the environment variable TOOLCRIB_INPUT_X",
	} {
		got, secrets, err := Resolve(one(t, entry), r)
		if err == nil || err.Code != message.PlaceholderUnresolved || secrets != nil || got.Key != "" {
			t.Errorf("%s: %+v, %q, %v", entry, got, secrets, err)
			continue
		}
		if told := err.Args["placeholder"] + ": " + err.Args["reason"]; told != strings.ReplaceAll(want, `"`, `\"`) && told != want {
			t.Errorf("%s:\n got %s\nwant %s", entry, told, want)
		}
		if err.Args["server"] != "a" || strings.Contains(err.Error(), "sk-secret") || strings.Contains(err.Error(), "hunter2") && !strings.Contains(want, "hunter2") {
			t.Errorf("%s: %v", entry, err)
		}
	}
}

// TestResolveBuiltin is a server in which nothing can be filled in.
func TestResolveBuiltin(t *testing.T) {
	r, _ := resolver(t)
	s := Default([]string{"device"}).Servers[0]
	if got, secrets, err := Resolve(s, r); err != nil || secrets != nil || !cmp.Equal(s, got) {
		t.Errorf("%+v, %q, %v", got, secrets, err)
	}
}

// TestProjectFiles is where servers run that are named in a file within a
// project.
func TestProjectFiles(t *testing.T) {
	project := t.TempDir()
	for name, want := range map[string]string{
		"toolcrib.json": "", ".mcp.json": project, ".vscode/mcp.json": project, ".cursor/mcp.json": project, "sub/mcp.json": "",
	} {
		path := filepath.Join(project, filepath.FromSlash(name))
		text := `{"servers":{"a":{"command":"x"},"b":{"command":"x","cwd":"/b"},"c":{"url":"http://c"}}}`
		c, _, err := Parse(path, []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		if a, b, remote := c.Servers[0].Dir, c.Servers[1].Dir, c.Servers[2].Dir; a != want || b != "/b" || remote != "" {
			t.Errorf("%s: %q, %q, %q; want %q", name, a, b, remote, want)
		}
	}
}

func TestDiff(t *testing.T) {
	parse := func(text string) *Config {
		t.Helper()
		c, _, err := Parse("f", []byte(text), []string{"device"})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	before := parse(`{"mcpServers":{"a":{"command":"x","env":{"K":"1"}},"b":{"command":"x"},"c":{"url":"http://c"},"d":{"command":"x"}}}`)
	after := parse(`{"mcpServers":{"new":{"command":"x"},"c":{"url":"http://c","headers":{}},"a":{"command":"x","env":{"K":"2"}},"b":{"command":"x","args":[],"type":"stdio"},"device":{"priority":1}}}`)
	for _, test := range []struct {
		before, after *Config
		want          string // added, changed, removed, unchanged, restarted, views, settings, at the next start
	}{
		{before, after, "{[new] [device a] [d] [c b] [a] false false []}"},
		{before, before, "{[] [] [] [device a b c d] [] false false []}"},
		{nil, after, "{[device new c a b] [] [] [] [] false false []}"},
		{before, nil, "{[] [] [device a b c d] [] [] false false []}"},
		{nil, nil, "{[] [] [] [] [] false false []}"},
	} {
		if got := fmt.Sprint(Diff(test.before, test.after)); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

func TestDefaultPath(t *testing.T) {
	if filepath.Separator != '/' {
		t.Skip("the paths below are those of Unix")
	}
	for _, test := range []struct {
		goos string
		env  map[string]string
		want string
	}{
		{"linux", map[string]string{"HOME": "/home/ada"}, "/home/ada/.config/toolcrib/toolcrib.json"},
		{"linux", map[string]string{"HOME": "/home/ada", "XDG_CONFIG_HOME": "/cfg"}, "/cfg/toolcrib/toolcrib.json"},
		{"linux", map[string]string{"HOME": "/home/ada", "XDG_CONFIG_HOME": "cfg"}, "/home/ada/.config/toolcrib/toolcrib.json"},
		{"freebsd", map[string]string{"HOME": "/home/ada"}, "/home/ada/.config/toolcrib/toolcrib.json"},
		{"darwin", map[string]string{"HOME": "/Users/ada", "XDG_CONFIG_HOME": "/cfg"}, "/Users/ada/Library/Application Support/Toolcrib/toolcrib.json"},
		{"windows", map[string]string{"AppData": "/ada"}, "/ada/Toolcrib/toolcrib.json"},
		{"linux", map[string]string{"TOOLCRIB_CONFIG": "/x/y.json"}, "/x/y.json"},
		{"linux", nil, ""},
		{"linux", map[string]string{"HOME": "relative"}, ""},
		{"darwin", nil, ""},
		{"windows", map[string]string{"HOME": "/home/ada"}, ""},
	} {
		got, err := defaultPath(test.goos, func(name string) string { return test.env[name] })
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s, %v: %q, %v; want %q", test.goos, slices.Sorted(maps.Keys(test.env)), got, err, test.want)
		}
	}
	t.Setenv(EnvPath, "relative.json")
	if got, err := DefaultPath(); err != nil || !filepath.IsAbs(got) || filepath.Base(got) != "relative.json" {
		t.Errorf("%q, %v", got, err)
	}
}

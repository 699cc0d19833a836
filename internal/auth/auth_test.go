package auth_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// envOpen makes the test binary open the tokens in the directory it names, and
// print them: one of the processes that start at once.
const envOpen = "TOOLCRIB_TEST_TOKENS"

func TestMain(m *testing.M) {
	if dir := os.Getenv(envOpen); dir != "" {
		os.Exit(openAndPrint(dir))
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/toolcrib/toolcrib/internal/store/storetest.newServer"))
}

func openAndPrint(dir string) int {
	_, _ = bufio.NewReader(os.Stdin).ReadByte() // the start
	if _, err := open(dir); err != nil {
		fmt.Println(err)
		return 1
	}
	admin, err := auth.ReadToken(adminPath(dir))
	caller, err2 := auth.ReadToken(callerPath(dir))
	fmt.Println(admin, caller, errors.Join(err, err2))
	return 0
}

func adminPath(dir string) string  { return filepath.Join(dir, "admin.token") }
func callerPath(dir string) string { return filepath.Join(dir, "caller.token") }

func open(dir string) (*auth.Tokens, error) { return auth.OpenTokens(adminPath(dir), callerPath(dir)) }

func mustOpen(t *testing.T, dir string) *auth.Tokens {
	t.Helper()
	tokens, err := open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func read(t *testing.T, path string) string {
	t.Helper()
	token, err := auth.ReadToken(path)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestFirstStartMakesTokens(t *testing.T) {
	dir := t.TempDir()
	mustOpen(t, dir)
	admin, caller := read(t, adminPath(dir)), read(t, callerPath(dir))
	for token, prefix := range map[string]string{admin: "tca_", caller: "tcc_"} {
		if !regexp.MustCompile(`^` + prefix + `[A-Za-z0-9_-]{43}$`).MatchString(token) {
			t.Errorf("a token of another form, %d characters", len(token))
		}
	}
	if admin[4:] == caller[4:] {
		t.Error("both tokens are the same")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("files: %v, %v", entries, err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode(); runtime.GOOS != "windows" && mode != 0o600 {
			t.Errorf("%s has mode %v", e.Name(), mode)
		}
	}

	mustOpen(t, dir)
	if read(t, adminPath(dir)) != admin || read(t, callerPath(dir)) != caller {
		t.Error("the second start made other tokens")
	}
	other := t.TempDir()
	mustOpen(t, other)
	if read(t, adminPath(other)) == admin {
		t.Error("two hubs have the same token")
	}
}

func TestPrincipal(t *testing.T) {
	dir := t.TempDir()
	tokens := mustOpen(t, dir)
	admin, caller := read(t, adminPath(dir)), read(t, callerPath(dir))
	for value, want := range map[string]hub.Principal{
		"Bearer " + admin:      {Subject: "admin", Role: hub.RoleAdmin},
		"bearer " + admin:      {Subject: "admin", Role: hub.RoleAdmin},
		" Bearer  " + admin:    {Subject: "admin", Role: hub.RoleAdmin},
		"Bearer " + caller:     {Subject: "caller", Role: hub.RoleCaller},
		"BEARER " + caller:     {Subject: "caller", Role: hub.RoleCaller},
		"Bearer " + caller[1:]: {}, "Bearer " + admin + "A": {}, "Bearer " + strings.ToUpper(admin): {},
		"Bearer": {}, "Bearer ": {}, "": {}, admin: {}, "Basic " + admin: {}, "Bearer " + admin + " " + admin: {},
	} {
		got, ok := tokens.Principal(value)
		if got != want || ok != (want.Subject != "") {
			t.Errorf("%d characters: %+v, %v; want %+v", len(value), got, ok, want)
		}
	}
	if shown := fmt.Sprintf("%v %+v %#v", tokens, tokens, tokens); strings.Contains(shown, admin) || strings.Contains(shown, caller) {
		t.Error("the hub keeps a token in clear")
	}
}

func TestContext(t *testing.T) {
	if got := auth.From(t.Context()); got != (hub.Principal{Subject: "local", Role: hub.RoleCaller}) {
		t.Errorf("without a token: %+v", got)
	}
	admin := hub.Principal{Subject: "admin", Role: hub.RoleAdmin}
	ctx, cancel := context.WithCancel(auth.With(t.Context(), admin))
	defer cancel()
	if got := auth.From(ctx); got != admin {
		t.Errorf("with one: %+v", got)
	}
}

const ownToken = "a-token-that-somebody-chose-himself-0123456789"

func TestTokenFiles(t *testing.T) {
	for name, tt := range map[string]struct {
		content string
		want    message.Code
	}{
		"white space":     {"\r\n\t " + ownToken + " \r\n", ""},
		"empty":           {"", message.TokenUnusable},
		"only lines":      {"\n\n", message.TokenUnusable},
		"short":           {"a-short-password", message.TokenUnusable},
		"long":            {strings.Repeat("a", 513), message.TokenUnusable},
		"huge":            {strings.Repeat("a", 1<<20), message.TokenUnusable},
		"two tokens":      {ownToken + " " + ownToken, message.TokenUnusable},
		"two lines":       {ownToken + "\n" + ownToken, message.TokenUnusable},
		"not ASCII":       {ownToken + "é", message.TokenUnusable},
		"control":         {ownToken + "\x00" + ownToken, message.TokenUnusable},
		"byte order mark": {"\ufeff" + ownToken, message.TokenUnusable},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, adminPath(dir), tt.content, 0o600)
			tokens, err := open(dir)
			if tt.want != "" {
				wantCode(t, err, tt.want, adminPath(dir))
				_, err = auth.ReadToken(adminPath(dir))
				wantCode(t, err, tt.want, adminPath(dir))
				if got, _ := os.ReadFile(adminPath(dir)); string(got) != tt.content {
					t.Error("the file was changed")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if p, ok := tokens.Principal("Bearer " + ownToken); !ok || p.Role != hub.RoleAdmin {
				t.Errorf("the owner's own token is %+v, %v", p, ok)
			}
		})
	}
}

func TestOneTokenForBoth(t *testing.T) {
	dir := t.TempDir()
	write(t, adminPath(dir), ownToken, 0o600)
	write(t, callerPath(dir), ownToken+"\n", 0o600)
	_, err := open(dir)
	wantCode(t, err, message.TokenUnusable, callerPath(dir))
}

func TestReadBeforeFirstStart(t *testing.T) {
	path := adminPath(t.TempDir())
	_, err := auth.ReadToken(path)
	wantCode(t, err, message.TokenUnusable, path)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("not ErrNotExist: %v", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading made the file: %v", err)
	}
}

func TestNoDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "missing")
	_, err := open(dir)
	wantCode(t, err, message.TokenUnusable, adminPath(dir))
}

// Whoever starts at once gets the same tokens, and each whole.
func TestRace(t *testing.T) {
	dir := t.TempDir()
	const n = 16
	tokens := make([]*auth.Tokens, n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { tokens[i], errs[i] = open(dir) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if *tokens[i] != *tokens[0] {
			t.Fatal("not all have the same tokens")
		}
	}
}

func TestRaceOfProcesses(t *testing.T) {
	dir := t.TempDir()
	type process struct {
		cmd   *exec.Cmd
		start func() error
		out   strings.Builder
	}
	all := make([]*process, 4)
	for i := range all {
		p := &process{cmd: exec.CommandContext(t.Context(), os.Args[0])}
		p.cmd.Env = append(os.Environ(), envOpen+"="+dir)
		p.cmd.Stdout = &p.out
		in, err := p.cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		p.start = in.Close
		if err := p.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all[i] = p
	}
	for _, p := range all {
		if err := p.start(); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range all {
		if err := p.cmd.Wait(); err != nil {
			t.Fatalf("%v: %s", err, p.out.String())
		}
	}
	want := fmt.Sprintln(read(t, adminPath(dir)), read(t, callerPath(dir)), nil)
	for _, p := range all {
		if p.out.String() != want {
			t.Errorf("one process has other tokens")
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
}

func FuzzPrincipal(f *testing.F) {
	dir := f.TempDir()
	write(f, adminPath(dir), ownToken, 0o600)
	tokens, err := open(dir)
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"", "Bearer", "Bearer " + ownToken, "Basic YTpi", "Bearer\t" + ownToken, "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		p, ok := tokens.Principal(value)
		if ok && (p.Subject != "admin" || !strings.Contains(value, ownToken) || !strings.EqualFold(strings.TrimSpace(value)[:7], "bearer ")) {
			t.Errorf("%q lets in %+v", value, p)
		}
		if !ok && p != (hub.Principal{}) {
			t.Errorf("%q is refused, and is %+v", value, p)
		}
	})
}

func write(tb testing.TB, path, content string, mode fs.FileMode) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask is
		tb.Fatal(err)
	}
}

// wantCode fails the test unless the error has the code, names the file and
// shows nothing of what is in it.
func wantCode(t *testing.T, err error, code message.Code, path string) {
	t.Helper()
	if !hub.IsCode(err, code) {
		t.Fatalf("error %v, want the code %s", err, code)
	}
	text := hub.AsError(err).Text(message.English)
	if !strings.Contains(text.What, path) || text.Remedy == "" {
		t.Errorf("it does not say what is wrong where: %q", text)
	}
	if said := err.Error() + text.String(); strings.Contains(said, "somebody-chose") {
		t.Errorf("a token is shown: %s", said)
	}
}

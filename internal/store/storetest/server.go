package storetest

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/toolcrib/toolcrib/internal/store"
)

// envRequired set to "required" makes a failure of the skip.
const envRequired = "TOOLCRIB_TEST_POSTGRES"

var errAbsent = errors.New("initdb and postgres are neither on the PATH nor in /usr/lib/postgresql")

// start starts the server at the first call. There is one per process.
var start = sync.OnceValues(newServer)

// server is a PostgreSQL server with a migrated template.
type server struct {
	dir   string        // of its data and its socket
	alive *os.File      // takes orders; the keeper ends the server when this is closed; never by us
	told  *bufio.Reader // what the keeper says
	count atomic.Int64
}

func running(t testing.TB) *server {
	t.Helper()
	s, err := start()
	switch {
	case errors.Is(err, errAbsent) && os.Getenv(envRequired) != "required":
		t.Skipf("NOT TESTED ON POSTGRESQL: %v (test/setup/system.sh installs them)", err)
	case err != nil:
		t.Fatalf("starting PostgreSQL: %v", err)
	}
	return s
}

// keeper makes and starts the server, ends it by a signal and starts it again when
// it is told to, and ends it and removes its directory when the input of the keeper
// itself ends: that is when the test process does, however it ends.
const keeper = `
start() {
	"$1/postgres" -D "$2/data" -k "$2" -c listen_addresses= -c fsync=off -c max_connections=200 >>"$2/log" 2>&1 &
	server=$!
	echo started
}
"$1/initdb" -D "$2/data" -U toolcrib -A trust -E UTF8 --locale=C --no-sync >"$2/log" 2>&1 || { echo failed; exit 1; }
start "$1" "$2"
while read -r order; do
	case $order in
	start) start "$1" "$2" ;;
	*) kill "-$order" $server; wait $server; echo ended ;;
	esac
done
kill -QUIT $server
wait $server
rm -rf "$2"
`

func newServer() (*server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	// Not where TMPDIR says: the path of a socket has to be short, and the
	// server's user must get there.
	dir, err := os.MkdirTemp("/tmp", "toolcrib-pg-")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir}
	if err := s.launch(bin); err != nil {
		return nil, err
	}
	if err := s.wait(); err != nil {
		return nil, err
	}
	return s, s.makeTemplate()
}

// programs is the directory of the server's programs: that of the PATH, or of
// the newest version that Debian has put where the PATH does not lead.
func programs() (string, error) {
	if runtime.GOOS == "windows" {
		return "", errAbsent // what keeps the server is a script of the shell
	}
	var dirs []string
	if found, err := exec.LookPath("postgres"); err == nil {
		if found, err = filepath.EvalSymlinks(found); err == nil {
			dirs = append(dirs, filepath.Dir(found))
		}
	}
	debian, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	slices.SortFunc(debian, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(b, a)) })
	for _, dir := range append(dirs, debian...) {
		_, noServer := os.Stat(filepath.Join(dir, "postgres"))
		_, noInit := os.Stat(filepath.Join(dir, "initdb"))
		if noServer == nil && noInit == nil {
			return dir, nil
		}
	}
	return "", errAbsent
}

func (s *server) launch(bin string) error {
	in, alive, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()
	s.alive = alive
	told, out, err := os.Pipe()
	if err != nil {
		return err
	}
	s.told = bufio.NewReader(told)
	cmd := exec.Command("/bin/sh", "-c", keeper, "keeper", bin, s.dir) //nolint:noctx // the end of the process ends it
	cmd.Dir, cmd.Stdin, cmd.Stdout = s.dir, in, out
	if err := asServerUser(cmd, s.dir); err != nil {
		return err
	}
	err = cmd.Start()
	_ = out.Close() // or the reading below would not end with the keeper
	if err != nil {
		return err
	}
	return s.answers("started")
}

// answers waits for what the keeper says next, and fails if it is something else.
func (s *server) answers(want string) error {
	if line, _ := s.told.ReadString('\n'); line != want+"\n" {
		return s.failed("the server has not " + want)
	}
	return nil
}

// order has the keeper end the server by a signal, or start it.
func (s *server) order(what, want string) error {
	if _, err := s.alive.WriteString(what + "\n"); err != nil {
		return err
	}
	return s.answers(want)
}

// failed is an error with what the server says.
func (s *server) failed(what string) error {
	said, err := os.ReadFile(filepath.Join(s.dir, "log"))
	return errors.Join(fmt.Errorf("%s:\n%s", what, said), err)
}

// wait waits until the server takes connections.
func (s *server) wait() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		err := s.exec(ctx, "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return s.failed(err.Error())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

const template = "template_toolcrib"

// makeTemplate makes the database that all others are copies of: to copy is
// faster than to migrate.
func (s *server) makeTemplate() error {
	if err := s.exec(context.Background(), "CREATE DATABASE "+template); err != nil {
		return err
	}
	db, err := store.Open(context.Background(), store.Options{URL: s.url(template)})
	if err != nil {
		return err
	}
	return db.Close()
}

// fresh makes a database and returns its address.
func (s *server) fresh(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test_%d", s.count.Add(1))
	if err := s.exec(t.Context(), "CREATE DATABASE "+name+" TEMPLATE "+template); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return s.url(name)
}

func (s *server) url(database string) string {
	return "postgres://toolcrib@/" + database + "?host=" + url.QueryEscape(s.dir)
}

// exec runs one statement on a connection of its own.
func (s *server) exec(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, s.url("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

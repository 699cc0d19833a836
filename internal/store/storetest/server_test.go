package storetest

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// envStart makes the test binary start a server, tell where it is, and wait to
// be killed.
const envStart = "STORETEST_START"

func TestMain(m *testing.M) {
	if os.Getenv(envStart) != "" {
		s, err := start()
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(s.dir)
		time.Sleep(time.Hour)
	}
	goleak.VerifyTestMain(m)
}

// TestServerEndsWithItsProcess: a test process that is killed leaves no server
// and no directory.
func TestServerEndsWithItsProcess(t *testing.T) {
	if _, err := programs(); err != nil {
		running(t) // skips, or fails
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), envStart+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	dir := strings.TrimSpace(line)
	if _, statErr := os.Stat(dir); err != nil || statErr != nil {
		t.Errorf("it says %q: %v, %v", line, err, statErr)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // killed
	for range 300 {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("%s is still there", dir)
}

// TestOutage: the server that was ended is away until it is started again, and has
// kept what was committed.
func TestOutage(t *testing.T) {
	for _, signal := range []string{"INT", "QUIT"} {
		opt := PostgreSQL(t)
		db := Open(t, opt)
		if _, err := db.Exec("CREATE TABLE thing (id TEXT)"); err != nil {
			t.Fatal(err)
		}
		resume := Outage(t, signal)
		if _, err := db.Exec("SELECT 1"); err == nil {
			t.Errorf("%s: it still answers", signal)
		}
		resume()
		if _, err := db.Exec("SELECT id FROM thing"); err != nil {
			t.Errorf("%s: after the start: %v", signal, err)
		}
	}
}

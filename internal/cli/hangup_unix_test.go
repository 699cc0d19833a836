//go:build unix

package cli

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/toolcrib/toolcrib/internal/message"
)

// hubProcess starts "toolcrib serve" as a process of its own and waits until it
// serves. It ends with the test.
func hubProcess(t *testing.T, adjust func(*exec.Cmd)) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "serve", "--listen", "none")
	cmd.Env = append(os.Environ(), toolcribEnv+"=1")
	adjust(cmd)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_ = cmd.Wait()
		}
		r.Close()
	})
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil || !strings.Contains(line, "is ready") {
		t.Fatalf("the hub says %q, %v", line, err)
	}
	return cmd
}

// SIGHUP has a hub read its file again, as a person would: also one that is not
// there any more.
func TestHangup(t *testing.T) {
	emptyHome(t)
	file := os.Getenv("TOOLCRIB_CONFIG")
	write(t, file, `{"mcpServers":{"mine":{"command":"no-such-program"}}}`)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := hubProcess(t, func(cmd *exec.Cmd) {
		cmd.Stderr = w
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // as a service is
	})
	w.Close()
	log := bufio.NewScanner(r)
	await := func(text string) {
		t.Helper()
		for log.Scan() {
			if strings.Contains(log.Text(), text) {
				return
			}
		}
		t.Fatalf("the log ends without %q", text)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	await("was read again")
	if code, out, errs := run(t, message.English, "server", "list"); code != exitOK || strings.Contains(out, "mine") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	write(t, file, "{")
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	await("not in force")
	go func() { _, _ = io.Copy(io.Discard, r) }() // ends with the hub
	if code, out, errs := run(t, message.English, "stop"); code != exitOK {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	_ = cmd.Wait()
}

package builtin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// run runs a program without a shell and returns its standard output. The
// program ends with ctx. An error says what the program said, and is
// [exec.ErrNotFound] if there is none.
func run(ctx context.Context, name string, args ...string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err // says what was looked for
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = soundEnvironment()
	cmd.WaitDelay = 100 * time.Millisecond // for what it may have started in turn
	out, err := cmd.Output()
	switch {
	case err == nil:
		return string(out), nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", fmt.Errorf("%s did not answer in time", name)
	case ctx.Err() != nil:
		return "", fmt.Errorf("running %s: %w", name, ctx.Err())
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if said, _, _ := strings.Cut(strings.TrimSpace(string(exit.Stderr)), "\n"); said != "" {
			return "", fmt.Errorf("%s: %s", name, shorten(said))
		}
	}
	return "", fmt.Errorf("running %s: %w", name, err)
}

// soundEnvironment is what the programs get of the environment: where to find
// the sound system and the session. Nothing else is theirs to know. Their
// numbers are to be those of the C locale.
func soundEnvironment() []string {
	env := []string{"LC_ALL=C"}
	for _, name := range []string{
		"PATH", "HOME", "USER", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_SESSION_ID",
		"DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS",
		"PIPEWIRE_REMOTE", "PIPEWIRE_RUNTIME_DIR", "PULSE_SERVER", "PULSE_COOKIE", "PULSE_RUNTIME_PATH",
		"ALSA_CARD", "ALSA_CONFIG_DIR", "ALSA_CONFIG_PATH",
	} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

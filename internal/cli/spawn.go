package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/datadir"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

const (
	spawnLimit = 15 * time.Second // for a hub that was started to serve
	maxHubLog  = 1 << 20          // bytes of its log before it is begun anew
)

// hubLog is where a hub that nobody watches writes its log.
func hubLog(dataDir string) string { return filepath.Join(dataDir, "hub.log") }

// ensureHub says how to reach the hub that holds the data directory. If there
// is none it starts one, which goes on when this program ends and ends itself
// when nobody is attached any more. Several programs may do so at once: one of
// the hubs gets the directory, the others end, and all programs find that one.
func (s *session) ensureHub(ctx context.Context, dataDir string) (datadir.HubInfo, error) {
	info, err := findHub(ctx, dataDir)
	if !hub.IsCode(err, message.HubNotRunning) {
		return info, err
	}
	ctx, cancel := context.WithTimeout(ctx, spawnLimit)
	defer cancel()
	ended, err := s.spawn(dataDir)
	if err != nil {
		return info, hub.E(message.HubStartFailed, err, "log", hubLog(dataDir)).With("detail", message.Cause(err))
	}
	tick := time.NewTicker(servePoll)
	defer tick.Stop()
	for last := false; ; {
		info, err := findHub(ctx, dataDir)
		if !hub.IsCode(err, message.HubNotRunning) {
			return info, err
		}
		if last {
			return info, hub.E(message.HubStartFailed, nil, "log", hubLog(dataDir)).With("detail", message.Say("it ended at once"))
		}
		select {
		case <-ended:
			last = true // unless another one holds the directory
		case <-ctx.Done():
			return info, hub.E(message.HubStartFailed, context.Cause(ctx), "log", hubLog(dataDir)).
				With("detail", message.Say("it took longer than %s", spawnLimit))
		case <-tick.C:
		}
	}
}

// spawn starts a hub that outlives this program. The channel is closed when
// it ends while this program runs.
func (s *session) spawn(dataDir string) (<-chan struct{}, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return nil, err
	}
	log, err := openHubLog(hubLog(dataDir))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	args := []string{"serve", "--linger", "--listen", listenNone, "--data-dir", dataDir, "--log-format", s.LogFormat}
	if s.Config != "" {
		args = append(args, "--config", s.Config)
	}
	if s.LogLevel != "" {
		args = append(args, "--log-level", s.LogLevel)
	}
	cmd := exec.Command(self, args...) //nolint:noctx // it outlives every context of this program
	cmd.Stderr = log
	cmd.Stdout = log
	cmd.Dir = dataDir // so that no other directory is held
	// A hub whose server this program is would end it with that server.
	cmd.Env = append(os.Environ(), "TOOLCRIB_TREE=")
	cmd.SysProcAttr = detached()
	if err := cmd.Start(); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "fork/exec "))
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		close(ended)
	}()
	return ended, nil
}

// openHubLog opens the log for appending, after putting one that has grown too
// large aside.
func openHubLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxHubLog {
		if err := os.Rename(path, path+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}

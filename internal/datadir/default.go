package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// EnvPath names the environment variable that overrides [Default].
const EnvPath = "TOOLCRIB_DATA_DIR"

// Default is the absolute path of the data directory when none is asked for:
// $TOOLCRIB_DATA_DIR if it is set, else by the operating system's custom
//
//   - Windows: %LocalAppData%\Toolcrib
//   - macOS: ~/Library/Application Support/Toolcrib
//   - elsewhere: $XDG_DATA_HOME/toolcrib, or ~/.local/share/toolcrib if that
//     variable is not set or not absolute (XDG Base Directory Specification)
//
// It fails if the environment does not say where the user's files are.
func Default() (string, error) { return defaultPath(runtime.GOOS, os.Getenv) }

func defaultPath(goos string, env func(string) string) (string, error) {
	if p := env(EnvPath); p != "" {
		abs, err := filepath.Abs(p)
		if err != nil {
			return "", fmt.Errorf("data directory %s: %w", p, err)
		}
		return abs, nil
	}
	if goos == "windows" {
		base := env("LocalAppData")
		if base == "" {
			return "", errors.New("no place for the data directory: %LocalAppData% is not set")
		}
		return filepath.Join(base, "Toolcrib"), nil
	}
	if base := env("XDG_DATA_HOME"); goos != "darwin" && filepath.IsAbs(base) {
		return filepath.Join(base, "toolcrib"), nil
	}
	home := env("HOME")
	if !filepath.IsAbs(home) {
		return "", errors.New("no place for the data directory: $HOME is not set to an absolute path")
	}
	if goos == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "Toolcrib"), nil
	}
	return filepath.Join(home, ".local", "share", "toolcrib"), nil
}

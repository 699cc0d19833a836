package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// EnvPath names the environment variable that overrides [DefaultPath].
const EnvPath = "TOOLCRIB_CONFIG"

// DefaultPath is the absolute path of the configuration file when none is
// asked for: $TOOLCRIB_CONFIG if it is set, else by the operating system's
// custom
//
//   - Windows: %AppData%\Toolcrib\toolcrib.json
//   - macOS: ~/Library/Application Support/Toolcrib/toolcrib.json
//   - elsewhere: $XDG_CONFIG_HOME/toolcrib/toolcrib.json, or
//     ~/.config/toolcrib/toolcrib.json if that variable is not set or not
//     absolute (XDG Base Directory Specification)
//
// The file need not be there. It fails if the environment does not say where
// the user's files are.
func DefaultPath() (string, error) { return defaultPath(runtime.GOOS, os.Getenv) }

func defaultPath(goos string, env func(string) string) (string, error) {
	if p := env(EnvPath); p != "" {
		abs, err := filepath.Abs(p)
		if err != nil {
			return "", fmt.Errorf("configuration file %s: %w", p, err)
		}
		return abs, nil
	}
	const file = "toolcrib.json"
	if goos == "windows" {
		base := env("AppData")
		if base == "" {
			return "", errors.New("no place for the configuration file: %AppData% is not set")
		}
		return filepath.Join(base, "Toolcrib", file), nil
	}
	if base := env("XDG_CONFIG_HOME"); goos != "darwin" && filepath.IsAbs(base) {
		return filepath.Join(base, "toolcrib", file), nil
	}
	home := env("HOME")
	if !filepath.IsAbs(home) {
		return "", errors.New("no place for the configuration file: $HOME is not set to an absolute path")
	}
	if goos == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "Toolcrib", file), nil
	}
	return filepath.Join(home, ".config", "toolcrib", file), nil
}

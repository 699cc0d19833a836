package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// target is a system that is built for.
type target struct{ os, arch string }

func parseTarget(s string) (target, error) {
	system, arch, ok := strings.Cut(s, "/")
	if !ok || system == "" || arch == "" {
		return target{}, fmt.Errorf("target %q: linux/amd64 or the like is expected", s)
	}
	return target{system, arch}, nil
}

// file is one that goes into an archive.
type file struct {
	name    string // from the archive's top directory, with slashes
	content []byte
	program bool // it is executable
}

// builder builds the program, once for each target.
type builder struct {
	version string
	dir     string // for what is built
}

// program returns the path of the program for a target.
func (b *builder) program(ctx context.Context, t target) (string, error) {
	path := filepath.Join(b.dir, t.os+"-"+t.arch)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	_, err := run(goCommand(ctx, t, "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -X main.version="+b.version, "-o", path, "./cmd/toolcrib"))
	return path, err
}

// goCommand is a run of the go command for a target. What the environment says
// about the processor or about experiments would change the bytes.
func goCommand(ctx context.Context, t target, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=")
	return cmd
}

// run returns what a command prints.
func run(cmd *exec.Cmd) ([]byte, error) {
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(exit.Stderr))
	}
	return out, err
}

// completions are the scripts by which shells complete the program's commands,
// as the program for this machine prints them.
func (b *builder) completions(ctx context.Context) ([]file, error) {
	path, err := b.program(ctx, target{runtime.GOOS, runtime.GOARCH})
	if err != nil {
		return nil, err
	}
	var files []file
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script, err := run(exec.CommandContext(ctx, path, "completion", shell))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: "completions/toolcrib." + shell, content: script})
	}
	return files, nil
}

// files are what the archive for a target holds. The extras are for systems
// that have the shells for them.
func (b *builder) files(ctx context.Context, t target, extras []file) ([]file, error) {
	path, err := b.program(ctx, t)
	if err != nil {
		return nil, err
	}
	notices, err := notices(ctx, t)
	if err != nil {
		return nil, err
	}
	files := []file{{name: "THIRD-PARTY-NOTICES.txt", content: notices}}
	program := "toolcrib"
	copies := map[string]string{
		"LICENSE": "LICENSE", "README.md": "README.md", "README.zh-CN.md": "README.zh-CN.md", "CHANGELOG.md": "CHANGELOG.md",
	}
	for _, name := range []string{"README.md", "README.zh-CN.md", "alerts.yaml", "grafana-dashboard.json"} {
		copies["packaging/monitoring/"+name] = "packaging/monitoring/" + name // where the docs look for it
	}
	switch t.os {
	case "windows":
		program, extras = "toolcrib.exe", nil
	case "linux":
		for _, name := range []string{"systemd/toolcrib.service", "systemd/sysusers.d/toolcrib.conf", "systemd/user/toolcrib.service"} {
			copies[name] = "packaging/" + name
		}
	case "darwin":
		copies["launchd/dev.toolcrib.plist"] = "packaging/launchd/dev.toolcrib.plist"
	}
	guides, err := filepath.Glob("docs/*.md")
	if err != nil {
		return nil, err
	}
	for _, guide := range guides {
		copies[filepath.ToSlash(guide)] = guide
	}
	copies[program] = path
	for name, source := range copies {
		content, err := os.ReadFile(source)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: name, content: content, program: source == path})
	}
	return append(files, extras...), nil
}

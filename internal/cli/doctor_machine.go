package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/datadir"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// versionLimit is how long a program may take to say its version.
const versionLimit = 3 * time.Second

// hub looks at the data directory and whether a hub holds it, and says how to
// reach that one.
func (e *examination) hub(ctx context.Context) datadir.HubInfo {
	say := e.out.say
	e.begin(say("Hub", "Toolcrib"))
	e.good("toolcrib %s (%s/%s)", e.env.Version, runtime.GOOS, runtime.GOARCH)
	path, err := e.dataDir()
	if err != nil {
		e.fault(err)
		return datadir.HubInfo{}
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		e.good(say("data directory %s: not there yet, made when it is needed", "数据目录 %s：尚不存在，需要时创建"), path)
	case err != nil:
		e.wrong(unreadable(path, err).Error(), "")
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		e.note(fmt.Sprintf(say("others may look into the data directory %s (%v)", "其他用户可访问数据目录 %s（%v）"), path, info.Mode().Perm()), "chmod 700 "+path)
	default:
		e.good(say("data directory %s, %s", "数据目录 %s，%s"), path, size(sizeOf(path)))
	}
	info, err := findHub(ctx, path)
	switch {
	case hub.IsCode(err, message.HubNotRunning):
		e.note(say("no hub is running; one was started for this command", "没有运行中的 Toolcrib；已为此命令临时启动"), say("To keep one running: toolcrib serve", "保持运行：toolcrib serve"))
	case err != nil:
		e.fault(err)
	case info.URL == "":
		e.good(say("a hub is running (process %d) on its local socket", "Toolcrib 正在运行（进程 %d），仅本地套接字"), info.PID)
	default:
		e.good(say("a hub is running (process %d) at %s", "Toolcrib 正在运行（进程 %d），地址 %s"), info.PID, info.URL)
	}
	return info
}

func (e *examination) fault(err error) {
	text := e.text(err)
	e.wrong(text.What, text.Remedy)
}

// sizeOf is how many bytes the files of a directory have, as far as they can
// be looked at.
func sizeOf(dir string) int {
	total := 0
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			if info, err := entry.Info(); err == nil {
				total += int(info.Size())
			}
		}
		return nil
	})
	return total
}

// config looks at the configuration file.
func (e *examination) config() {
	say := e.out.say
	e.begin(say("Configuration", "配置"))
	opt, err := e.hubOptions("", nil)
	if err != nil {
		e.fault(err)
		return
	}
	path := opt.Config
	if e.Config == "" && !exists(path) {
		e.good(say("%s: not there yet; the built-in servers need none", "%s：尚不存在；内置服务器无需配置"), path)
		return
	}
	check, err := e.checkFile(path)
	if err != nil {
		e.fault(err)
		return
	}
	for _, p := range check.Problems {
		e.wrong(place(path, p), "")
	}
	for _, p := range check.Warnings {
		e.note(place(path, p), "")
	}
	if check.Valid {
		e.good(say("%s; servers, with the built-in ones: %d", "%s；服务器（含内置）：%d"), path, len(check.Diff.Added))
	}
}

func place(path string, p api.ConfigProblem) string {
	return fmt.Sprintf("%s:%d:%d: %s", path, p.Line, p.Column, p.Detail)
}

// program is one that servers are often run by.
type program struct {
	name   string
	args   []string
	runs   []string // commands of servers that need it
	remedy string
}

func programs() []program {
	version := []string{"--version"}
	return []program{
		{"node", version, []string{"node", "npx", "npm"}, "Install Node.js 20 or newer: https://nodejs.org"},
		{"npx", version, []string{"npx"}, "It comes with Node.js: https://nodejs.org"},
		{"uvx", version, []string{"uvx", "uv"}, "Install uv: https://docs.astral.sh/uv"},
		{"docker", version, []string{"docker"}, "Install Docker: https://docs.docker.com/get-docker"},
	}
}

// environment looks for the programs that servers are run by. One that is
// missing is wrong only if an enabled server needs it.
func (e *examination) environment(ctx context.Context, servers []api.Server) {
	say := e.out.say
	e.begin(say("Programs", "程序"))
	for _, p := range programs() {
		path, err := exec.LookPath(p.name)
		if err == nil {
			e.good("%s %s  %s", p.name, versionOf(ctx, path, p.args), path)
			continue
		}
		var needed []string
		for _, v := range servers {
			command := strings.TrimSuffix(filepath.Base(v.Command), ".exe")
			if v.Enabled && slices.Contains(p.runs, command) {
				needed = append(needed, v.Key)
			}
		}
		if len(needed) > 0 {
			e.wrong(fmt.Sprintf(say("%s was not found; needed by: %s", "没有找到 %s；需要它的服务器：%s"), p.name, strings.Join(needed, ", ")), p.remedy)
		} else {
			e.note(fmt.Sprintf(say("%s was not found; no server needs it", "没有找到 %s；没有服务器需要它"), p.name), "")
		}
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			e.note(fmt.Sprintf(say("the PATH names %q, which is no absolute path", "PATH 中的 %q 不是绝对路径"), dir), "")
		}
	}
}

// versionOf is the first line that a program says about its version.
func versionOf(ctx context.Context, path string, args []string) string {
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return "?"
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return cut(oneLine(line), 60)
}

// port looks whether the usual address is free, or served by the hub.
func (e *examination) port(ctx context.Context, running datadir.HubInfo) {
	say := e.out.say
	e.begin(say("Network", "网络"))
	if strings.HasSuffix(running.URL, "://"+defaultListen) {
		e.good(say("%s is served by the hub", "%s 由 Toolcrib 提供服务"), defaultListen)
		return
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", defaultListen)
	if err == nil {
		err = ln.Close()
	}
	if err != nil {
		e.note(fmt.Sprintf(say("%s is used by another program", "%s 已被其他程序占用"), defaultListen),
			say("Choose another address: toolcrib serve --listen 127.0.0.1:8081", "请另选地址：toolcrib serve --listen 127.0.0.1:8081"))
		return
	}
	e.good(say("%s is free", "%s 空闲"), defaultListen)
}

package cli

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/app"
)

const (
	defaultListen = "127.0.0.1:8080"
	listenNone    = "none"
)

type serve struct {
	Listen       string   `help:"Address to listen on; \"none\" for the local socket only. Others than loopback need --require-token." default:"${listen}" placeholder:"HOST:PORT"`
	AllowHost    []string `help:"A name of this machine, beside loopback, that requests may name, such as behind a reverse proxy; callers by it have to show a token. Repeatable." placeholder:"NAME"`
	RequireToken bool     `help:"Every caller has to show a token."`
	TLSCert      string   `name:"tls-cert" help:"Certificate file, for HTTPS." type:"path" placeholder:"FILE"`
	TLSKey       string   `name:"tls-key" help:"File with the certificate's key." type:"path" placeholder:"FILE"`
	CACert       string   `name:"ca-cert" help:"Further certificate authorities to trust in remote servers." type:"path" placeholder:"FILE"`
	Proxy        string   `help:"Proxy for remote servers, in place of $$HTTPS_PROXY and the like." placeholder:"URL"`
	PrivateLinks bool     `name:"allow-private-links" help:"For clients that cannot read resources, also fetch links in results from addresses that are not public, such as those of this machine."`
	DeviceListen string   `help:"Address at which devices of voice assistants dial in, each with a token of its own; none if it is not given." placeholder:"HOST:PORT"`
	Linger       bool     `hidden:"" help:"End when the last client that is attached by \"toolcrib stdio\" has gone."`
}

// Run serves until ctx ends, or the terminal that this was started in is closed.
// SIGHUP has the configuration file read again.
func (c *serve) Run(ctx context.Context, s *session) error {
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return misuse("serve", "--tls-cert, --tls-key")
	}
	path, err := s.dataDir()
	if err != nil {
		return err
	}
	opt, err := s.hubOptions(path, s.log(slog.LevelInfo))
	if err != nil {
		return err
	}
	if opt.Listen = c.Listen; opt.Listen == listenNone {
		opt.Listen = ""
	}
	opt.AllowHosts, opt.RequireToken = c.AllowHost, c.RequireToken
	opt.TLSCert, opt.TLSKey = c.TLSCert, c.TLSKey
	opt.CACert, opt.Proxy = c.CACert, c.Proxy
	opt.AllowPrivateLinks = c.PrivateLinks
	opt.Linger, opt.DeviceListen = c.Linger, c.DeviceListen
	if !c.Linger {
		s.awaitCommand(ctx, opt.DataDir)
	}
	hup := newHangup()
	defer hup.stop()
	ctx, end := context.WithCancel(ctx)
	var listening sync.WaitGroup
	defer listening.Wait()
	defer end()
	return app.Run(ctx, opt, func(a *app.App) {
		s.ready(a)
		listening.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-hup.signals:
				}
				if hup.ends() {
					end()
				} else if err := a.Reload(); err != nil {
					opt.Log.Error("the configuration file is not in force", "path", opt.Config, "error", err)
				}
			}
		})
	})
}

// awaitCommand waits for the end of a hub without a listener that holds the
// data directory, as it may be that of a command which is about to end.
func (s *session) awaitCommand(ctx context.Context, path string) {
	ctx, cancel := context.WithTimeout(ctx, serveLimit)
	defer cancel()
	tick := time.NewTicker(servePoll)
	defer tick.Stop()
	for {
		info, err := findHub(ctx, path)
		if err != nil || info.URL != "" {
			return // what is wrong is told by the start
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// ready says, in one line that programs may read, that the hub serves, and in further
// ones what becomes of what the rules say, and of voice assistants and devices. It does
// so also if nobody reads it: all are written at once, since who has read the first may
// be gone.
func (s *session) ready(a *app.App) {
	p := &printer{w: s.unchecked()}
	rules := a.Policy().In(s.env.Lang)
	if endpoints, backends := a.Dialled(); endpoints+backends > 0 {
		rules += fmt.Sprintf("\n"+s.out.say("Voice assistants: %d endpoints, %d backends", "语音助手：%d 个接入点，%d 个后端"), endpoints, backends)
	}
	if at := a.DeviceURL(); at != "" {
		rules += "\n" + s.out.say("Devices dial in at ", "设备接入地址：") + at
	}
	if a.URL() == "" {
		p.line("Toolcrib %s is ready. Servers: %d  Data: %s\n%s", s.env.Version, a.Servers(), a.DataDir(), rules)
		return
	}
	p.line("Toolcrib %s is ready. MCP: %s/mcp  Health: %s/readyz  Servers: %d  Data: %s\n%s",
		s.env.Version, a.URL(), a.URL(), a.Servers(), a.DataDir(), rules)
}

type version struct{}

// Run prints one line.
func (version) Run(s *session) error {
	if s.JSON {
		return s.out.json(map[string]string{
			"version": s.env.Version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
		})
	}
	_, err := fmt.Fprintf(s.env.Stdout, "toolcrib %s (%s, %s/%s)\n", s.env.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

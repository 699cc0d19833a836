package cli

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
)

type serverLogin struct {
	Key       string `arg:"" help:"Key of the server." complete:"server"`
	NoBrowser bool   `help:"Only print the address, and open no browser."`
	Own       bool   `help:"Log in for the token that is shown, not for Toolcrib itself."`
}

// loginPoll is how often the hub is asked whether a login has come about.
const loginPoll = time.Second

// Run has a person log in at a server, and waits for it.
func (c *serverLogin) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		before, err := h.Server(ctx, c.Key)
		if err != nil {
			return h.guess(ctx, err, servers, c.Key)
		}
		login, err := h.Login(ctx, c.Key, c.Own)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(login)
		}
		p, say := s.out, s.out.say
		p.line("%s", say("Open this address to log in:", "请打开此地址登录："))
		p.line("  %s", oneLine(login.URL))
		if !c.NoBrowser && s.env.Terminal && openBrowser(ctx, login.URL) == nil {
			p.line("%s", say("A browser was opened.", "已打开浏览器。"))
		}
		p.line(say("Waiting until %s; Ctrl-C to stop waiting.", "等待至 %s；按 Ctrl-C 停止等待。"), login.Expires.Local().Format(time.TimeOnly))
		return c.await(ctx, s, h, before, login)
	})
}

// await waits until the login has come about, or has not.
func (c *serverLogin) await(ctx context.Context, s *session, h *link, before api.Server, login api.ServerLogin) error {
	tick := time.NewTicker(loginPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		v, err := h.Server(ctx, c.Key)
		switch {
		case err != nil:
			return err
		case v.Auth == nil:
			return errors.New(s.out.say("the server takes no login any more", "该服务器不再接受登录"))
		case v.Auth.State == "pending" && time.Now().Before(login.Expires):
			continue
		case v.Auth.State == "granted" && (before.Auth == nil || before.Auth.State != "granted" || v.Auth.Reason == ""):
			s.out.line(s.out.say("Logged in to %s.", "已登录 %s。"), clean(c.Key))
			return nil
		case v.Auth.Reason != "":
			return errors.New(oneLine(v.Auth.Reason))
		}
		return errors.New(s.out.say("nobody has logged in in time", "没有人及时登录"))
	}
}

// openBrowser opens an address in the person's browser.
func openBrowser(ctx context.Context, address string) error {
	if !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://") {
		return errors.New("no address of the web")
	}
	switch runtime.GOOS {
	case "darwin":
		return exec.CommandContext(ctx, "open", address).Start()
	case "windows":
		return exec.CommandContext(ctx, "rundll32", "url.dll,FileProtocolHandler", address).Start()
	}
	return exec.CommandContext(ctx, "xdg-open", address).Start()
}

type serverLogout struct {
	Key string `arg:"" help:"Key of the server." complete:"server"`
	Own bool   `help:"Forget the login for the token that is shown, not that of Toolcrib itself."`
}

// Run forgets a login at a server.
func (c *serverLogout) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		v, err := h.Logout(ctx, c.Key, c.Own)
		if err != nil {
			return h.guess(ctx, err, servers, c.Key)
		}
		if s.JSON {
			return s.out.json(v)
		}
		s.out.line(s.out.say("Logged out of %s.", "已退出 %s。"), clean(c.Key))
		return nil
	})
}

// login says how it stands with the login at a server; "" if that wants none.
func (p *printer) login(a *api.ServerAuth) string {
	if a == nil || a.State == "none" {
		return ""
	}
	said := map[string]string{
		"needed":  p.say("needed", "需要登录"),
		"pending": p.say("somebody is about to log in", "正在登录"),
		"granted": p.say("logged in", "已登录"),
		"limited": p.say("logged in, and more rights are wanted", "已登录，但需要更多权限"),
	}[a.State]
	if a.Issuer != "" {
		said += ", " + oneLine(a.Issuer)
	}
	if len(a.Scopes) > 0 {
		said += ", " + oneLine(strings.Join(a.Scopes, " "))
	}
	return said
}

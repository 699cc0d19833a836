package cli

import (
	"context"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
)

type leaseCommands struct {
	List    leaseList    `cmd:"" help:"List the leases that keep servers running." default:"withargs"`
	Hold    leaseHold    `cmd:"" help:"Keep servers running for a while, and start those that are idle."`
	Release leaseRelease `cmd:"" help:"End all leases of a holder."`
}

type leaseList struct{}

// Run lists the leases.
func (leaseList) Run(ctx context.Context, s *session) error {
	h, err := s.attachRunning(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	list, err := h.Leases(ctx)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.out.json(list)
	}
	say := s.out.say
	if len(list.Leases) == 0 {
		s.out.line("%s", say("No leases. Hold one: toolcrib lease hold HOLDER TOOL", "没有租约。添加：toolcrib lease hold HOLDER TOOL"))
		return nil
	}
	rows := make([]row, len(list.Leases))
	for i, l := range list.Leases {
		rows[i] = row{cells: []string{s.out.paint(bold, clean(l.Server)), clean(l.Holder), clean(l.Tool)}}
	}
	s.out.table([]string{say("SERVER", "服务器"), say("HOLDER", "持有者"), say("TOOL", "工具")}, rows)
	return nil
}

type leaseHold struct {
	Holder string        `arg:"" help:"Who needs them: any name that no other holder has."`
	Tools  []string      `arg:"" name:"tool" help:"Names of tools, or keys of servers; all that the holder needs." complete:"tool"`
	TTL    time.Duration `name:"ttl" help:"The lease ends after so long, unless it is held again." default:"5m" placeholder:"TIME"`
}

// Run holds a lease. The exit code is 1 if a name is not known.
func (c *leaseHold) Run(ctx context.Context, s *session) error {
	h, err := s.attachRunning(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	grant, err := h.Lease(ctx, c.Holder, api.LeaseRequest{Tools: c.Tools, TTL: c.TTL.String()})
	if err != nil {
		return err
	}
	if s.JSON {
		err = s.out.json(grant)
	} else {
		s.grant(grant)
	}
	if err == nil && len(grant.Unknown) > 0 {
		return exit(exitFailure)
	}
	return err
}

// grant prints what a holder has got.
func (s *session) grant(g api.LeaseGrant) {
	say := s.out.say
	names := func(all []string) string { return clean(strings.Join(all, ", ")) }
	s.out.fields(
		say("Held", "已持有"), names(g.Tools),
		say("Until", "有效期至"), g.Expires.Local().Format(time.DateTime),
		say("Starting", "正在启动"), names(g.Started),
		say("Not known", "未知"), names(g.Unknown),
	)
}

type leaseRelease struct {
	Holder string `arg:"" help:"Who held them."`
}

// Run ends what a holder has.
func (c *leaseRelease) Run(ctx context.Context, s *session) error {
	h, err := s.attachRunning(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	if err := h.Release(ctx, c.Holder); err != nil {
		return err
	}
	if !s.JSON {
		s.out.line(s.out.say("Released %s.", "已释放 %s。"), clean(c.Holder))
	}
	return nil
}

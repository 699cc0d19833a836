package cli

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
)

type serverLog struct {
	Key    string `arg:"" help:"Key of the server." complete:"server"`
	Follow bool   `short:"f" help:"Go on with each new line, until Ctrl-C."`
	Lines  int    `short:"n" help:"How many of the last lines; 0 for all there are." default:"50" placeholder:"N"`
}

// Run shows the log of a server. With --json and --follow each line is an
// object of its own.
func (c *serverLog) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		log, err := h.Log(ctx, c.Key, 0)
		if err != nil {
			return h.guess(ctx, err, servers, c.Key)
		}
		return s.tail(ctx, log, c.Follow, c.Lines, func(last uint64) iter.Seq2[api.LogLine, error] { return h.FollowLog(ctx, c.Key, last) })
	})
}

// tail shows the last lines of a log and, if it is followed, what comes next.
func (s *session) tail(ctx context.Context, log api.Log, follow bool, lines int, next func(last uint64) iter.Seq2[api.LogLine, error]) error {
	var last uint64
	if n := len(log.Lines); n > 0 {
		last = log.Lines[n-1].Seq
		if lines > 0 && n > lines {
			log.Lines = log.Lines[n-lines:]
		}
	}
	if s.JSON && !follow {
		return s.out.json(log)
	}
	for _, line := range log.Lines {
		if err := s.logLine(line); err != nil {
			return err
		}
	}
	if !follow {
		if last == 0 {
			s.out.line("%s", s.out.say("The log is empty.", "日志为空。"))
		}
		return nil
	}
	for line, err := range next(last) {
		if ctx.Err() != nil {
			return nil // Ctrl-C is how this command ends
		}
		if err != nil {
			return err
		}
		if err := s.logLine(line); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) logLine(l api.LogLine) error {
	if s.JSON {
		return json.NewEncoder(s.env.Stdout).Encode(l)
	}
	how := plain
	if l.Source == "hub" {
		how = bold
	}
	s.out.line("%s %s %s", s.out.paint(dim, l.Time.Local().Format(time.TimeOnly)), s.out.paint(dim, pad(l.Source, 6)), s.out.paint(how, clean(l.Text)))
	return nil
}

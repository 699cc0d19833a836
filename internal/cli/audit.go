package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/internal/app"
	"github.com/toolcrib/toolcrib/internal/audit"
	"github.com/toolcrib/toolcrib/internal/datadir"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
)

type auditCommands struct {
	Verify auditVerify `cmd:"" help:"Say whether the record of calls is what was written. If it is not, the exit code is 1."`
	Head   auditHead   `cmd:"" help:"Print where the record ends now, signed. Keep it elsewhere: with it, \"audit verify\" finds also that the end was cut off."`
	Acts   auditActs   `cmd:"" help:"What was done to the hub, and by whom: changes of servers, the configuration, tokens and the like, decisions, logins; also what was refused."`
	Export auditExport `cmd:"" help:"Write the record as JSON lines, which \"audit verify --file\" can verify anywhere, or the calls as CSV."`
}

type auditVerify struct {
	Head string `help:"A head that \"audit head\" wrote." type:"path" placeholder:"FILE"`
	File string `help:"Verify this export, and no database." type:"path" placeholder:"FILE"`
}

// Run verifies the record: of a hub that runs, in the database if none does, or
// in an export. It writes nothing.
func (c *auditVerify) Run(ctx context.Context, s *session) error {
	var head *audit.Head
	if c.Head != "" {
		text, err := readFile(c.Head)
		if err != nil {
			return err
		}
		if head, err = audit.ParseHead([]byte(text)); err != nil {
			return err
		}
	}
	report, err := c.verify(ctx, s, head)
	if err != nil {
		return err
	}
	if s.JSON {
		err = s.out.json(report)
	} else {
		s.report(&report)
	}
	if err == nil && !report.OK {
		return exit(exitFailure)
	}
	return err
}

func (c *auditVerify) verify(ctx context.Context, s *session, head *audit.Head) (api.AuditReport, error) {
	if c.File != "" {
		f, err := os.Open(c.File)
		if err != nil {
			return api.AuditReport{}, unreadable(c.File, err)
		}
		defer f.Close()
		report, err := audit.VerifyExport(f, head)
		if err != nil {
			return api.AuditReport{}, err
		}
		return report.View(s.env.Lang), nil
	}
	h, err := s.attachRunning(ctx)
	if hub.IsCode(err, message.HubNotRunning) {
		return s.verifyStore(ctx, head)
	}
	if err != nil {
		return api.AuditReport{}, err
	}
	defer h.Close()
	if head == nil {
		return h.VerifyAudit(ctx, nil)
	}
	given := api.AuditHead(*head)
	return h.VerifyAudit(ctx, &given)
}

// verifyStore verifies the database that a hub would use.
func (s *session) verifyStore(ctx context.Context, head *audit.Head) (api.AuditReport, error) {
	dir, err := s.dataDir()
	if err != nil {
		return api.AuditReport{}, err
	}
	opt, err := s.hubOptions(dir, nil)
	if err != nil {
		return api.AuditReport{}, err
	}
	database, err := app.StoreOf(datadir.Layout(dir), opt.Config, nil)
	if err != nil {
		return api.AuditReport{}, err
	}
	if database.URL == "" {
		if _, err := os.Stat(database.Path); err != nil {
			return api.AuditReport{}, unreadable(database.Path, err)
		}
	}
	db, err := store.OpenAsIs(ctx, database)
	if err != nil {
		return api.AuditReport{}, err
	}
	report, err := audit.VerifyStore(ctx, db, head)
	if closing := db.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return api.AuditReport{}, err
	}
	return report.View(s.env.Lang), nil
}

// report prints what a verification has found.
func (s *session) report(v *api.AuditReport) {
	p, say := s.out, s.out.say
	if len(v.Chains) > 0 {
		rows := make([]row, len(v.Chains))
		for i, c := range v.Chains {
			rows[i] = row{cells: []string{
				p.paint(bold, clean(c.Node)), fmt.Sprint(c.Entries), fmt.Sprintf("%d – %d", c.First, c.Last), fmt.Sprint(c.Checkpoints), fmt.Sprint(c.Signed),
			}}
		}
		p.table([]string{
			say("CHAIN", "链"), say("ENTRIES", "条目数"), say("FROM – TO", "起止"), say("SIGNATURES", "签名数"), say("SIGNED UP TO", "已签名至"),
		}, rows)
	}
	if v.Gaps > 0 {
		p.line(say("The export leaves out entries in %d places.", "导出文件有 %d 处未包含全部条目。"), v.Gaps)
	}
	if v.OK {
		p.line("%s", p.paint(green, "✓ ")+say("The record is what was written.", "调用记录与写入时一致。"))
		return
	}
	for _, one := range v.Problems {
		p.line("%s", p.paint(red, "✗ ")+oneLine(one.Detail))
	}
	p.line("%s", p.paint(red, say("The record is NOT what was written.", "调用记录与写入时不一致。")))
}

type auditHead struct {
	Out   string `short:"o" help:"Write it to this file." type:"path" placeholder:"FILE"`
	Force bool   `help:"Replace a file that is there."`
}

// Run prints the head, which is JSON in any case.
func (c *auditHead) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		head, err := h.AuditHead(ctx)
		if err != nil {
			return err
		}
		if c.Out == "" {
			return s.out.json(head)
		}
		return writeNew(c.Out, c.Force, func(w io.Writer) error { return json.NewEncoder(w).Encode(head) })
	})
}

type auditExport struct {
	Format string `help:"jsonl or csv." enum:"jsonl,csv" default:"jsonl" placeholder:"FORMAT"`
	Out    string `short:"o" help:"Write it to this file, which is whole or not there." type:"path" placeholder:"FILE"`
	Force  bool   `help:"Replace a file that is there."`
	callFilter
}

// Run writes an export.
func (c *auditExport) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		q := c.query()
		if c.Out == "" {
			return h.ExportAudit(ctx, s.env.Stdout, c.Format, q)
		}
		var refused error // else it is the file's
		err := writeNew(c.Out, c.Force, func(w io.Writer) error {
			err := h.ExportAudit(ctx, w, c.Format, q)
			_, hubs := errors.AsType[*apiclient.Error](err)
			_, ours := errors.AsType[*hub.Error](err)
			if hubs || ours || ctx.Err() != nil {
				refused = err
			}
			return err
		})
		if refused != nil {
			return refused
		}
		return err
	})
}

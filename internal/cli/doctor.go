package cli

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
)

// maxTests is how many servers are tested side by side.
const maxTests = 4

type doctor struct{}

// finding is one thing that was looked at.
type finding struct {
	Section string `json:"section"`
	Level   string `json:"level"` // ok, note or wrong
	What    string `json:"what"`
	Remedy  string `json:"remedy,omitempty"`
}

// tested is one server and how far its test came.
type tested struct {
	Server api.Server      `json:"server"`
	Test   *api.TestResult `json:"test,omitempty"` // nil if it was not tested
}

// report is what the doctor found. This command's JSON is its own, as no
// operation of the HTTP API looks at so much.
type report struct {
	OK       bool      `json:"ok"`
	Findings []finding `json:"findings"`
	Servers  []tested  `json:"servers"`
}

// examination is one run of the doctor.
type examination struct {
	*session
	report  report
	section string
}

// Run looks at everything and ends with a verdict. The exit code is 1 if
// anything is wrong.
func (doctor) Run(ctx context.Context, s *session) error {
	e := &examination{session: s, report: report{Findings: []finding{}, Servers: []tested{}}}
	say := s.out.say
	running := e.hub(ctx)
	e.config()
	err := s.with(ctx, func(h *link) error {
		list, err := h.Servers(ctx)
		if err != nil {
			return err
		}
		e.environment(ctx, list.Servers)
		e.port(ctx, running)
		e.record(ctx, h)
		return e.servers(ctx, h, list.Servers)
	})
	if err != nil {
		e.begin(say("Hub", "Toolcrib"))
		text := s.text(err)
		e.wrong(text.What, text.Remedy)
	}
	return e.verdict()
}

// begin starts a part of the report.
func (e *examination) begin(section string) {
	if e.section == section {
		return
	}
	e.section = section
	if !e.JSON {
		e.out.line("%s", e.out.paint(bold, section))
	}
}

func (e *examination) add(level, sign, what, remedy string) {
	e.report.Findings = append(e.report.Findings, finding{e.section, level, what, remedy})
	if e.JSON {
		return
	}
	e.out.line("  %s %s", sign, clean(what))
	if remedy != "" {
		e.out.line("    → %s", clean(remedy))
	}
}

func (e *examination) good(format string, args ...any) {
	e.add("ok", e.out.paint(green, "✓"), fmt.Sprintf(format, args...), "")
}

// note is for what is worth knowing and not wrong.
func (e *examination) note(what, remedy string) {
	e.add("note", e.out.paint(yellow, "!"), what, remedy)
}

func (e *examination) wrong(what, remedy string) {
	e.add("wrong", e.out.paint(red, "✗"), what, remedy)
}

// record looks whether the record of calls can be read and written. Reading it
// has the hub write what waits, so that it knows.
func (e *examination) record(ctx context.Context, h *link) {
	e.begin(e.out.say("Record of calls", "调用记录"))
	_, unread := h.Calls(ctx, apiclient.CallQuery{Limit: 1})
	if unread != nil {
		e.fault(unread)
	}
	v, err := h.Status(ctx)
	switch {
	case err != nil:
		e.fault(err)
	case !v.Record.Up:
		e.wrong(e.out.unwritable(), e.out.unwritableRemedy())
	case v.Record.Lost > 0:
		e.note(e.out.gap(v.Record.Lost), "")
	case unread == nil && v.Record.Taken == nil:
		e.good("%s", e.out.say("it can be written", "可以写入"))
	}
	if err == nil && v.Record.Taken != nil {
		e.wrong(v.Record.Taken.Reason, v.Record.Taken.Remedy)
	}
}

// servers tests every server that is enabled, several at once, and tells of
// them in order. The error is that of a hub that cannot test at all.
func (e *examination) servers(ctx context.Context, h *link, servers []api.Server) error {
	e.begin(e.out.say("Servers", "服务器"))
	results := make([]*api.TestResult, len(servers))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxTests)
	for i, v := range servers {
		if !v.Enabled {
			continue
		}
		group.Go(func() error {
			test, err := h.Test(ctx, api.Test{Key: v.Key})
			results[i] = &test
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, v := range servers {
		e.report.Servers = append(e.report.Servers, tested{v, results[i]})
		if !e.JSON {
			e.server(v, results[i])
		}
	}
	return nil
}

// server tells how the test of one server went: a line if it went well, else
// every step up to the one that failed.
func (e *examination) server(v api.Server, t *api.TestResult) {
	p, say := e.out, e.out.say
	key := p.paint(bold, clean(v.Key))
	switch {
	case t == nil:
		p.line("  %s %s  %s", p.paint(dim, "○"), key, p.paint(dim, say("disabled, not tested", "已停用，未测试")))
	case t.OK:
		p.line("  %s %s  %s", p.paint(green, "✓"), key, fmt.Sprintf(say("tools: %d", "工具：%d"), len(t.Tools)))
	default:
		p.line("  %s %s  %s", p.paint(red, "✗"), key, e.chain(t))
		for _, step := range t.Steps {
			if step.OK {
				continue
			}
			p.line("    %s (%s)", clean(step.Detail), step.Code)
			if step.Remedy != "" {
				p.line("    → %s", clean(step.Remedy))
			}
		}
	}
}

// chain is the steps of a test in one line, up to the one that failed.
func (e *examination) chain(t *api.TestResult) string {
	var steps []string
	for _, step := range t.Steps {
		sign := e.out.paint(green, "✓")
		if !step.OK {
			sign = e.out.paint(red, "✗")
		}
		steps = append(steps, e.step(step.Step)+" "+sign)
	}
	return strings.Join(steps, " → ")
}

// verdict ends the report.
func (e *examination) verdict() error {
	wrong := 0
	for _, f := range e.report.Findings {
		if f.Level == "wrong" {
			wrong++
		}
	}
	for _, t := range e.report.Servers {
		if t.Test != nil && !t.Test.OK {
			wrong++
		}
	}
	e.report.OK = wrong == 0
	p, say := e.out, e.out.say
	switch {
	case e.JSON:
		if err := p.json(e.report); err != nil {
			return err
		}
	case wrong == 0:
		p.line("%s", p.paint(green, say("Everything works.", "一切正常。")))
	case wrong == 1:
		p.line("%s", p.paint(red, say("One thing is wrong; it is marked with ✗ above.", "有 1 处问题，见上方 ✗ 标记。")))
	default:
		p.line("%s", p.paint(red, fmt.Sprintf(say("%d things are wrong; they are marked with ✗ above.", "有 %d 处问题，见上方 ✗ 标记。"), wrong)))
	}
	if wrong > 0 {
		return exit(exitFailure)
	}
	return nil
}

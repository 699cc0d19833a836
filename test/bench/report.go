//go:build linux

package main

import (
	"fmt"
	"runtime"
	"strings"
	"time"
)

// report is what the runner found.
type report struct {
	options  options
	begun    time.Time
	sections []*section
}

// section is what one scenario found.
type section struct {
	title  string
	goals  []goal
	tables []table
	notes  []string
	others share // what other processes took while load was running
}

// goal is a figure that should not exceed a limit.
type goal struct {
	what  string
	limit float64
	unit  string
	got   float64
	known bool // false if toolcrib was not measured
}

// table is one table of figures.
type table struct {
	title string
	head  []string
	rows  [][]string
}

func newReport(o options) *report { return &report{options: o, begun: time.Now()} }

// section adds the section of a scenario.
func (r *report) section(s scenario) *section {
	added := &section{title: s.key + ". " + s.title}
	r.sections = append(r.sections, added)
	return added
}

func (s *section) goal(what string, limit float64, unit string, got float64, known bool) {
	s.goals = append(s.goals, goal{what: what, limit: limit, unit: unit, got: got, known: known})
}

// verdict is PASS, MISS or not measured.
func (g goal) verdict() string {
	switch {
	case !g.known:
		return "not measured"
	case g.got <= g.limit:
		return "PASS"
	default:
		return "MISS"
	}
}

// addSeries adds the medians of a load; the columns with x are ratios to the yardstick, taken within a round.
func (s *section) addSeries(measured *series) {
	rows := table{
		title: measured.name,
		head: []string{
			"target", "rps", "p50 µs", "+p50 µs", "p99 µs", "p99.9 µs", "CPU s/10k", "RSS MiB",
			"p50 x", "+p50 x", "p99 x", "CPU x", "errors", "wrong",
		},
	}
	for _, name := range measured.targets {
		failed, wrong := measured.failures(name)
		base := yardstickOf(name)
		rows.rows = append(rows.rows, []string{
			name,
			show("%.0f")(measured.median(name, rps)),
			show("%.0f")(measured.median(name, p50)),
			show("%+.0f")(measured.added(name, direct, p50)),
			show("%.0f")(measured.median(name, p99)),
			show("%.0f")(measured.median(name, p999)),
			show("%.2f")(measured.median(name, cpu)),
			show("%.1f")(measured.median(name, rss)),
			show("%.2f")(measured.ratio(name, base, p50)),
			show("%.2f")(measured.ratioAbove(name, base, direct, p50)),
			show("%.2f")(measured.ratio(name, base, p99)),
			show("%.2f")(measured.ratio(name, base, cpu)),
			fmt.Sprint(failed), fmt.Sprint(wrong),
		})
	}
	s.tables = append(s.tables, rows)
}

// show formats a figure, or a dash where there is none.
func show(format string) func(value float64, known bool) string {
	return func(value float64, known bool) string {
		if !known {
			return "-"
		}
		return fmt.Sprintf(format, value)
	}
}

// markdown renders the report: the goals first, then all the medians.
func (r *report) markdown() string {
	var out strings.Builder
	fmt.Fprintf(&out, "# Benchmark\n\n%s, %s, %s/%s, %d cores; medians of %d rounds, %v each.\n",
		r.begun.Format(time.DateOnly), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), r.options.rounds, r.options.slot)
	var others share
	goals := table{title: "Goals", head: []string{"goal", "at most", "measured", "verdict"}}
	for _, s := range r.sections {
		others.add(s.others)
		for _, g := range s.goals {
			goals.rows = append(goals.rows, []string{
				g.what, fmt.Sprintf("%g %s", g.limit, g.unit), show("%.2f")(g.got, g.known), g.verdict(),
			})
		}
	}
	if others.passed > 0 {
		fmt.Fprintf(&out, "Other processes took %.2f cores on average under load; above %g, measure again.\n", others.cores(), noiseLimit)
	}
	if len(goals.rows) > 0 {
		goals.write(&out, "##")
	}
	for _, s := range r.sections {
		fmt.Fprintf(&out, "\n## %s\n", s.title)
		for _, t := range s.tables {
			t.write(&out, "###")
		}
		for _, note := range s.notes {
			fmt.Fprintf(&out, "\n%s\n", note)
		}
	}
	return out.String()
}

func (t table) write(out *strings.Builder, level string) {
	fmt.Fprintf(out, "\n%s %s\n\n| %s |\n|%s\n", level, t.title, strings.Join(t.head, " | "), strings.Repeat("---|", len(t.head)))
	for _, row := range t.rows {
		fmt.Fprintf(out, "| %s |\n", strings.Join(row, " | "))
	}
}

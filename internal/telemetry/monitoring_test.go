package telemetry

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v2"
)

// What is in packaging/monitoring is of use only as long as it names metrics and
// labels that there are.

const monitoring = "../../packaging/monitoring/"

// series are all series that a scrape has, by name, with their labels. Prometheus
// itself adds two.
func series(t *testing.T) map[string][]string {
	t.Helper()
	opt, _ := hubOf(t)
	all := map[string][]string{}
	for _, m := range Metrics() {
		labels := append([]string{"job", "instance"}, m.Labels...)
		if m.Kind != Distribution {
			all[m.Name] = labels
			continue
		}
		all[m.Name+"_bucket"] = append(slices.Clone(labels), "le")
		all[m.Name+"_sum"], all[m.Name+"_count"] = labels, labels
	}
	for _, m := range regexp.MustCompile(`(?m)^((?:go|process)_[a-z_]+) `).FindAllStringSubmatch(scrape(t, New(opt), "text/plain"), -1) {
		all[m[1]] = []string{"job", "instance"}
	}
	return all
}

// token is one word of PromQL.
type token struct {
	kind string // name, text, number, span (what is in brackets) or sign
	text string
}

var words = regexp.MustCompile(`^(?:` +
	`(?P<space>\s+)|(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)|(?P<text>"(?:[^"\\]|\\.)*")|(?P<number>[0-9]+(?:\.[0-9]+)?)|` +
	`(?P<span>\[(?:[0-9]+[smhd]|\$__rate_interval)\])|(?P<sign>=~|!~|!=|==|<=|>=|[-+*/(){},=<>]))`)

func tokens(query string) (all []token, err error) {
	for at := 0; at < len(query); {
		m := words.FindStringSubmatch(query[at:])
		if m == nil {
			return nil, fmt.Errorf("what is %.20q", query[at:])
		}
		for i, kind := range words.SubexpNames() {
			if i > 0 && m[i] != "" && kind != "space" {
				all = append(all, token{kind, m[i]})
			}
		}
		at += len(m[0])
	}
	return all, nil
}

// functions are those that are used, and whether they need a span of time.
func functions() map[string]bool {
	return map[string]bool{
		"rate": true, "increase": true, "absent": false, "histogram_quantile": false, "topk": false,
		"sum": false, "max": false, "min": false,
	}
}

// query checks a query, and returns the labels that its result may have.
func query(text string, known map[string][]string) (labels []string, faults []string) {
	all, err := tokens(text)
	if err != nil {
		return nil, []string{err.Error()}
	}
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	var open []string           // brackets, with the function before each
	found := map[string]bool{}  // metrics
	groups := map[string]bool{} // labels by which is grouped
	var wanted [][2]string      // label and metric it has to be of
	var metric string           // the last one
	grouped := false
	at := func(i int) token {
		if i < len(all) {
			return all[i]
		}
		return token{}
	}
	for i := 0; i < len(all); i++ {
		switch now := all[i]; {
		case now.text == "by" && at(i+1).text == "(":
			grouped = true
			for i += 2; i < len(all) && all[i].text != ")"; i++ {
				if all[i].kind == "name" {
					groups[all[i].text] = true
				}
			}
		case now.text == "and" || now.text == "or":
		case now.text == "(":
			before := ""
			if i > 0 && all[i-1].kind == "name" {
				before = all[i-1].text
			}
			open = append(open, before)
		case now.text == ")":
			if len(open) == 0 {
				fault("a bracket too many")
				return nil, faults
			}
			open = open[:len(open)-1]
		case now.text == "{":
			for i++; i < len(all) && all[i].text != "}"; i += 4 {
				label, sign, value := at(i), at(i+1), at(i+2)
				if label.kind != "name" || !slices.Contains([]string{"=", "=~", "!=", "!~"}, sign.text) || value.kind != "text" {
					fault("%s is no matcher", label.text)
				}
				if strings.HasSuffix(sign.text, "~") && !strings.HasPrefix(value.text, `"$`) {
					if _, err := regexp.Compile(value.text[1 : len(value.text)-1]); err != nil {
						fault("%v", err)
					}
				}
				wanted = append(wanted, [2]string{label.text, metric})
				if at(i+3).text == "}" {
					i += 3
					break
				}
			}
		case now.kind == "name" && (at(i+1).text == "(" || at(i+1).text == "by"):
			if _, ok := functions()[now.text]; !ok {
				fault("%s is no function", now.text)
			}
		case now.kind == "name":
			if known[now.text] == nil {
				fault("there is no metric %s", now.text)
			}
			metric = now.text
			found[metric] = true
			end := i + 1
			if at(end).text == "{" {
				for end < len(all) && all[end].text != "}" {
					end++
				}
				end++
			}
			inner := ""
			if len(open) > 0 {
				inner = open[len(open)-1]
			}
			if spans := at(end).kind == "span"; spans != functions()[inner] {
				fault("%s of %s has a span of time: %v", inner, metric, spans)
			}
			counts := strings.HasSuffix(metric, "_total") || strings.HasSuffix(metric, "_bucket") || strings.HasSuffix(metric, "_count") || strings.HasSuffix(metric, "_sum")
			if functions()[inner] != counts {
				fault("%s of %s", inner, metric)
			}
		}
	}
	if len(open) > 0 {
		fault("a bracket is missing")
	}
	if strings.Contains(text, "histogram_quantile") && !groups["le"] {
		fault("a quantile needs le")
	}
	for _, w := range wanted {
		if !slices.Contains(known[w[1]], w[0]) {
			fault("%s has no label %s", w[1], w[0])
		}
	}
	some := map[string]bool{}
	for m := range found {
		for _, label := range known[m] {
			some[label] = true
		}
	}
	for g := range groups {
		if !some[g] {
			fault("nothing has a label %s", g)
		}
	}
	if grouped {
		some = groups
	}
	if len(found) == 0 {
		fault("it asks for nothing")
	}
	return slices.Sorted(maps.Keys(some)), faults
}

// The checks themselves find what they are for.
func TestQueriesAreChecked(t *testing.T) {
	known := series(t)
	for text, want := range map[string]string{
		`sum by (server) (rate(toolcrib_calls_total{server=~"$server",outcome!="ok"}[5m])) / 2 > 0.5`: "",
		`absent(toolcrib_build_info) == 1`:              "",
		`sum(rate(toolcrib_cals_total[5m]))`:            "no metric",
		`sum(rate(toolcrib_calls_total{code="x"}[5m]))`: "no label code",
		`sum(rate(toolcrib_calls_total{outcome="x"}))`:  "span of time",
		`sum(toolcrib_calls_total)`:                     "sum of",
		`sum(rate(toolcrib_tools[5m]))`:                 "rate of",
		`sum by (class) (toolcrib_tools)`:               "label class",
		`sum(toolcrib_tools`:                            "bracket",
		`toolcrib_tools)`:                               "bracket",
		`average(toolcrib_tools)`:                       "no function",
		`toolcrib_tools{server}`:                        "no matcher",
		`toolcrib_server_state{state=~"("}`:             "parsing regexp",
		`histogram_quantile(0.9, sum(rate(toolcrib_call_duration_seconds_bucket[5m])))`: "needs le",
		`sum(rate(toolcrib_call_duration_seconds[5m]))`:                                 "no metric",
		`toolcrib_tools ^ 2`: "what is",
		`1 + 1`:              "nothing",
		`sum by (outcome) (rate(toolcrib_calls_total{server=~"a|b"}[$__rate_interval])) or 2`: "",
	} {
		_, faults := query(text, known)
		if want == "" && len(faults) > 0 || want != "" && !strings.Contains(strings.Join(faults, "; "), want) {
			t.Errorf("%s: %q, want %q", text, faults, want)
		}
	}
}

// checked reports what is wrong with a query. Metrics of the process are not the
// same everywhere.
func checked(t *testing.T, where, text string, known map[string][]string) []string {
	t.Helper()
	if runtime.GOOS != "linux" && strings.Contains(text, "process_") {
		return nil
	}
	labels, faults := query(text, known)
	for _, f := range faults {
		t.Errorf("%s: %s in %s", where, f, text)
	}
	return labels
}

func TestAlerts(t *testing.T) {
	text, err := os.ReadFile(monitoring + "alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string `yaml:"name"`
			Rules []struct {
				Alert       string            `yaml:"alert"`
				Expr        string            `yaml:"expr"`
				For         string            `yaml:"for"`
				Labels      map[string]string `yaml:"labels"`
				Annotations map[string]string `yaml:"annotations"`
			} `yaml:"rules"`
		} `yaml:"groups"`
	}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		t.Fatal(err)
	}
	known, seen := series(t), map[string]bool{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			labels := checked(t, r.Alert, r.Expr, known)
			if seen[r.Alert] || !regexp.MustCompile(`^Toolcrib[A-Za-z]+$`).MatchString(r.Alert) {
				t.Errorf("%s: a name like that of another, or none", r.Alert)
			}
			seen[r.Alert] = true
			if !regexp.MustCompile(`(==|<|>) [0-9.]+\s*($|and )`).MatchString(r.Expr) {
				t.Errorf("%s: it always fires", r.Alert)
			}
			if r.Alert == "ToolcribLowSuccessRate" && (!strings.Contains(r.Expr, "toolcrib_calls_refused_total") || strings.Count(r.Expr, `server!=""`) != strings.Count(r.Expr, "{")) {
				t.Errorf("%s: servers are blamed for what the hub has refused", r.Alert)
			}
			if _, err := time.ParseDuration(r.For); r.For != "" && err != nil {
				t.Errorf("%s: %v", r.Alert, err)
			}
			if !slices.Contains([]string{"info", "warning", "critical"}, r.Labels["severity"]) {
				t.Errorf("%s: how bad is it", r.Alert)
			}
			for _, name := range []string{"summary", "description"} {
				if r.Annotations[name] == "" {
					t.Errorf("%s has no %s", r.Alert, name)
				}
				for _, m := range regexp.MustCompile(`\$labels\.([a-z_]+)`).FindAllStringSubmatch(r.Annotations[name], -1) {
					if !slices.Contains(labels, m[1]) {
						t.Errorf("%s: its result has no label %s", r.Alert, m[1])
					}
				}
			}
		}
	}
	for _, name := range []string{"ServerDown", "LowSuccessRate", "SlowCalls", "QueueFull", "RecordUnwritable"} {
		if !seen["Toolcrib"+name] {
			t.Errorf("nothing tells of %s", name)
		}
	}
}

func TestDashboard(t *testing.T) {
	text, err := os.ReadFile(monitoring + "grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		UID        string `json:"uid"`
		Templating struct {
			List []struct {
				Name       string `json:"name"`
				Definition string `json:"definition"`
			} `json:"list"`
		} `json:"templating"`
		Panels []struct {
			ID      int            `json:"id"`
			Type    string         `json:"type"`
			Title   string         `json:"title"`
			GridPos map[string]int `json:"gridPos"`
			Targets []struct {
				RefID  string `json:"refId"`
				Expr   string `json:"expr"`
				Legend string `json:"legendFormat"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	known, ids, shown := series(t), map[int]bool{}, map[string]bool{}
	variables := map[string]bool{"__rate_interval": true}
	for _, v := range board.Templating.List {
		variables[v.Name] = true
		if m := regexp.MustCompile(`^label_values\(([a-z_]+), ([a-z_]+)\)$`).FindStringSubmatch(v.Definition); v.Definition != "" &&
			(m == nil || !slices.Contains(known[m[1]], m[2])) {
			t.Errorf("%s is of %s", v.Name, v.Definition)
		}
	}
	var taken [400][24]bool
	for _, p := range board.Panels {
		if ids[p.ID] || p.Title == "" || (p.Type != "row") != (len(p.Targets) > 0) {
			t.Errorf("%d %q is there twice, or shows nothing", p.ID, p.Title)
		}
		ids[p.ID] = true
		for y := p.GridPos["y"]; y < p.GridPos["y"]+p.GridPos["h"]; y++ {
			for x := p.GridPos["x"]; x < p.GridPos["x"]+p.GridPos["w"]; x++ {
				if taken[y][x] {
					t.Fatalf("%q lies on another panel", p.Title)
				}
				taken[y][x] = true
			}
		}
		for _, q := range p.Targets {
			labels := checked(t, p.Title, q.Expr, known)
			for _, m := range regexp.MustCompile(`\{\{([a-z_]+)\}\}`).FindAllStringSubmatch(q.Legend, -1) {
				if !slices.Contains(labels, m[1]) {
					t.Errorf("%s: its result has no label %s", p.Title, m[1])
				}
			}
			for _, m := range regexp.MustCompile(`\$([a-z_]+)`).FindAllStringSubmatch(q.Expr, -1) {
				if !variables[m[1]] {
					t.Errorf("%s: there is no variable %s", p.Title, m[1])
				}
			}
			shown[regexp.MustCompile(`toolcrib_[a-z_]+`).FindString(q.Expr)] = true
		}
	}
	for _, name := range []string{
		"toolcrib_calls_total", "toolcrib_call_errors_total", "toolcrib_call_duration_seconds_bucket", "toolcrib_server_state",
		"toolcrib_queue_running", "toolcrib_policy_verdicts_total", "toolcrib_approvals_total", "toolcrib_approvals_pending", "toolcrib_tool_cache_hits_total", "toolcrib_record_entries_total", "toolcrib_server_resident_memory_bytes",
	} {
		if !shown[name] {
			t.Errorf("it does not show %s", name)
		}
	}
}

package docgen

import (
	"bytes"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/cli"
	"github.com/toolcrib/toolcrib/internal/message"
)

// command is what the help of a command says.
type command struct {
	path  string // after the program's name; "" for the program itself
	usage string
	about []string // paragraphs
	args  []term
	flags []term // its own
	// Of the program itself and of groups of commands:
	common   []term // flags of every command
	groups   []string
	children map[string][]term // by group
	exits    []term
}

// term is something and what it means.
type term struct{ name, about string }

// help runs a command with --help and reads what it says.
func help(t *testing.T, path string) *command {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("help cannot be told how wide it may be")
	}
	t.Setenv("COLUMNS", "10000") // a line for each term
	var out bytes.Buffer
	args := append(strings.Fields(path), "--help")
	if code := cli.Main(t.Context(), args, cli.Env{Stdout: &out, Stderr: &out}); code != 0 {
		t.Fatalf("%q --help ends with %d: %s", path, code, &out)
	}
	c := &command{path: path, children: make(map[string][]term)}
	section := ""
	for line := range strings.Lines(out.String()) {
		line = strings.TrimRight(line, "\n")
		usage, isUsage := strings.CutPrefix(line, "Usage: ")
		title, isTitle := strings.CutSuffix(line, ":")
		switch {
		case isUsage:
			c.usage = usage
		case line == "" || strings.HasPrefix(line, "Run \"toolcrib"):
		case isTitle && (section != "" || title == "Arguments" || title == "Flags"):
			section = title
		case section == "":
			c.about = append(c.about, line)
		default:
			c.add(section, entry(line))
		}
	}
	return c
}

// entry takes a line of a table apart.
func entry(line string) term {
	name, about, _ := strings.Cut(strings.TrimSpace(line), "  ")
	return term{name, strings.TrimSpace(about)}
}

func (c *command) add(section string, t term) {
	switch section {
	case "Arguments":
		c.args = append(c.args, t)
	case "Flags":
		if t.name != "-h, --help" {
			c.flags = append(c.flags, t)
		}
	case "Flags of every command":
		c.common = append(c.common, t)
	case "Exit codes":
		c.exits = append(c.exits, t)
	default:
		if c.children[section] == nil {
			c.groups = append(c.groups, section)
		}
		c.children[section] = append(c.children[section], t)
	}
}

// leaves calls f with each command that does something, below c and in order.
func (c *command) leaves(t *testing.T, f func(group string, leaf *command)) {
	t.Helper()
	for _, group := range c.groups {
		for _, child := range c.children[group] {
			next := help(t, child.name)
			if len(next.groups) == 0 {
				f(group, next)
				continue
			}
			next.leaves(t, func(_ string, leaf *command) { f(group, leaf) })
		}
	}
}

// TestCommands is the reference of the command line.
func TestCommands(t *testing.T) {
	program := help(t, "")
	tr := newTranslation(t, "commands.zh.txt")
	variables := regexp.MustCompile(`\$TOOLCRIB_[A-Z_]+`)
	inBoth(t, "docs/cli", func(lang message.Lang) map[string]string {
		var all strings.Builder
		last := ""
		program.leaves(t, func(group string, c *command) {
			if group != last {
				all.WriteString("## " + tr.say(lang, group) + "\n\n")
				last = group
			}
			all.WriteString("### " + c.path + "\n\n```\n" + c.usage + "\n```\n\n" + tr.say(lang, c.about[0]) + "\n\n")
			if terms := append(c.args, c.flags...); len(terms) > 0 {
				all.WriteString(terms2table(tr, lang, terms) + "\n")
			}
		})
		return map[string]string{
			"commands":     strings.TrimSuffix(all.String(), "\n"),
			"common-flags": terms2table(tr, lang, program.common),
			"exit-codes":   terms2table(tr, lang, program.exits),
		}
	})
	tr.done()
	for _, flag := range program.common {
		for _, name := range variables.FindAllString(flag.about, -1) {
			for _, doc := range []string{"docs/cli.md", "docs/cli.zh-CN.md"} {
				if !strings.Contains(read(t, doc), "`"+name[1:]+"`") {
					t.Errorf("%s does not explain the variable %s", doc, name)
				}
			}
		}
	}
}

func terms2table(tr *translation, lang message.Lang, terms []term) string {
	rows := [][]string{{"", tr.say(lang, "meaning")}}
	for _, one := range terms {
		rows = append(rows, []string{"`" + one.name + "`", escaped(tr.say(lang, one.about))})
	}
	return table(rows...)
}

// escaped keeps Markdown from taking a word in angle brackets for HTML.
func escaped(text string) string { return strings.ReplaceAll(text, "<", "&lt;") }

package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/toolcrib/toolcrib/internal/datadir"
)

// completeWord is the first argument by which a shell's script asks for
// completions. What follows is the words so far without the program's name;
// the last one, which may be empty, is the one to complete.
const completeWord = "__complete"

// completeLimit is how long a person waits for keys and names at most.
const completeLimit = 300 * time.Millisecond

type completion struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help tells how to use the script.
func (completion) Help() string {
	return `Put one of these in the file that your shell reads at its start:

  bash  source <(toolcrib completion bash)
  zsh   source <(toolcrib completion zsh)
  fish  toolcrib completion fish | source`
}

// Run prints the script. It asks this program for the candidates, one a line:
// the word, and after a tab what it means.
func (c completion) Run(s *session) error {
	_, err := fmt.Fprint(s.env.Stdout, completionScripts()[c.Shell])
	return err
}

func completionScripts() map[string]string {
	return map[string]string{
		"bash": `_toolcrib() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("${line%%$'\t'*}")
    done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _toolcrib toolcrib
`,
		"zsh": `_toolcrib() {
    local line
    local -a candidates
    for line in "${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        [[ -n $line ]] && candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done
    if (( $#candidates )); then _describe toolcrib candidates; else _files; fi
}
compdef _toolcrib toolcrib
`,
		"fish": `function __toolcrib_complete
    set -l before (commandline -opc)
    set -l word (commandline -ct)
    $before[1] __complete $before[2..-1] "$word" 2>/dev/null
end
complete -c toolcrib -a '(__toolcrib_complete)'
`,
	}
}

// candidate is one way to complete a word.
type candidate struct{ word, about string }

// printCandidates answers a shell's script.
func printCandidates(ctx context.Context, parser *kong.Kong, env Env, words []string) {
	if len(words) == 0 {
		words = []string{""}
	}
	c := completer{node: parser.Model.Node, known: func(what string) []candidate { return namesOf(ctx, env, words, what) }}
	for _, one := range c.complete(words) {
		fmt.Fprintf(env.Stdout, "%s\t%s\n", oneLine(one.word), oneLine(one.about))
	}
}

// completer walks along the words that were typed.
type completer struct {
	node  *kong.Node
	known func(what string) []candidate // keys and names that only a hub knows

	position int // of the next argument that is no flag
}

// complete returns the candidates for the last word, given those before it.
func (c *completer) complete(words []string) []candidate {
	last := words[len(words)-1]
	var pending *kong.Flag // whose value comes next
	flags := true
	for _, word := range words[:len(words)-1] {
		switch {
		case pending != nil:
			pending = nil
		case flags && word == "--":
			flags = false
		case flags && strings.HasPrefix(word, "-") && word != "-":
			pending = c.awaits(word)
		default:
			c.step(word)
		}
	}
	switch {
	case pending != nil:
		return fitting(c.values(pending.Value), last)
	case flags && strings.HasPrefix(last, "-"):
		return fitting(c.flags(), last)
	case c.position == 0 && len(c.node.Children) > 0:
		return fitting(c.commands(), last)
	}
	for i, p := range c.node.Positional {
		if i == c.position || i < c.position && p.IsCumulative() {
			return fitting(c.values(p), last)
		}
	}
	return nil
}

// step goes on to a command, or past an argument.
func (c *completer) step(word string) {
	if c.position == 0 {
		for _, child := range c.node.Children {
			if child.Name == word {
				c.node = child
				return
			}
		}
	}
	c.position++
}

// awaits is the flag of a word whose value is the next word; nil if it has one
// already or takes none.
func (c *completer) awaits(word string) *kong.Flag {
	for _, group := range c.node.AllFlags(false) {
		for _, f := range group {
			if (word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short)) && !f.IsBool() {
				return f
			}
		}
	}
	return nil
}

func (c *completer) flags() []candidate {
	var all []candidate
	for _, group := range c.node.AllFlags(true) {
		for _, f := range group {
			all = append(all, candidate{"--" + f.Name, f.Help})
		}
	}
	return all
}

func (c *completer) commands() []candidate {
	var all []candidate
	for _, child := range c.node.Children {
		if !child.Hidden {
			all = append(all, candidate{child.Name, child.Help})
		}
	}
	return all
}

// values are what a flag or an argument may be. None leaves it to the shell,
// which offers files.
func (c *completer) values(v *kong.Value) []candidate {
	if what := v.Tag.Get("complete"); what != "" {
		return c.known(what)
	}
	var all []candidate
	for _, word := range slices.Sorted(maps.Keys(v.EnumMap())) {
		if word != "" {
			all = append(all, candidate{word: word})
		}
	}
	return all
}

func fitting(all []candidate, prefix string) []candidate {
	return slices.DeleteFunc(all, func(c candidate) bool { return !strings.HasPrefix(c.word, prefix) })
}

// namesOf returns the names of clients, or asks the hub that holds the data
// directory for names of what it has. It starts none, and does not wait for one.
func namesOf(ctx context.Context, env Env, words []string, what string) []candidate {
	if what == "client" || what == "connectable" {
		var all []candidate
		for _, name := range clientNames(what == "connectable") {
			all = append(all, candidate{word: name})
		}
		return all
	}
	ctx, cancel := context.WithTimeout(ctx, completeLimit)
	defer cancel()
	s := newSession(globals{}, env)
	for i, word := range words {
		if dir, ok := strings.CutPrefix(word, "--data-dir="); ok {
			s.DataDir = dir
		} else if word == "--data-dir" && i+1 < len(words) {
			s.DataDir = words[i+1]
		}
	}
	path, err := s.dataDir()
	if err != nil {
		return nil
	}
	if held, _, err := datadir.Peek(path); err != nil || !held {
		return nil
	}
	info, err := datadir.ReadHub(path)
	if err != nil {
		return nil
	}
	h, err := s.linkTo(path, info, nil) // with the token, without which requests and grants are not told
	if err != nil {
		return nil
	}
	defer h.Close()
	all, err := names(ctx, h.Client, kind(what))
	if err != nil {
		return nil
	}
	return all
}

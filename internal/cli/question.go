package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// prompt asks a person who types line by line.
type prompt struct {
	w     io.Writer
	lines chan string // closed at the end of input
}

// newPrompt returns a prompt that reads r, for as long as the program runs: a
// terminal cannot be told to stop reading.
func newPrompt(r io.Reader, w io.Writer) *prompt {
	p := &prompt{w: w, lines: make(chan string)}
	go func() {
		defer close(p.lines)
		s := bufio.NewScanner(r)
		for s.Scan() {
			p.lines <- strings.TrimSpace(s.Text())
		}
	}()
	return p
}

// ask shows a text and returns the line that is typed. The error is [io.EOF]
// if there is none, or why ctx ended.
func (p *prompt) ask(ctx context.Context, text string) (string, error) {
	fmt.Fprint(p.w, text)
	select {
	case line, ok := <-p.lines:
		if !ok {
			fmt.Fprintln(p.w)
			return "", io.EOF
		}
		return line, nil
	case <-ctx.Done():
		fmt.Fprintln(p.w)
		return "", context.Cause(ctx)
	}
}

// confirm asks a question whose answer is no unless yes is typed.
func (p *prompt) confirm(ctx context.Context, text string) (bool, error) {
	line, err := p.ask(ctx, text+" [y/N] ")
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return slices.Contains([]string{"y", "yes", "是"}, strings.ToLower(line)), err
}

// form is a question of a server: fields to be filled in (2026-07-28,
// "Elicitation", form mode).
type form struct {
	*prompt
	say    func(en, zh string) string
	schema *schema
}

// fill has a person fill the form and returns the answer: accepted with what
// was typed, declined, or cancelled, which is also what the end of input
// means.
func (f *form) fill(ctx context.Context, text string) (json.RawMessage, error) {
	fmt.Fprintf(f.w, "\n? %s\n", clean(strings.TrimSpace(text)))
	content, err := f.content(ctx)
	for err == nil {
		var line string
		line, err = f.ask(ctx, f.say("  Send it? [y]es, [d]ecline, [c]ancel: ", "  提交？[y] 提交，[d] 拒绝，[c] 取消："))
		switch strings.ToLower(line) {
		case "y", "yes":
			return json.RawMessage(`{"action":"accept","content":` + string(content) + `}`), nil
		case "d", "decline":
			return json.RawMessage(`{"action":"decline"}`), nil
		case "c", "cancel":
			return json.RawMessage(`{"action":"cancel"}`), nil
		}
	}
	if errors.Is(err, io.EOF) {
		return json.RawMessage(`{"action":"cancel"}`), nil
	}
	return nil, err
}

// content asks for each field in turn and returns the object of them.
func (f *form) content(ctx context.Context) (json.RawMessage, error) {
	b := []byte("{")
	for _, p := range f.schema.members() {
		value, err := f.field(ctx, p)
		if err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(b, quote(p.name)...)
		b = append(b, ':')
		b = append(b, value...)
	}
	return append(b, '}'), nil
}

// field asks for one field until what is typed fits. It is nil if it is left
// out.
func (f *form) field(ctx context.Context, p parameter) (json.RawMessage, error) {
	label := p.schema.Title
	if label == "" {
		label = p.name
	}
	hint := p.schema.kind()
	if about := p.schema.about(); about != "" {
		hint += "; " + about
	}
	if !p.required {
		hint += f.say("; optional", "；可选")
	}
	if d := p.schema.Description; d != "" {
		fmt.Fprintf(f.w, "  %s\n", oneLine(d))
	}
	for {
		line, err := f.ask(ctx, fmt.Sprintf("  %s (%s): ", oneLine(label), oneLine(hint)))
		switch {
		case err != nil:
			return nil, err
		case line == "" && p.schema.Default != nil:
			return p.schema.Default, nil
		case line == "" && !p.required:
			return nil, nil
		}
		if value := p.schema.typed(line); value != nil {
			return value, nil
		}
		fmt.Fprintf(f.w, f.say("  That is not %s.\n", "  这不是 %s。\n"), oneLine(hint))
	}
}

// typed is the value that a person means by a text, nil if it does not fit:
// of a list of choices one of them, of an array its values between commas.
func (s *schema) typed(text string) json.RawMessage {
	if c := s.choices(); len(c) > 0 && !slices.Contains(c, text) {
		return nil
	}
	types := s.types()
	if slices.Equal(types, []string{"array"}) && !strings.HasPrefix(text, "[") && s.Items != nil {
		var all []string
		for one := range strings.SplitSeq(text, ",") {
			value := s.Items.typed(strings.TrimSpace(one))
			if value == nil {
				return nil
			}
			all = append(all, string(value))
		}
		return json.RawMessage("[" + strings.Join(all, ",") + "]")
	}
	if slices.Contains(types, "boolean") {
		switch strings.ToLower(text) {
		case "y", "yes", "是":
			text = "true"
		case "n", "no", "否":
			text = "false"
		}
	}
	value, _ := typed(types, text)
	return value
}

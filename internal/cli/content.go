package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// content is one block of a tool's result (2026-07-28, "Tool Result").
type content struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     []byte `json:"data"`
	MIMEType string `json:"mimeType"`
	URI      string `json:"uri"`
	Name     string `json:"name"`
	Resource *struct {
		URI      string  `json:"uri"`
		MIMEType string  `json:"mimeType"`
		Text     *string `json:"text"`
		Blob     []byte  `json:"blob"`
	} `json:"resource"`
}

// UnmarshalJSON reads a block. One that is not as expected is shown as the
// JSON that it is.
func (c *content) UnmarshalJSON(raw []byte) error {
	type bare content
	var b bare
	if json.Unmarshal(raw, &b) != nil || b.Type == "" {
		b = bare{Type: "text", Text: string(raw)}
	}
	*c = content(b)
	return nil
}

// contentPrinter prints the content of a result.
type contentPrinter struct {
	*printer
	terminal bool
	out      string // where data is saved; "" for nowhere

	saved int
}

// print prints every block, and the structured content if there is no text,
// since the text is usually the same for people.
func (p *contentPrinter) print(blocks []content, structured json.RawMessage) error {
	said := false
	for _, c := range blocks {
		said = said || c.Type == "text" || c.Resource != nil && c.Resource.Text != nil
		if err := p.block(c); err != nil {
			return err
		}
	}
	if said || len(structured) == 0 {
		return nil
	}
	var b bytes.Buffer
	if json.Indent(&b, structured, "", "  ") != nil {
		return nil
	}
	p.text(b.String())
	return nil
}

func (p *contentPrinter) block(c content) error {
	switch {
	case c.Type == "text":
		p.text(c.Text)
	case c.Resource != nil && c.Resource.Text != nil:
		p.text(*c.Resource.Text)
	case c.Resource != nil:
		return p.data(c.Resource.URI, c.Resource.MIMEType, c.Resource.Blob)
	case c.Type == "resource_link":
		p.line("[%s %s]", oneLine(strings.TrimSpace(c.Name+" "+c.MIMEType)), oneLine(c.URI))
	case c.Type == "image", c.Type == "audio":
		return p.data(c.Type, c.MIMEType, c.Data)
	default:
		p.line("[%s]", oneLine(c.Type))
	}
	return nil
}

// text prints a text as it is, but for what could do harm to a terminal.
func (p *contentPrinter) text(text string) {
	if p.terminal {
		text = clean(text)
	}
	p.line("%s", strings.TrimSuffix(text, "\n"))
}

// data tells of data and saves it if that is wanted: the first under the name
// asked for, each further one with a number in it.
func (p *contentPrinter) data(what, kind string, data []byte) error {
	about := fmt.Sprintf("%s %s, %s", oneLine(what), oneLine(kind), size(len(data)))
	if p.out == "" {
		p.line(p.say("[%s; --out FILE saves it]", "[%s；--out FILE 可保存]"), about)
		return nil
	}
	path := p.out
	if p.saved++; p.saved > 1 {
		ext := filepath.Ext(path)
		path = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, ext), p.saved, ext)
	}
	if err := writeNew(path, true, func(f io.Writer) error { _, err := f.Write(data); return err }); err != nil {
		return err
	}
	p.line(p.say("[%s, saved to %s]", "[%s，已保存到 %s]"), about, path)
	return nil
}

package builtin

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	demoShowDescription   = `Returns a result of the kind that is asked for, to see how a client shows it: text, structured, image, link, resource or error.`
	demoCountDescription  = `Counts slowly and tells how far it has come, to see how a client shows progress. It can be cancelled.`
	demoListDescription   = `Returns the notes of this demonstration, which are in memory only.`
	demoWriteDescription  = `Writes a note of this demonstration, or replaces it. It is in memory only.`
	demoDeleteDescription = `Deletes a note of this demonstration for ever. It only is about a note in memory, but is told to be destructive, to try approvals out with.`
)

// Bounds of the demonstration.
const (
	maxNotes    = 100
	maxNoteName = 100  // characters
	maxNote     = 2000 // characters
	maxCount    = 30
	maxCountGap = time.Second
)

type (
	showArgs struct {
		Kind string `json:"kind" jsonschema:"text, structured, image, link, resource or error"`
	}
	countArgs struct {
		To    int  `json:"to,omitempty" jsonschema:"1 to 30; 5 if left out"`
		Delay *int `json:"delay_ms,omitempty" jsonschema:"milliseconds between two numbers: 0 to 1000; 200 if left out"`
	}
	counted struct {
		Counted int `json:"counted"`
	}
	noteArgs struct {
		Name string `json:"name" jsonschema:"name of the note"`
	}
	writeArgs struct {
		noteArgs

		Text string `json:"text" jsonschema:"what it is to say"`
	}
	note struct {
		Name string `json:"name"`
		Text string `json:"text"`
	}
	noteList struct {
		Notes []note `json:"notes"`
	}
)

// notes are those of the demonstration. Safe for concurrent use.
type notes struct {
	mu  sync.Mutex
	all map[string]string
}

func newNotes() *notes {
	return &notes{all: map[string]string{
		"shopping": "apples, bread, cheese",
		"ideas":    "a box in which all tools have their place",
		"欢迎":       "这里的便签只保存在内存中。",
	}}
}

func (b *Builtins) addDemo(s *mcp.Server, _ map[string]string) {
	n, closed, open, yes := b.notes, false, false, true
	mcp.AddTool(s, &mcp.Tool{Name: "show_result", Title: "Show a result", Description: demoShowDescription, Annotations: readOnly()}, demoShow)
	mcp.AddTool(s, &mcp.Tool{Name: "count", Title: "Count slowly", Description: demoCountDescription, Annotations: readOnly()}, demoCount)
	mcp.AddTool(s, &mcp.Tool{Name: "list_notes", Title: "List notes", Description: demoListDescription, Annotations: readOnly()}, n.list)
	mcp.AddTool(s, &mcp.Tool{
		Name: "write_note", Title: "Write a note", Description: demoWriteDescription,
		Annotations: &mcp.ToolAnnotations{IdempotentHint: true, DestructiveHint: &open, OpenWorldHint: &closed},
	}, n.write)
	mcp.AddTool(s, &mcp.Tool{
		Name: "delete_note", Title: "Delete a note", Description: demoDeleteDescription,
		Annotations: &mcp.ToolAnnotations{IdempotentHint: true, DestructiveHint: &yes, OpenWorldHint: &closed},
	}, n.delete)
}

// picture is a red square, as PNG.
func picture() []byte {
	const side = 16
	square := image.NewPaletted(image.Rect(0, 0, side, side), color.Palette{color.RGBA{R: 0xd0, A: 0xff}})
	var b bytes.Buffer
	if err := png.Encode(&b, square); err != nil {
		panic(err) // nothing of it comes from elsewhere
	}
	return b.Bytes()
}

func demoShow(_ context.Context, _ *mcp.CallToolRequest, args showArgs) (*mcp.CallToolResult, any, error) {
	const uri = "demo://notes/welcome"
	switch args.Kind {
	case "text":
		return say("This is a text.", "这是一段文本。").result(), nil, nil
	case "structured":
		res := text(`{"city":"北京","temperature_c":3}`)
		res.StructuredContent = map[string]any{"city": "北京", "temperature_c": 3}
		return res, nil, nil
	case "image":
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: "A red square."}, &mcp.ImageContent{Data: picture(), MIMEType: "image/png"},
		}}, nil, nil
	case "link":
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.ResourceLink{URI: "https://modelcontextprotocol.io/", Name: "mcp", Title: "Model Context Protocol"},
		}}, nil, nil
	case "resource":
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "A resource that came along."}},
		}}, nil, nil
	case "error":
		return nil, nil, say("This is an error, as it was asked for.", "这是按要求返回的错误。").err()
	}
	return nil, nil, say(`"kind" must be text, structured, image, link, resource or error.`, "“kind”必须是 text、structured、image、link、resource 或 error。").err()
}

func demoCount(ctx context.Context, r *mcp.CallToolRequest, args countArgs) (*mcp.CallToolResult, counted, error) {
	gap := 200 * time.Millisecond
	if args.Delay != nil { // no more than fits, and than is taken
		gap = time.Duration(min(*args.Delay, int(time.Hour/time.Millisecond))) * time.Millisecond
	}
	if args.To == 0 {
		args.To = 5
	}
	if args.To < 1 || args.To > maxCount || gap < 0 || gap > maxCountGap {
		return nil, counted{}, say(`"to" must be from 1 to %d, and "delay_ms" from 0 to %d.`, "“to”必须在 1 到 %d 之间，“delay_ms”在 0 到 %d 之间。", maxCount, maxCountGap.Milliseconds()).err()
	}
	token := r.Params.GetProgressToken()
	for i := range args.To {
		if token != nil {
			// A caller who is gone cancels the call anyway.
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: float64(i + 1), Total: float64(args.To), Message: fmt.Sprintf("%d / %d", i+1, args.To),
			})
		}
		select {
		case <-ctx.Done():
			return nil, counted{}, ctx.Err()
		case <-time.After(gap):
		}
	}
	return say("Counted to %d.", "已数到 %d。", args.To).result(), counted{args.To}, nil
}

// list returns the notes by their names.
func (n *notes) list(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, noteList, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	list, lines := noteList{Notes: []note{}}, []string{}
	for _, name := range slices.Sorted(maps.Keys(n.all)) {
		list.Notes = append(list.Notes, note{name, n.all[name]})
		lines = append(lines, name+": "+n.all[name])
	}
	if len(lines) == 0 {
		return say("There are no notes.", "没有便签。").result(), list, nil
	}
	return text(strings.Join(lines, "\n")), list, nil
}

func (n *notes) write(_ context.Context, _ *mcp.CallToolRequest, args writeArgs) (*mcp.CallToolResult, note, error) {
	if err := args.check(); err != nil {
		return nil, note{}, err
	}
	if utf8.RuneCountInString(args.Text) > maxNote {
		return nil, note{}, say("A note has at most %d characters.", "便签最多 %d 个字符。", maxNote).err()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, there := n.all[args.Name]; !there && len(n.all) >= maxNotes {
		return nil, note{}, say("There are %d notes, and may be no more.", "已有 %d 条便签，不能再增加。", maxNotes).err()
	}
	n.all[args.Name] = args.Text
	return say("Written.", "已写入。").result(), note{args.Name, args.Text}, nil
}

func (n *notes) delete(_ context.Context, _ *mcp.CallToolRequest, args noteArgs) (*mcp.CallToolResult, note, error) {
	if err := args.check(); err != nil {
		return nil, note{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	was, there := n.all[args.Name]
	if !there {
		return nil, note{}, say("There is no note %q.", "没有便签 %q。", args.Name).err()
	}
	delete(n.all, args.Name)
	return say("The note %q is deleted.", "便签 %q 已删除。", args.Name).result(), note{args.Name, was}, nil
}

func (a *noteArgs) check() error {
	if a.Name == "" || utf8.RuneCountInString(a.Name) > maxNoteName {
		return say("The name of a note must have 1 to %d characters.", "便签的名称必须为 1 到 %d 个字符。", maxNoteName).err()
	}
	return nil
}

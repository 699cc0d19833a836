package builtin

import (
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// phrase is one thing said in both languages.
type phrase struct{ english, chinese string }

// say fills the same values into both languages.
func say(english, chinese string, values ...any) phrase {
	return phrase{fmt.Sprintf(english, values...), fmt.Sprintf(chinese, values...)}
}

// and returns p with q behind it.
func (p phrase) and(q phrase) phrase {
	return phrase{p.english + q.english, p.chinese + q.chinese}
}

// result is a result of a tool with a text for each language. The Chinese one
// is the first, because the assistants that read only one are Chinese.
func (p phrase) result() *mcp.CallToolResult { return text(p.chinese, p.english) }

// err is an error in both languages. They are in one text, since the SDK makes
// one of an error.
func (p phrase) err() error { return errors.New(p.english + "\n" + p.chinese) }

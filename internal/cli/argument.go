package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// maxArguments bounds what is read as arguments of a call.
const maxArguments = 64 << 20

// argument is one argument of a call as it was typed.
type argument struct {
	name string
	text string
	json bool // it is JSON, whatever the schema says
}

// parseArguments reads what stands behind a tool's name. It is either one
// JSON object, of which whole holds the text, or any number of name=value and
// name:=JSON. "-" stands for standard input, and "@FILE", also as a value, for
// what is in a file.
func parseArguments(texts []string, stdin io.Reader) (whole json.RawMessage, each []argument, err error) {
	if len(texts) == 1 {
		text, isWhole := strings.TrimSpace(texts[0]), false
		switch {
		case text == "-":
			raw, err := readAll("standard input", stdin)
			if err != nil {
				return nil, nil, err
			}
			text, isWhole = raw, true
		case strings.HasPrefix(text, "@"):
			if text, err = readFile(text[1:]); err != nil {
				return nil, nil, err
			}
			isWhole = true
		}
		if isWhole || strings.HasPrefix(text, "{") {
			raw := json.RawMessage(strings.TrimSpace(text))
			if !json.Valid(raw) || raw[0] != '{' {
				return nil, nil, unfit("a JSON object is expected")
			}
			return raw, nil, nil
		}
	}
	for i, text := range texts {
		name, value, found := strings.Cut(text, "=")
		a := argument{name: name, text: value}
		a.name, a.json = strings.CutSuffix(name, ":")
		if !found || a.name == "" {
			// The text itself may be a secret.
			return nil, nil, unfit("number %d is no name=value", i+1)
		}
		if slices.ContainsFunc(each, func(b argument) bool { return b.name == a.name }) {
			return nil, nil, unfit("%s is given twice", message.Quote(a.name))
		}
		if file, ok := strings.CutPrefix(a.text, "@"); ok {
			if a.text, err = readFile(file); err != nil {
				return nil, nil, err
			}
		}
		each = append(each, a)
	}
	return nil, each, nil
}

// unfit is the error of arguments that cannot be understood.
func unfit(format string, args ...any) *hub.Error {
	return hub.E(message.ArgumentInvalid, nil).With("detail", message.Say(format, args...))
}

func readFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", unreadable(path, err)
	}
	defer f.Close()
	return readAll(path, f)
}

func readAll(path string, r io.Reader) (string, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxArguments+1))
	if err != nil {
		return "", unreadable(path, err)
	}
	if len(raw) > maxArguments {
		return "", hub.E(message.FileUnreadable, nil, "path", path).With("detail", message.Say("it is larger than %s", size(maxArguments)))
	}
	return string(raw), nil
}

// object makes the JSON object of arguments that were given one by one, in
// their order and each of the type that the tool's parameters say.
func object(each []argument, tool string, params []parameter) (json.RawMessage, error) {
	b := []byte("{")
	for i, a := range each {
		var types []string
		for _, p := range params {
			if p.name == a.name {
				types = p.schema.types()
			}
		}
		value, want := json.RawMessage(strings.TrimSpace(a.text)), "JSON"
		if !a.json {
			value, want = typed(types, a.text)
		}
		if value == nil || !json.Valid(value) {
			return nil, hub.E(message.ArgumentType, nil, "name", message.Quote(a.name), "want", want, "tool", tool)
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, quote(a.name)...)
		b = append(b, ':')
		b = append(b, value...)
	}
	return append(b, '}'), nil
}

// typed is the JSON value that a text stands for, given the types that it may
// have. A text is taken as it is where a string may stand, or where no type is
// known. If it fits none the value is nil, and want says what would fit.
func typed(types []string, text string) (value json.RawMessage, want string) {
	if len(types) == 0 || slices.Contains(types, "string") {
		return quote(text), ""
	}
	raw := json.RawMessage(strings.TrimSpace(text))
	kind := kindOf(raw)
	for _, t := range types {
		switch {
		case t == kind, t == "number" && kind == "integer":
			return raw, ""
		}
	}
	return nil, strings.Join(types, " / ")
}

// kindOf is the type of a JSON value, in the words of JSON Schema; "" if it is
// none. A number with a fraction or an exponent is no integer here, whatever
// its value, as it is passed on as it was typed.
func kindOf(raw json.RawMessage) string {
	if !json.Valid(raw) {
		return ""
	}
	switch raw[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	if bytes.ContainsAny(raw, ".eE") {
		return "number"
	}
	return "integer"
}

// quote is the JSON string of a text.
func quote(text string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(err) // a string
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

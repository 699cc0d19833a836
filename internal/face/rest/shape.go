package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// encode writes an answer.
func encode(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// decode reads a body into a shape of package api. It is strict where
// encoding/json is not: a member is known by its name to the letter, is there
// once, and is not null unless it could be left out as well. Its errors hold no
// value. What a member holds that is passed on as JSON is for others to judge.
func decode(data []byte, v any) error {
	if err := wire.Valid(data, wire.Limits{}); err != nil {
		return err
	}
	whole := wire.Value(data)
	if data[whole.Start] != '{' {
		return errors.New("it is no object")
	}
	shape := members(reflect.TypeOf(v).Elem())
	for m := range wire.Object(data, whole) {
		name, _ := wire.String(data, m.Key)
		i := slices.IndexFunc(shape, func(known member) bool { return known.name == name })
		switch {
		case i < 0:
			return fmt.Errorf("there is no member %s", quoted(name))
		case shape[i].given:
			return fmt.Errorf("the member %s is there twice", quoted(name))
		case !shape[i].optional && string(m.Value.Of(data)) == "null":
			return fmt.Errorf("the member %s is null", quoted(name))
		}
		shape[i].given = true
	}
	for _, m := range shape {
		if !m.optional && !m.given {
			return fmt.Errorf("the member %s is missing", quoted(m.name))
		}
	}
	err := json.Unmarshal(data, v)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("the member %s is of another type than it should be", quoted(wrong.Field))
	}
	return err
}

func quoted(name string) string { return `"` + message.Quote(name) + `"` }

// member is a member of a shape.
type member struct {
	name            string
	optional, given bool
}

func members(shape reflect.Type) []member {
	if shape.Kind() == reflect.Pointer {
		shape = shape.Elem() // of a body that may be left out
	}
	var all []member
	for _, f := range reflect.VisibleFields(shape) {
		if f.Anonymous { // whose members are the shape's own
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		all = append(all, member{name: name, optional: options == "omitempty"})
	}
	return all
}

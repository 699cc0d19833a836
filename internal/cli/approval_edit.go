package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

type approvalEdit struct {
	ID        string   `arg:"" help:"Of the request, or its end." complete:"approval"`
	Arguments []string `arg:"" optional:"" help:"One JSON object; or NAME=VALUE ... in place of those of the call; or \"-\" for JSON on standard input. Without any, an editor is opened ($$VISUAL, $$EDITOR)."`
	Note      string   `help:"For the record and the caller." placeholder:"TEXT"`
	Confirm   bool     `help:"Agree a second time without being asked, if this is what the request needs."`
}

// Run agrees with other arguments.
func (c *approvalEdit) Run(ctx context.Context, s *session) error {
	whole, each, err := parseArguments(c.Arguments, s.env.Stdin)
	if err != nil {
		return err
	}
	return s.with(ctx, func(h *link) error {
		v, err := h.request(ctx, c.ID)
		if err != nil {
			return err
		}
		switch {
		case len(c.Arguments) == 0:
			whole, err = s.edit(ctx, &v)
		case len(each) > 0:
			var changes json.RawMessage
			if err = unshown(&v); err != nil {
				return err
			}
			if changes, err = object(each, v.Name, parameters(v.Definition)); err == nil {
				whole, err = overlay(current(&v), changes)
			}
		}
		if err != nil {
			return err
		}
		v, err = h.Edit(ctx, v.ID, api.Edit{Arguments: whole, Note: c.Note, Confirmation: round(&v), Saw: v.Hash})
		if err != nil {
			return err
		}
		if v, err = s.again(ctx, h, v, api.Approve{Note: c.Note}, c.Confirm); err != nil {
			return err
		}
		return s.decided(&v)
	})
}

// current are the arguments that would be sent now.
func current(v *api.Approval) json.RawMessage {
	if len(v.Edited) > 0 {
		return v.Edited
	}
	return v.Arguments
}

// unshown says why nobody can go on from what would be sent now, as it is not all
// shown here: what is not would be lost. It is nil if it is shown.
func unshown(v *api.Approval) error {
	switch {
	case len(v.ExtraShown) > 0 && len(v.Extra) == 0: // with which the hub takes no edit at all
		return hub.E(message.ApprovalInvalid, nil).With("detail", message.Say("part of the call was sealed by another hub; edit it there"))
	case v.Hidden && len(v.Edited) == 0: // what was edited last is what would be sent
		return hub.E(message.ApprovalInvalid, nil).With("detail", message.Say("its arguments were sealed for another hub and are not shown here; give all of them as one JSON object, or edit it there"))
	}
	return nil
}

// overlay puts members in the place of those of an object.
func overlay(raw, changes json.RawMessage) (json.RawMessage, error) {
	all := make(map[string]json.RawMessage)
	for _, one := range [...]json.RawMessage{raw, changes} {
		if len(one) == 0 {
			continue
		}
		if err := json.Unmarshal(one, &all); err != nil {
			return nil, unfit("they are no JSON object")
		}
	}
	return json.Marshal(all)
}

// edit has a person edit the arguments in the editor.
func (s *session) edit(ctx context.Context, v *api.Approval) (json.RawMessage, error) {
	if !s.env.Terminal {
		return nil, misuse("approval edit", "the arguments are missing")
	}
	if err := unshown(v); err != nil {
		return nil, err
	}
	editor := strings.Fields(os.Getenv("VISUAL"))
	if len(editor) == 0 {
		editor = strings.Fields(os.Getenv("EDITOR"))
	}
	if len(editor) == 0 {
		return nil, misuse("approval edit", "the arguments are missing, and neither VISUAL nor EDITOR names an editor")
	}
	f, err := os.CreateTemp("", "toolcrib-*.json") // for its owner only
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	before := indented(current(v)) + "\n"
	_, err = f.WriteString(before)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, editor[0], append(editor[1:], f.Name())...) //nolint:gosec // it is the person's own editor
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.env.Stdin, s.stdout.w, s.env.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("run the editor %s: %w", editor[0], err)
	}
	after, err := os.ReadFile(f.Name())
	switch {
	case err != nil:
		return nil, err
	case string(after) == before: // whoever leaves an editor so does not mean to agree
		return nil, unfit("nothing was changed in the editor, and nothing is decided")
	case !json.Valid(after):
		return nil, unfit("they are no JSON object")
	}
	return after, nil
}

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

type toolTrial struct {
	File string `arg:"" help:"JSON file: an array of calls, each with server_key, tool_name and arguments, 100 at most; - for standard input."`
}

// maxTrials is the longest file of calls.
const maxTrials = 16 << 20

// Run makes the calls and prints how each went. If one has failed, the exit code
// is 3.
func (c *toolTrial) Run(ctx context.Context, s *session) error {
	text, err := s.trials(c.File)
	if err != nil {
		return err
	}
	batch, err := parseTrials(c.File, text)
	if err != nil {
		return err
	}
	return s.with(ctx, func(h *link) error {
		asker, err := s.asker(h)
		if err != nil {
			return err
		}
		v, err := asker.TryTools(ctx, batch)
		if err != nil {
			return err
		}
		if s.JSON {
			err = s.out.json(v)
		} else {
			s.tried(&v)
		}
		if err == nil && !v.Success {
			return exit(exitToolError)
		}
		return err
	})
}

// trials is the text of a file of calls.
func (s *session) trials(path string) ([]byte, error) {
	from := s.env.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, unreadable(path, err)
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxTrials+1))
	if err != nil {
		return nil, unreadable(path, err)
	}
	if len(text) > maxTrials {
		return nil, trialFault(path, message.Say("it is larger than %d MiB", maxTrials>>20))
	}
	return text, nil
}

func trialFault(path string, detail message.Phrase) error {
	return hub.E(message.FileUnreadable, nil, "path", path).With("detail", detail)
}

// parseTrials reads calls: an array of them, or an object with such a member, as
// the API takes it.
func parseTrials(path string, text []byte) (api.CompatBatch, error) {
	var batch api.CompatBatch
	into := any(&batch)
	if bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("[")) {
		into = &batch.Calls
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = io.ErrUnexpectedEOF
		}
	}
	if err != nil {
		return batch, trialFault(path, message.Say("it is no list of calls: %s", message.Cause(err)))
	}
	return batch, nil
}

package gateway

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// response is an Out that takes nothing once it is over.
type response struct {
	sheet
	over atomic.Bool
}

func (r *response) Stream() error {
	if r.over.Load() {
		return errors.New("the response was sent")
	}
	return nil
}

// A question that nobody wants an answer to any more is taken back where it was
// put or, if that has ended before it, where the caller is told what belongs to no
// request.
func TestWithdrawnBehindItsRequest(t *testing.T) {
	for _, over := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := &Session{id: "s", capabilities: []byte(`{"roots":{}}`)}
			a, out := &answers{}, &response{}
			newGateway().ask(t.Context(), s, out, a.question(roots))
			out.over.Store(over)
			time.Sleep(DefaultQuestionLimit)
			synctest.Wait()
			beside, _ := s.queue.take()
			for told, where := range map[string]bool{out.last(): !over, string(beside): over} {
				if strings.Contains(told, `"method":"notifications/cancelled","params":{"requestId":"tc-1"`) != where {
					t.Errorf("over: %v, and told %q", over, told)
				}
			}
			if a.count.Load() != 1 || !hub.IsCode(a.err, message.QuestionExpired) {
				t.Errorf("answered %d times, with %v", a.count.Load(), a.err)
			}
		})
	}
}

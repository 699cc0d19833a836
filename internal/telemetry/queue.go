package telemetry

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// Bounds of what traces may take.
const (
	maxWaiting  = 4096             // spans that wait to be sent; further ones are dropped
	batch       = 512              // spans that are sent at once
	batchDelay  = 2 * time.Second  // that a span waits for others
	sendLimit   = 10 * time.Second // to send a batch, with what is tried again
	finishLimit = 3 * time.Second  // to send what is left when the hub stops
)

// queue is the spans that have ended and wait to be sent. That of OpenTelemetry
// starts a goroutine when it is made, and tells nobody what it drops.
type queue struct {
	spans      chan sdk.ReadOnlySpan
	sent, lost atomic.Int64
}

// OnStart implements [sdk.SpanProcessor].
func (q *queue) OnStart(context.Context, sdk.ReadWriteSpan) {}

// OnEnd implements [sdk.SpanProcessor]. It never waits.
func (q *queue) OnEnd(s sdk.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	select {
	case q.spans <- s:
	default:
		q.lost.Add(1)
	}
}

// Shutdown implements [sdk.SpanProcessor]. Who sends the spans ends by itself.
func (q *queue) Shutdown(context.Context) error { return nil }

// ForceFlush implements [sdk.SpanProcessor]. Nobody asks for it.
func (q *queue) ForceFlush(context.Context) error { return nil }

// sender sends what is in a queue.
type sender struct {
	queue *queue
	to    sdk.SpanExporter
	log   *slog.Logger
	held  []sdk.ReadOnlySpan // at most batch
	away  bool               // the last ones were lost
}

// keep sends spans until ctx ends, and then what is left; what is on its way
// when life ends is lost.
func (s *sender) keep(ctx, life context.Context) {
	tick := time.NewTicker(batchDelay)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case span := <-s.queue.spans:
			s.take(life, span)
		case <-tick.C:
			s.send(life)
		case <-ctx.Done():
		}
	}
	for {
		select {
		case span := <-s.queue.spans:
			s.take(life, span)
		default:
			s.send(life)
			return
		}
	}
}

// take holds a span until there are enough of them to be sent.
func (s *sender) take(ctx context.Context, span sdk.ReadOnlySpan) {
	if s.held = append(s.held, span); len(s.held) == batch {
		s.send(ctx)
	}
}

// send sends what is held.
func (s *sender) send(ctx context.Context) {
	n := int64(len(s.held))
	if n == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	err := s.to.ExportSpans(ctx, s.held)
	clear(s.held) // they hold memory of calls
	s.held = s.held[:0]
	if err != nil {
		s.queue.lost.Add(n)
	} else {
		s.queue.sent.Add(n)
	}
	switch {
	case err != nil && !s.away:
		s.log.Warn("traces do not reach their collector, and are dropped", "error", err)
	case err == nil && s.away:
		s.log.Info("traces reach their collector again", "lost", s.queue.lost.Load())
	}
	s.away = err != nil
}

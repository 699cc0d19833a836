package upstream_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/upstream"
)

// What a server asks as soon as the conversation is open is answered when Settle
// returns, and so is what it asks then.
func TestSettle(t *testing.T) {
	heard := make(chan string, 8)
	who := newAsker()
	c := scriptedWith(t, func(o *upstream.Options) { o.Caller = who }, `{"tools":{}}`, func(p *peer) {
		for asks := 1; ; {
			n, ok := p.next()
			switch {
			case !ok:
				return
			case n.Method == "ping":
				if asks <= 2 {
					p.send(`{"jsonrpc":"2.0","id":"q%d","method":"roots/list"}`, asks)
					asks++
				}
				p.send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, n.ID)
			case n.Method == "":
				heard <- "answer to " + string(n.ID)
				continue
			default:
				p.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, n.ID)
			}
			heard <- n.Method
		}
	})
	settled := make(chan struct{})
	go func() {
		defer close(settled)
		c.Settle(t.Context())
	}()
	for range 2 {
		q := <-who.asked
		select {
		case <-settled:
			t.Error("settled without the answer")
		default:
		}
		q.say(`{"roots":[]}`)
	}
	<-settled
	do(t, c, "x", "{}")
	var got []string
	for range 6 {
		got = append(got, <-heard)
	}
	if want := []string{"ping", `answer to "q1"`, "ping", `answer to "q2"`, "ping", "tools/call"}; !slices.Equal(got, want) {
		t.Errorf("the server heard %q, want %q", got, want)
	}
}

// A call is not held up by a server that asks nothing, for long by one that does
// not answer, nor for ever by one whose question nobody answers.
func TestSettleAtOnce(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		waits        bool
	}{
		{"nothing to ask", `{"jsonrpc":"2.0","id":%s,"result":{}}`, false},
		{"no ping", `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, false},
		{"silent", ``, false},
		{"not answered", `{"jsonrpc":"2.0","id":"q","method":"roots/list"}` + "\n" + `{"jsonrpc":"2.0","id":%s,"result":{}}`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			who := newAsker()
			c := scriptedWith(t, func(o *upstream.Options) { o.Caller = who }, `{"tools":{}}`, func(p *peer) {
				if n, _ := p.next(); tt.answer != "" {
					p.send(tt.answer, n.ID)
				}
				for {
					if _, ok := p.next(); !ok {
						return
					}
				}
			})
			wait := limit
			if tt.waits {
				wait = 50 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			c.Settle(ctx)
			select {
			case q := <-who.asked: // who is never heard of again
				context.AfterFunc(q.ctx, func() { q.Answer(nil, context.Cause(q.ctx)) })
			default:
			}
			if waited := ctx.Err() != nil; waited != tt.waits {
				t.Errorf("waited for the end of its time: %v", waited)
			}
		})
	}
}

// What a server says outside of any call is heard from the first call on.
func TestSettleOverHTTP(t *testing.T) {
	open := make(chan struct{})
	asked := make(chan struct{})
	c := endpointWith(t, `{"tools":{},"logging":{}}`, func(w http.ResponseWriter, n note) {
		events(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", n.ID)
	}, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			return
		}
		close(asked)
		<-open
		events(w, ": \n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}, func(o *upstream.Options) { o.Caller = newAsker() })
	<-asked
	settled := make(chan struct{})
	go func() {
		defer close(settled)
		c.Settle(t.Context())
	}()
	hold := time.NewTimer(100 * time.Millisecond)
	defer hold.Stop()
	select {
	case <-settled:
		t.Error("settled without the stream")
	case <-hold.C:
	}
	close(open)
	<-settled
}

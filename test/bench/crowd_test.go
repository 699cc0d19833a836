//go:build linux

package main

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// news is an upstream with resources, in the place of a hub.
func news(t *testing.T) (*echoServer, *upstream, *hub) {
	t.Helper()
	echo, err := newEchoServer(2, false)
	if err != nil {
		t.Fatal(err)
	}
	echo.news = true
	server := httptest.NewServer(echo)
	t.Cleanup(server.Close)
	return echo, &upstream{addr: strings.TrimPrefix(server.URL, "http://")}, &hub{target: target{url: server.URL + "/mcp"}}
}

// TestCrowd has many callers hear of a change, and no more when they have left.
func TestCrowd(t *testing.T) {
	echo, up, h := news(t)
	c, err := openCrowd(t.Context(), h, crowdOptions{size: 20, subscribe: newsURI})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	read := make(chan struct{})
	go func() { defer close(read); c.read(ctx, notified) }()
	for range 2 {
		before := c.heard()
		if err := up.tell(ctx, updated(newsURI, 10)); err != nil {
			t.Fatal(err)
		}
		if err := c.awaitNews(ctx, before); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	<-read
	if err := c.cut(); err != nil {
		t.Error(err)
	}
	awaitNobody(t, up)
	if err := c.end(); err != nil {
		t.Error(err)
	}
	for i, n := range c.heard() {
		if n != 2 {
			t.Errorf("caller %d has heard of %d changes, want 2", i, n)
		}
	}
	echo.sessions.Range(func(any, any) bool {
		t.Error("a session was not ended")
		return true
	})
}

// awaitNobody waits until nobody has a stream open any more, which telling says.
func awaitNobody(t *testing.T, up *upstream) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for up.tell(ctx, updated(newsURI, 0)) == nil {
		if err := pause(ctx, time.Millisecond); err != nil {
			t.Fatal("streams stay open that were cut")
		}
	}
}

// TestCrowdUntold finds out a caller that is told nothing.
func TestCrowdUntold(t *testing.T) {
	_, _, h := news(t)
	c, err := openCrowd(t.Context(), h, crowdOptions{size: 2, subscribe: newsURI})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.end() }()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.awaitNews(ctx, c.heard()); err == nil {
		t.Error("nobody was told anything, and all is said to be well")
	}
}

// TestCrowdRefused wants an endpoint that has no streams to be said so.
func TestCrowdRefused(t *testing.T) {
	server := httptest.NewServer(&yardstick{})
	defer server.Close()
	if _, err := openCrowd(t.Context(), &hub{target: target{url: server.URL}}, crowdOptions{size: 1, sse: 1}); err == nil {
		t.Error("a conversation over HTTP with SSE was opened where there is none")
	}
}

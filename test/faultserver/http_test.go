package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func startHTTP(t *testing.T, args ...string) string {
	t.Helper()
	c := startStdio(t, append(args, "-http", "127.0.0.1:0")...)
	return c.line()
}

func post(t *testing.T, url, session, msg string) (*http.Response, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(msg))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set(headerSession, session)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatalf("post %s: %v", msg, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		body = append(body, "!"+err.Error()...)
	}
	return resp, string(body)
}

func open(t *testing.T, url string) string {
	t.Helper()
	resp, body := post(t, url, "", initialize)
	if resp.StatusCode != http.StatusOK || !strings.Contains(body, `"2025-06-18"`) {
		t.Fatalf("initialize answered %s: %s", resp.Status, body)
	}
	return resp.Header.Get(headerSession)
}

func TestHTTPFaults(t *testing.T) {
	for _, test := range []struct {
		fault       string
		status      int
		contentType string
		body        string // a piece of it
	}{
		{"", 200, "application/json", echoed},
		{"sseonly", 200, "text/event-stream", "event: message\ndata: " + echoed + "\n\n"},
		{"dupreply", 200, "text/event-stream", echoed + "\n\nevent: message\ndata: " + echoed},
		{"crashafter", 200, "application/json", echoed},
		{"noreply", 200, "text/event-stream", ""},
		{"wrongtype", 200, "text/html; charset=utf-8", "Please sign in"},
		{"status500", 500, "text/plain; charset=utf-8", "internal"},
		{"truncated", 200, "application/json", "!unexpected EOF"},
		{"redirect", 307, "", ""},
		{"hugejson", 200, "application/json", "abcdefg"},
	} {
		t.Run(test.fault, func(t *testing.T) {
			url := startHTTP(t, "-fault", test.fault, "-size", "1000000")
			resp, body := post(t, url, open(t, url), callEcho)
			if resp.StatusCode != test.status || resp.Header.Get("Content-Type") != test.contentType {
				t.Errorf("answered %s with %s", resp.Status, resp.Header.Get("Content-Type"))
			}
			if !strings.Contains(body, test.body) || test.body == "" && body != "" {
				t.Errorf("body %.300q lacks %q", body, test.body)
			}
		})
	}
}

func TestForgottenSession(t *testing.T) {
	url := startHTTP(t, "-fault", "status404session,status500once", "-session-calls", "2")
	session := open(t, url)
	var got []int
	for range 4 {
		resp, _ := post(t, url, session, callEcho)
		got = append(got, resp.StatusCode)
	}
	got = append(got, func() int { r, _ := post(t, url, open(t, url), callEcho); return r.StatusCode }())
	if want := []int{500, 200, 200, 404, 200}; !slices.Equal(got, want) {
		t.Errorf("statuses %v, want %v", got, want)
	}
	resp, err := http.Get(strings.TrimSuffix(url, path) + "/stats")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var c stats
	if err := json.NewDecoder(resp.Body).Decode(&c); err != nil {
		t.Fatal(err)
	}
	if c.SessionsOpened != 2 || c.SessionsLive != 1 || c.Posts != 7 || c.Calls["echo"] != 5 {
		t.Errorf("stats %+v", c)
	}
}

func TestSlowFaults(t *testing.T) {
	for _, name := range []string{"hang", "slowloris", "neverinit"} {
		t.Run(name, func(t *testing.T) {
			url := startHTTP(t, "-fault", name, "-on", "initialize", "-delay", "5ms")
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(initialize))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Accept", "application/json, text/event-stream")
			resp, err := http.DefaultClient.Do(req)
			if err == nil {
				var body []byte
				body, err = io.ReadAll(resp.Body)
				resp.Body.Close()
				if bytes.Contains(body, []byte("\n\n")) || len(body) < len("event: message\ndata: ") {
					t.Errorf("got %q", body)
				}
			}
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("ended by %v", err)
			}
		})
	}
}

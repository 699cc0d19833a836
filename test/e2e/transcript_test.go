package e2e

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// update has TestTranscripts write what the hub says now. What has changed is
// then to be read before it is kept.
var update = flag.Bool("update", false, "write the transcripts of conversations anew")

// TestTranscripts has conversations as they are written down in
// testdata/transcripts, of revision 2024-11-05 and over HTTP+SSE: the official
// conformance suite has nothing of either. Each is an archive of these files:
//
//	server        "faults ARGUMENT..." over stdio, "faults-http ARGUMENT...", or
//	              "example NAME [PATH]": one of the TypeScript SDK's, over stdio
//	              without a path
//	caller        "http", "sse" or "stdio": how the hub is spoken to
//	varying       lines of a word and an expression: what that matches in what
//	              comes is written as the word
//	conversation  what the caller sends (">") and gets ("<"), in this order;
//	              "?" and a method waits until that has come
//
// That the hub's lists have changed may come at any time, and is left out.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "transcripts", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts (%v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := map[string]*txtar.File{}
			for i := range archive.Files {
				parts[archive.Files[i].Name] = &archive.Files[i]
			}
			text := func(name string) string {
				if parts[name] == nil {
					return ""
				}
				return strings.TrimSpace(string(parts[name].Data))
			}
			hub := rig.StartHub(t, append(quiet(), transcribed(t, text("server")).With("connection", "perCaller"))...)
			hub.AwaitReady()
			s := &scribe{t: t, script: strings.Split(text("conversation"), "\n")}
			switch caller := text("caller"); caller {
			case "http":
				s.peer = rig.HTTPPeer(t, hub.MCP())
			case "sse":
				s.peer = rig.SSEPeer(t, hub.URL+"/sse")
			case "stdio":
				s.peer = rig.StdioPeer(t, nil, rig.HubBinary(t), "stdio", "--data-dir", hub.DataDir)
			default:
				t.Fatalf("%s: no such caller as %q", file, caller)
			}
			for line := range strings.Lines(text("varying")) {
				word, what, _ := strings.Cut(strings.TrimSpace(line), " ")
				s.varying = append(s.varying, varies{regexp.MustCompile(what), word})
			}
			said := strings.Join(s.play(), "\n") + "\n"
			if !*update {
				if want := text("conversation") + "\n"; said != want {
					t.Errorf("%s: said was\n%s\nwant\n%s", file, said, want)
				}
				return
			}
			parts["conversation"].Data = []byte(said)
			if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// freely is Node.js code before which a server that insists on a port gets
// another one.
const freely = `data:text/javascript,import net from "node:net";` +
	`const listen=net.Server.prototype.listen;` +
	`net.Server.prototype.listen=function(_,...rest){return listen.call(this,{port:Number(process.env.PORT),host:"127.0.0.1"},...rest)}`

// transcribed is the server that a transcript names.
func transcribed(t *testing.T, line string) rig.Server {
	t.Helper()
	words := strings.Fields(line)
	switch {
	case len(words) > 0 && words[0] == "faults":
		return rig.Stdio("s", rig.FaultServer(t), words[1:]...)
	case len(words) > 0 && words[0] == "faults-http":
		_, url := rig.StartFaultServer(t, "127.0.0.1:0", words[1:]...)
		return rig.HTTP("s", url)
	case len(words) > 1 && words[0] == "example":
		file := rig.NPM(t, "@modelcontextprotocol", "sdk", "dist", "esm", "examples", "server", words[1]+".js")
		if len(words) == 2 {
			return rig.Stdio("s", rig.Node(t), file)
		}
		port := rig.FreePort(t)
		rig.Spawn(t, []string{"PORT=" + port}, rig.Node(t), "--import", freely, file)
		rig.AwaitListening(t, "127.0.0.1:"+port)
		return rig.HTTP("s", "http://127.0.0.1:"+port+words[2])
	}
	t.Fatalf("no such server as %q", line)
	return rig.Server{}
}

// varies is a part of a message that differs from run to run.
type varies struct {
	what *regexp.Regexp
	word string
}

// scribe plays a conversation and writes down what is said.
type scribe struct {
	t       *testing.T
	peer    *rig.Peer
	script  []string
	varying []varies
	said    []string
}

// play says the caller's part. After each message it takes what comes until its
// answer has come, or a question that the caller's next message answers.
func (s *scribe) play() []string {
	s.t.Helper()
	open := map[string]bool{} // requests that are not answered, by id
	for _, line := range s.script {
		switch kind, rest, _ := strings.Cut(line, " "); kind {
		case ">":
			var m rig.Message
			if err := json.Unmarshal([]byte(rest), &m); err != nil {
				s.t.Fatalf("%s: %v", line, err)
			}
			s.said = append(s.said, line)
			s.peer.Send(rest)
			if m.Question() {
				open[string(m.ID)] = true
			}
			for len(open) > 0 && m.Method != "notifications/cancelled" {
				got := s.take()
				if got.Question() {
					break
				}
				if got.Method == "" {
					delete(open, string(got.ID))
				}
			}
		case "?":
			s.said = append(s.said, line)
			for s.take().Method != rest {
			}
		}
	}
	return s.said
}

// take takes a message and writes it down.
func (s *scribe) take() rig.Message {
	s.t.Helper()
	for {
		m, ok := s.peer.Within(rig.PeerLimit)
		if !ok {
			s.t.Fatalf("no more came than\n%s", strings.Join(s.said, "\n"))
		}
		if strings.HasSuffix(m.Method, "/list_changed") {
			continue
		}
		line := "< " + m.Raw
		for _, v := range s.varying {
			line = v.what.ReplaceAllString(line, v.word)
		}
		s.said = append(s.said, line)
		return m
	}
}

package transport

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server of the official SDK runs at the far end, until near hangs up.
func TestPipeToServerOfTheSDK(t *testing.T) {
	near, farR, farW := Pipe(LinesOptions{})
	server := mcp.NewServer(&mcp.Implementation{Name: "far", Version: "1"}, nil)
	ended := make(chan error, 1)
	go func() { ended <- server.Run(t.Context(), &mcp.IOTransport{Reader: farR, Writer: farW}) }()

	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"near","version":"1"}}}`
	if err := near.Write(t.Context(), []byte(hello)); err != nil {
		t.Fatal(err)
	}
	msg, err := near.Read()
	if err != nil || !strings.Contains(string(msg), `"serverInfo":{"name":"far"`) {
		t.Errorf("%s, %v", msg, err)
	}
	if err := near.Close(); err != nil {
		t.Error(err)
	}
	<-ended
	if msg, err := near.Read(); err != io.EOF {
		t.Errorf("read after the end: %q, %v", msg, err)
	}
}

func TestPipeCloses(t *testing.T) {
	t.Run("near", func(t *testing.T) {
		near, farR, farW := Pipe(LinesOptions{})
		_ = near.Close()
		if _, err := farR.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("read at the far end: %v", err)
		}
		if _, err := farW.Write([]byte("{}\n")); err == nil {
			t.Error("written at the far end")
		}
		if _, err := near.Read(); err != io.EOF {
			t.Errorf("read at the near end: %v", err)
		}
	})
	t.Run("far", func(t *testing.T) {
		near, farR, farW := Pipe(LinesOptions{})
		defer near.Close()
		_ = farW.Close()
		_ = farR.Close()
		if _, err := near.Read(); err != io.EOF {
			t.Errorf("read at the near end: %v", err)
		}
		if err := near.Write(t.Context(), []byte("{}")); !errors.Is(err, ErrNotSent) {
			t.Errorf("written at the near end: %v", err)
		}
	})
}

package e2e

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
	"github.com/toolcrib/toolcrib/test/voice"
)

// TestDeviceOfABackend has the program be a device of a backend that it has to ask for
// first, and the same device after it was started again.
func TestDeviceOfABackend(t *testing.T) {
	t.Parallel()
	peer := &voice.Backend{}
	web := httptest.NewServer(peer)
	t.Cleanup(web.Close)
	host, data := strings.TrimPrefix(web.URL, "http://"), t.TempDir()
	peer.OTA = voice.Discovery("ws://"+host+"/xiaozhi/v1/", "discovered-0123456789")
	path := write(t, fmt.Sprintf(`{"mcpServers": {}, "xiaozhi": {"backends": {"school": {"ota": "http://%s/xiaozhi/ota/"}}}}`, host), t.TempDir(), "c.json")
	var ids []string
	for range 2 {
		hub := rig.Serve(t, nil, "--config", path, "--listen", "127.0.0.1:0", "--data-dir", data)
		hub.AwaitReady()
		socket, err := peer.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, socket.Header.Get("Device-Id")+" "+socket.Header.Get("Client-Id"))
		talk, err := voice.BackendXS(t.Context(), socket)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(talk.Tools, func(tool voice.Tool) bool { return tool.Name == "adjust_volume" }) {
			t.Errorf("the backend sees %+v", talk.Tools)
		}
		if got, err := talk.Call(t.Context(), "1", "calculator__calculator", `{"expression":"6*7"}`); err != nil || !strings.Contains(got, "42") {
			t.Errorf("%q, %v", got, err)
		}
		if code := hub.Stop(); code != 0 {
			t.Errorf("it ended with %d: %s", code, hub.Stderr())
		}
	}
	if ids[0] != ids[1] || len(ids[0]) != len("aa:bb:cc:dd:ee:ff 01234567-89ab-4def-8123-456789abcdef") {
		t.Errorf("the device was %s, and then %s", ids[0], ids[1])
	}
	if _, err := os.Stat(filepath.Join(data, "backends.json")); err != nil {
		t.Error(err)
	}
}

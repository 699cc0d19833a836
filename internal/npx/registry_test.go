//go:build unix

package npx

import (
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"testing"
)

// serve is a registry that has the one package look-server 1.0.0, whose files
// are in dir.
func serve(t *testing.T, dir string) string {
	t.Helper()
	archive, err := exec.Command("tar", "-cz", "-C", filepath.Dir(dir), "--transform=s,^pkg,package,", "pkg").Output()
	if err != nil {
		t.Skip("no tar that can make a package:", err)
	}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	sum := sha512.Sum512(archive)
	mux.HandleFunc("/look-server", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"name": "look-server", "dist-tags": map[string]string{"latest": "1.0.0"},
			"versions": map[string]any{"1.0.0": map[string]any{
				"name": "look-server", "version": "1.0.0", "bin": map[string]string{"look-server": "main.js"},
				"dist": map[string]string{
					"tarball":   server.URL + "/look-server/-/look-server-1.0.0.tgz",
					"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
				},
			}},
		})
	})
	mux.HandleFunc("/look-server/-/look-server-1.0.0.tgz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive) })
	return server.URL
}

package audit

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// A key that was made is the same ever after, and its owner's only.
func TestKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.key")
	one, err := LoadKeys(path)
	if err != nil {
		t.Fatal(err)
	}
	two, err := LoadKeys(path)
	if err != nil || one.Node() != two.Node() || !bytes.Equal(one.digest, two.digest) || len(one.Node()) != 16 || one.Node() != strings.ToLower(one.Node()) {
		t.Errorf("%s, %s, %v", one.Node(), two.Node(), err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if testKeys(t).Node() == one.Node() {
		t.Error("another key has the same chain")
	}
	c := claim{"head", one.Node(), 3, "hash", 4}
	for _, other := range []claim{{"checkpoint", c.node, 3, "hash", 4}, {"head", c.node, 4, "hash", 4}, {"head", c.node, 3, "hush", 4}, {"head", c.node, 3, "hash", 5}} {
		if !c.signedBy(c.node, one.public(), one.signature(c)) || other.signedBy(c.node, one.public(), one.signature(c)) {
			t.Errorf("%+v", other)
		}
	}
}

func TestUnusableKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.key")
	if _, err := LoadKeys(path); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"empty": nil, "text": []byte("secret"), "cut": good[:len(good)/2], "two": append(bytes.Clone(good), good...),
		"other": []byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"),
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := LoadKeys(path)
		if !hub.IsCode(err, message.AuditKeyUnusable) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := LoadKeys(filepath.Join(t.TempDir(), "none", "audit.key")); !hub.IsCode(err, message.AuditKeyUnusable) {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKeys(path); !hub.IsCode(err, message.AuditKeyUnusable) || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("%v", err)
	}
}

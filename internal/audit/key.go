package audit

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base32"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"github.com/toolcrib/toolcrib/internal/atomicfile"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Keys are what a node proves its chain with. They all come from one file.
type Keys struct {
	sign   ed25519.PrivateKey
	digest []byte // of the digests of arguments
}

// LoadKeys reads the key file at path, which is made if it is not there: an
// Ed25519 key in PKCS #8, as openssl has it, for its owner only. Its error is a
// [*hub.Error] with the code audit_key_unusable.
func LoadKeys(path string) (Keys, error) {
	unusable := func(detail string, err error) (Keys, error) {
		return Keys{}, hub.E(message.AuditKeyUnusable, err, "path", path, "detail", detail)
	}
	raw, err := readKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		k, err := makeKey(path)
		if err != nil {
			return unusable("it cannot be made", err)
		}
		return k, nil
	}
	if err != nil {
		return unusable("it cannot be read", err)
	}
	if info, err := os.Stat(path); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return unusable("others may read it (chmod 600)", nil)
	}
	block, rest := pem.Decode(raw)
	if block == nil || len(bytes.TrimSpace(rest)) > 0 {
		return unusable("it holds no key", nil) // a parser's error could quote it
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	sign, ok := key.(ed25519.PrivateKey)
	if err != nil || !ok {
		return unusable("it holds no Ed25519 key", nil)
	}
	return newKeys(sign)
}

// readKey reads at most as much as a key has.
func readKey(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 16<<10))
}

func makeKey(path string) (Keys, error) {
	_, sign, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return Keys{}, fmt.Errorf("making the key of the record: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(sign)
	if err != nil {
		return Keys{}, fmt.Errorf("making the key of the record: %w", err)
	}
	if err := atomicfile.WriteBytes(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})); err != nil {
		return Keys{}, fmt.Errorf("writing the key of the record: %w", err)
	}
	return newKeys(sign)
}

func newKeys(sign ed25519.PrivateKey) (Keys, error) {
	digest, err := hkdf.Key(sha256.New, sign.Seed(), nil, "toolcrib digests of arguments", 32)
	if err != nil {
		return Keys{}, fmt.Errorf("deriving a key: %w", err)
	}
	return Keys{sign: sign, digest: digest}, nil
}

// Node is the name of the chain that the key signs. It follows from the key, so
// that a chain cannot be signed by another one under its name.
func (k Keys) Node() string { return nodeOf(k.public()) }

func (k Keys) public() ed25519.PublicKey { return k.sign.Public().(ed25519.PublicKey) }

// nodeOf is the name of a key's chain: 80 bits of its digest.
func nodeOf(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10]))
}

// claim is what is signed: that of this kind, the chain of node has the hash at
// seq, said at a time. Other kinds of claims are other texts.
type claim struct {
	what string
	node string
	seq  int64
	hash string
	at   int64
}

func (c claim) bytes() []byte {
	return fmt.Appendf(nil, "toolcrib %s\n%s\n%d\n%s\n%d\n", c.what, c.node, c.seq, c.hash, c.at)
}

func (k Keys) signature(c claim) []byte { return ed25519.Sign(k.sign, c.bytes()) }

// signedBy reports whether the signature is that of the claim by the key, and
// the key the one of the chain named signer.
func (c claim) signedBy(signer string, key, signature []byte) bool {
	return len(key) == ed25519.PublicKeySize && nodeOf(key) == signer && ed25519.Verify(key, c.bytes(), signature)
}

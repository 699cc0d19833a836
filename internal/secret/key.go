package secret

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"time"

	"filippo.io/age"

	"github.com/toolcrib/toolcrib/internal/atomicfile"
)

// identity returns the key of the store. It makes one if there is none and
// nothing is sealed, which an empty recipient says; else the key must be the
// recipient's.
func (s *Store) identity(recipient string) (*age.X25519Identity, error) {
	key, err := s.keyThere()
	switch {
	case errors.Is(err, fs.ErrNotExist) && recipient == "":
		return s.makeKey()
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the key %s, with which the values of %s are sealed, is missing: put it back, or delete that file and seal the values again", s.keyPath, s.path)
	case err != nil:
		return nil, err
	}
	if recipient != "" && key.Recipient().String() != recipient {
		return nil, fmt.Errorf("the key %s does not fit: the values of %s were sealed with another one", s.keyPath, s.path)
	}
	return key, nil
}

// keyThere is the key as it is in its file. Without one the error is
// [fs.ErrNotExist].
func (s *Store) keyThere() (*age.X25519Identity, error) {
	raw, err := readLimited(s.keyPath, 1<<20)
	if err != nil {
		return nil, fmt.Errorf("read the key of the sealed values: %w", err)
	}
	if info, err := os.Stat(s.keyPath); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("others may read the key of the sealed values %s: make it readable by its owner only (chmod 600)", s.keyPath)
	}
	// The parser's error may quote the key.
	keys, err := age.ParseIdentities(bytes.NewReader(raw))
	if err != nil || len(keys) != 1 {
		return nil, fmt.Errorf("the file %s holds no key of sealed values", s.keyPath)
	}
	key, ok := keys[0].(*age.X25519Identity)
	if !ok {
		return nil, fmt.Errorf("the key of the sealed values %s is of another kind than X25519", s.keyPath)
	}
	return key, nil
}

// makeKey makes the key file, in the form in which age-keygen writes one.
func (s *Store) makeKey() (*age.X25519Identity, error) {
	key, err := age.GenerateX25519Identity()
	if err == nil {
		err = atomicfile.WriteBytes(s.keyPath, fmt.Appendf(nil, "# created: %s\n# public key: %s\n%s\n",
			time.Now().UTC().Format(time.RFC3339), key.Recipient(), key))
	}
	if err != nil {
		return nil, fmt.Errorf("make the key of the sealed values: %w", err)
	}
	return key, nil
}

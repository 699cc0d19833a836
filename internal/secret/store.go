package secret

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"filippo.io/age"

	"github.com/toolcrib/toolcrib/internal/atomicfile"
)

const (
	storeVersion = 1
	maxStore     = 32 << 20 // bytes of the store's file
	maxName      = 128      // characters
)

// ErrNotSet is the error of a name under which no value is sealed.
var ErrNotSet = errors.New("no value is sealed under this name")

// Sealed is what can be told about a sealed value.
type Sealed struct {
	Name string
	Set  time.Time // in UTC, to the second
}

// Store keeps values that are secrets in a file, each encrypted with age for
// an X25519 key that has a file of its own. Names and times are in clear.
// Nothing is kept in memory: every method reads the files anew.
//
// A Store is safe for concurrent use, but the files are for one process at a
// time, which the lock of the data directory sees to.
type Store struct {
	keyPath, path string
	mu            sync.Mutex
}

// contents is the store's file.
type contents struct {
	Version   int              `json:"version"`
	Recipient string           `json:"recipient"` // the public half of the key
	Values    map[string]value `json:"values"`
}

type value struct {
	Set  time.Time `json:"set"`
	Data []byte    `json:"data"` // encrypted: the name, a NUL and the value
}

// OpenStore returns the store of the file at storePath, whose key is in the
// file at keyPath. Both files are made when the first value is sealed, for
// their owner only; their directories must be there. It is an error if either
// is damaged, if the key is not the one with which the values were sealed, or
// if others may read the key. The files are then left as they are.
func OpenStore(keyPath, storePath string) (*Store, error) {
	s := &Store{keyPath: keyPath, path: storePath}
	c, err := s.read()
	if err != nil {
		return nil, err
	}
	if c.Recipient != "" {
		if _, err := s.identity(c.Recipient); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// ValidName reports whether a value can be sealed under the name: one to 128
// letters, digits, dots, underscores and hyphens.
func ValidName(name string) bool {
	return name != "" && len(name) <= maxName && !strings.ContainsFunc(name, func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		digit := '0' <= r && r <= '9'
		return !letter && !digit && !strings.ContainsRune("._-", r)
	})
}

// Set seals a value under a name, in place of the one before. When it returns
// nil the value is on the disk. An empty value, one of more than 64 KiB, and a
// name that is not a [ValidName] are errors.
func (s *Store) Set(name, secret string) error {
	switch {
	case !ValidName(name):
		return fmt.Errorf("a sealed value's name has 1 to %d letters, digits, dots, underscores and hyphens", maxName)
	case secret == "":
		return errors.New("the value is empty")
	case len(secret) > maxFile:
		return fmt.Errorf("the value is larger than %d KiB", maxFile>>10)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.read()
	if err != nil {
		return err
	}
	key, err := s.identity(c.Recipient)
	if err != nil {
		return err
	}
	// The name is sealed too, so that nobody can pass one value off as another
	// by changing names in the file.
	data, err := encrypt(key.Recipient(), name+"\x00"+secret)
	if err != nil {
		return fmt.Errorf("seal the value %q: %w", name, err)
	}
	c.Recipient = key.Recipient().String()
	if c.Values == nil {
		c.Values = make(map[string]value)
	}
	c.Values[name] = value{Set: time.Now().UTC().Truncate(time.Second), Data: data}
	return s.write(c)
}

// Get returns the value sealed under a name, or [ErrNotSet].
func (s *Store) Get(name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.read()
	if err != nil {
		return "", err
	}
	v, ok := c.Values[name]
	if !ok {
		return "", ErrNotSet
	}
	key, err := s.identity(c.Recipient)
	if err != nil {
		return "", err
	}
	text, err := decrypt(key, v.Data)
	if err != nil {
		return "", fmt.Errorf("the value %q of %s cannot be opened with the key of %s: %w", name, s.path, s.keyPath, err)
	}
	secret, ok := strings.CutPrefix(text, name+"\x00")
	if !ok {
		return "", fmt.Errorf("the value %q of %s was sealed under another name", name, s.path)
	}
	return secret, nil
}

// Delete removes the value sealed under a name. It returns [ErrNotSet] if
// there is none.
func (s *Store) Delete(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.read()
	if err != nil {
		return err
	}
	if _, ok := c.Values[name]; !ok {
		return ErrNotSet
	}
	delete(c.Values, name)
	return s.write(c)
}

// List returns what is sealed, sorted by name. It does not need the key.
func (s *Store) List() ([]Sealed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.read()
	if err != nil {
		return nil, err
	}
	list := make([]Sealed, 0, len(c.Values))
	for name, v := range c.Values {
		list = append(list, Sealed{Name: name, Set: v.Set})
	}
	slices.SortFunc(list, func(a, b Sealed) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// read returns what the file holds; nothing if there is none.
func (s *Store) read() (contents, error) {
	var c contents
	raw, err := readLimited(s.path, maxStore)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return contents{Version: storeVersion}, nil
	case err != nil:
		return c, fmt.Errorf("read the sealed values: %w", err)
	}
	damaged := func(detail string) (contents, error) {
		return contents{}, fmt.Errorf("the file of sealed values %s cannot be used and is left as it is: %s", s.path, detail)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return damaged("it is damaged")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return damaged("it is damaged")
	}
	if c.Version != storeVersion {
		return damaged(fmt.Sprintf("its version is %d, and this Toolcrib knows only %d", c.Version, storeVersion))
	}
	if _, err := age.ParseX25519Recipient(c.Recipient); err != nil {
		return damaged("it does not say for which key it is")
	}
	for name, v := range c.Values {
		if !ValidName(name) || len(v.Data) == 0 {
			return damaged("it is damaged")
		}
	}
	return c, nil
}

func (s *Store) write(c contents) error {
	raw, err := json.MarshalIndent(c, "", "  ")
	if err == nil {
		err = atomicfile.WriteBytes(s.path, append(raw, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the sealed values: %w", err)
	}
	return nil
}

func encrypt(to age.Recipient, text string) ([]byte, error) {
	var b bytes.Buffer
	w, err := age.Encrypt(&b, to)
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(w, text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func decrypt(key age.Identity, data []byte) (string, error) {
	r, err := age.Decrypt(bytes.NewReader(data), key)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(r, maxFile+maxName+1))
	return string(text), err
}

// readLimited reads a file of at most limit bytes. Its errors name the file.
func readLimited(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(raw)) > limit {
		return nil, fmt.Errorf("%s is larger than %d MiB", path, limit>>20)
	}
	return raw, nil
}

package secret

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"filippo.io/age"
)

// What is sealed for others is for so many at most, and is no longer than this.
const (
	maxRecipients = 64
	maxSealed     = 32 << 20
)

// ErrForeign is the error of what was not sealed for the key of a store.
var ErrForeign = errors.New("it was not sealed for the key of this store")

// Seal encrypts bytes that are kept elsewhere, with age for the key of the store,
// which is made if there is none. [Store.Unseal] opens them, as long as the key is
// the same. What they are about has to be among them: whoever can change the
// place where they are kept can put others there that were sealed too.
func (s *Store) Seal(plain []byte) ([]byte, error) { return s.SealFor(plain) }

// Recipient is the public half of the key, which is made if there is none: whoever
// has it can seal for this store.
func (s *Store) Recipient() (string, error) {
	key, err := s.key()
	if err != nil {
		return "", err
	}
	return key.Recipient().String(), nil
}

// SealFor is Seal for others as well, by what their [Store.Recipient] is. An error
// of a recipient that is none does not cite it.
func (s *Store) SealFor(plain []byte, recipients ...string) ([]byte, error) {
	key, err := s.key()
	if err != nil {
		return nil, err
	}
	to := []age.Recipient{key.Recipient()}
	seen := []string{key.Recipient().String()}
	for _, text := range recipients {
		if slices.Contains(seen, text) {
			continue
		}
		other, err := age.ParseX25519Recipient(text)
		if err != nil {
			return nil, errors.New("seal: a recipient is none")
		}
		if to, seen = append(to, other), append(seen, text); len(to) > maxRecipients {
			return nil, fmt.Errorf("seal: for more than %d recipients", maxRecipients)
		}
	}
	var b bytes.Buffer
	w, err := age.Encrypt(&b, to...)
	if err == nil {
		if _, err = w.Write(plain); err == nil {
			err = w.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	return b.Bytes(), nil
}

// Unseal returns what was sealed for the key of the store. It never makes a key.
// The error of what was sealed for other keys is [ErrForeign].
func (s *Store) Unseal(sealed []byte) ([]byte, error) {
	s.mu.Lock()
	key, err := s.keyThere()
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	r, err := age.Decrypt(bytes.NewReader(sealed), key)
	if _, other := errors.AsType[*age.NoIdentityMatchError](err); other {
		return nil, ErrForeign
	}
	if err != nil {
		return nil, fmt.Errorf("unseal: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(r, maxSealed+1))
	if err != nil {
		return nil, fmt.Errorf("unseal: %w", err)
	}
	if len(plain) > maxSealed {
		return nil, fmt.Errorf("unseal: it is larger than %d MiB", maxSealed>>20)
	}
	return plain, nil
}

// key is the key of the store, which is made if there is none.
func (s *Store) key() (*age.X25519Identity, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.read()
	if err != nil {
		return nil, err
	}
	return s.identity(c.Recipient)
}

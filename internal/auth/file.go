package auth

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

const (
	entropy     = 32  // random bytes of a token
	minToken    = 32  // characters of a token that somebody chose himself
	maxToken    = 512 // characters, also of what is read of a file
	maxAttempts = 3   // to read a file that others make or delete meanwhile
)

// openToken returns the token in the file, after making it if there is none.
func openToken(path, prefix string) (string, error) {
	for range maxAttempts {
		token, err := readToken(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return token, err
		}
		if err := makeToken(path, prefix); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", unusable(path, err)
		}
	}
	return "", unusable(path, errors.New("somebody keeps deleting it"))
}

// makeToken makes a file with a new token, which is whole as soon as it has
// its name, also after a loss of power. If the file is there the error is
// [fs.ErrExist], and nothing has changed.
func makeToken(path, prefix string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // O_EXCL, 0600
	if err != nil {
		return err
	}
	part := f.Name()
	defer func() {
		if e := os.Remove(part); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}()
	secret := make([]byte, entropy)
	_, _ = rand.Read(secret) // never fails
	_, err = fmt.Fprintln(f, prefix+base64.RawURLEncoding.EncodeToString(secret))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	// Unlike a renaming, a link does not replace a file that another process
	// has made this moment.
	err = os.Link(part, path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		// The file system has no hard links. The lock of the data directory
		// keeps other hubs away.
		err = os.Rename(part, path)
	}
	return err
}

// readToken returns the token in the file without white space around it. A
// missing file is a plain error, all others are [*hub.Error].
func readToken(path string) (string, error) {
	// Looking before opening keeps from waiting for the writer of a pipe,
	// looking again from reading what was put in its place meanwhile.
	before, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err == nil && !before.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err != nil {
		return "", unusable(path, err)
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err != nil {
		return "", unusable(path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !os.SameFile(before, info) {
		err = errors.New("it was exchanged while it was opened")
	}
	if err != nil {
		return "", unusable(path, err)
	}
	if detail := exposure(info); detail != "" {
		return "", hub.E(message.TokenExposed, nil, "path", path).With("detail", message.Term(detail))
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err != nil {
		return "", unusable(path, err)
	}
	token := strings.TrimSpace(string(raw))
	if err := checkToken(token, len(raw)); err != nil {
		return "", unusable(path, err)
	}
	return token, nil
}

// checkToken refuses what could be guessed, and what no header can carry.
func checkToken(token string, size int) error {
	switch {
	case size > maxToken:
		return fmt.Errorf("it has more than %d characters", maxToken)
	case len(token) < minToken:
		return fmt.Errorf("it has fewer than %d characters", minToken)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("it has other characters than letters, digits and signs of ASCII")
	}
	return nil
}

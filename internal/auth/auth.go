// Package auth knows who may come in: the tokens of this hub, and whom a
// request was made by.
//
// There are two tokens, each in a file of its own that only the owner of the
// hub can read. The administrator's may change servers and the configuration;
// the caller's may look around and call tools, where that is not free to
// everybody on this machine. A token is never logged and is in no error; the
// hub itself keeps only its digest.
package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io/fs"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Tokens are the tokens that let somebody in. They do not change while the hub
// runs. Its methods may be called from any goroutine.
type Tokens struct {
	admin, caller [sha256.Size]byte
}

// OpenTokens reads the two token files and makes those that are not there, for
// their owner only. Whoever opens the same files at the same time gets the
// same tokens.
//
// The error is a [*hub.Error]: token_exposed if others than the owner may read
// or change a file (on Unix), token_unusable if a file cannot be read or made,
// is no regular file (a symbolic link is none), holds no token, or the one
// that the other file holds too.
func OpenTokens(adminPath, callerPath string) (*Tokens, error) {
	admin, err := openToken(adminPath, "tca_")
	if err != nil {
		return nil, err
	}
	caller, err := openToken(callerPath, "tcc_")
	if err != nil {
		return nil, err
	}
	if admin == caller {
		return nil, unusable(callerPath, errors.New("it holds the administrator's token"))
	}
	return &Tokens{admin: sha256.Sum256([]byte(admin)), caller: sha256.Sum256([]byte(caller))}, nil
}

// ReadToken returns the token in a file that [OpenTokens] has made, for a
// program that shows it. Errors are those of OpenTokens, and one that wraps
// [fs.ErrNotExist] if no hub has made the file yet.
func ReadToken(path string) (string, error) {
	token, err := readToken(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", unusable(path, err)
	}
	return token, err
}

// Principal returns who shows a token, given the value of the header
// Authorization: "Bearer", a space, the token (RFC 6750, section 2.1). False
// means that the credentials are not known. How long it takes says nothing
// about how much of a token is right.
func (t *Tokens) Principal(authorization string) (hub.Principal, bool) {
	scheme, token, _ := strings.Cut(strings.TrimSpace(authorization), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return hub.Principal{}, false
	}
	digest := sha256.Sum256([]byte(strings.TrimSpace(token)))
	admin := subtle.ConstantTimeCompare(digest[:], t.admin[:])
	caller := subtle.ConstantTimeCompare(digest[:], t.caller[:])
	switch {
	case admin == 1:
		return hub.Principal{Subject: "admin", Role: hub.RoleAdmin}, true
	case caller == 1:
		return hub.Principal{Subject: "caller", Role: hub.RoleCaller}, true
	}
	return hub.Principal{}, false
}

func unusable(path string, err error) *hub.Error {
	said := err
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		said = p.Err // the path is told by the text
	}
	return hub.E(message.TokenUnusable, err, "path", path).With("detail", message.Cause(said))
}

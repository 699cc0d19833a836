package device

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"sync"

	"github.com/toolcrib/toolcrib/internal/atomicfile"
)

// Epochs say of which time the tokens of each device have to be. To revoke a device's
// tokens begins another time for it: what was made before is made with other words, and
// fits no more. Safe for concurrent use.
type Epochs struct {
	path string // "" for none, of what is kept for as long as the program runs

	mu  sync.Mutex
	all map[string]string // by id in lower case; none for a device whose tokens were never revoked
}

// OpenEpochs reads what is kept in a file, which need not be there. One that cannot be
// read is an error, since tokens that were revoked would be good again without it.
func OpenEpochs(path string) (*Epochs, error) {
	e := &Epochs{path: path, all: make(map[string]string)}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &e.all)
	}
	if err != nil {
		return nil, fmt.Errorf("%s, which says what tokens of devices were revoked: %w", path, err)
	}
	if e.all == nil {
		return nil, fmt.Errorf("%s, which says what tokens of devices were revoked: it holds no object", path)
	}
	return e, nil
}

// of is the time of a device that runs; "" for the first.
func (e *Epochs) of(id string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.all[strings.ToLower(id)]
}

// renew begins another time for a device, which is not known before it is made up. Once
// it has returned nil that outlasts a loss of power; after an error nothing has changed.
func (e *Epochs) renew(id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var b [8]byte
	_, _ = rand.Read(b[:]) // which never fails
	all := maps.Clone(e.all)
	if all == nil {
		all = make(map[string]string)
	}
	all[strings.ToLower(id)] = hex.EncodeToString(b[:])
	if e.path != "" {
		text, err := json.MarshalIndent(all, "", "  ")
		if err != nil {
			return err
		}
		if err := atomicfile.WriteBytes(e.path, append(text, '\n')); err != nil {
			return err
		}
	}
	e.all = all
	return nil
}

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
	"slices"
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
	all map[string]string // by id in lower case; "" for a device that was given a token, and has had none revoked
}

// OpenEpochs reads what is kept in a file. One that is not there is made if fresh says
// that there are no tokens yet. It is an error otherwise, as is one that cannot be read:
// tokens that were revoked would be good again without it.
func OpenEpochs(path string, fresh bool) (*Epochs, error) {
	e := &Epochs{path: path, all: make(map[string]string)}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if fresh {
			return e, atomicfile.WriteBytes(path, []byte("{}\n"))
		}
		return nil, fmt.Errorf("%s, which says what tokens of devices were revoked, is not there: put it back; or remove the file device.key beside it, and give devices new tokens; or write {} into it if none was ever revoked", path)
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

// knows reports whether the device was given a token by hand, or had its own revoked.
func (e *Epochs) knows(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ok := e.all[strings.ToLower(id)]
	return ok
}

// ids are those of all such devices, in lower case.
func (e *Epochs) ids() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(maps.Keys(e.all))
}

// learn notes that a device is given a token. After an error nothing has changed.
func (e *Epochs) learn(id string) error {
	if e.knows(id) {
		return nil
	}
	return e.set(id, "")
}

// renew begins another time for a device, which is not known before it is made up. Once
// it has returned nil that outlasts a loss of power; after an error nothing has changed.
func (e *Epochs) renew(id string) error {
	var b [8]byte
	_, _ = rand.Read(b[:]) // which never fails
	return e.set(id, hex.EncodeToString(b[:]))
}

// set has a time run for a device. The first one, "", does not come back.
func (e *Epochs) set(id, epoch string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	id = strings.ToLower(id)
	if epoch == "" && e.all[id] != "" {
		return nil
	}
	all := maps.Clone(e.all)
	if all == nil {
		all = make(map[string]string)
	}
	all[id] = epoch
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

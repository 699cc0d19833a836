package xiaozhi

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/toolcrib/toolcrib/internal/atomicfile"
	"github.com/toolcrib/toolcrib/internal/hub"
)

// identities keep who the hub is to each backend: as which device of which program.
// Backends know their devices by that, so that it is made up once, and stays. Safe
// for concurrent use.
type identities struct {
	path string

	mu sync.Mutex
}

// identity is who the hub is to one backend.
type identity struct {
	Device string `json:"deviceId"` // in the form of a MAC address
	Client string `json:"clientId"` // in the form of a UUID
}

// of returns who the hub is to a backend. What the definition says of that counts; the
// rest is made up when it is needed first.
func (i *identities) of(b *hub.Backend) (device, client string, err error) {
	if b.DeviceID != "" && b.ClientID != "" {
		return b.DeviceID, b.ClientID, nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	kept, err := i.read()
	if err != nil {
		return "", "", err
	}
	one, known := kept[b.Name]
	if !known {
		one = newIdentity()
		kept[b.Name] = one
		text, err := json.MarshalIndent(kept, "", "  ")
		if err != nil {
			return "", "", err
		}
		if err := atomicfile.WriteBytes(i.path, append(text, '\n')); err != nil {
			return "", "", err
		}
	}
	return cmp.Or(b.DeviceID, one.Device), cmp.Or(b.ClientID, one.Client), nil
}

func (i *identities) read() (map[string]identity, error) {
	text, err := os.ReadFile(i.path)
	if errors.Is(err, fs.ErrNotExist) {
		return make(map[string]identity), nil
	}
	if err != nil {
		return nil, err
	}
	var kept map[string]identity
	if err := json.Unmarshal(text, &kept); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", i.path, err)
	}
	for name, one := range kept {
		if one.Device == "" || one.Client == "" {
			delete(kept, name)
		}
	}
	if kept == nil {
		kept = make(map[string]identity)
	}
	return kept, nil
}

// newIdentity makes up an address that belongs to no hardware, and a random UUID.
func newIdentity() identity {
	var mac [6]byte
	var id [16]byte
	_, _ = rand.Read(mac[:]) // which never fails
	_, _ = rand.Read(id[:])
	mac[0] = mac[0]&^0x01 | 0x02 // one device's, and given by nobody
	id[6] = id[6]&0x0f | 0x40    // version 4
	id[8] = id[8]&0x3f | 0x80    // of RFC 9562
	return identity{
		Device: fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]),
		Client: fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:]),
	}
}

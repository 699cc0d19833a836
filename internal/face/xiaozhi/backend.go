package xiaozhi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
	words "github.com/toolcrib/toolcrib/internal/xiaozhi"
)

// definition is an endpoint, or a backend by what it has in common with one. It is a
// value, as these are.
type definition struct {
	hub.Endpoint
	device *hub.Backend // nil for an endpoint
}

// reachedAs reports whether what another definition says of how to be reached is the
// same.
func (d *definition) reachedAs(other *definition) bool {
	if d.Enabled != other.Enabled || !d.leadsTo(other) {
		return false
	}
	return d.device == nil || d.device.Query == other.device.Query && d.device.KeepAlive == other.device.KeepAlive
}

// leadsTo reports whether another definition has the same address, and shows the same
// credentials there: the peer is the same then.
func (d *definition) leadsTo(other *definition) bool {
	if d.URL != other.URL || (d.device == nil) != (other.device == nil) {
		return false
	}
	if d.device == nil {
		return true
	}
	a, b := d.device, other.device
	return a.OTA == b.OTA && a.Token == b.Token && a.DeviceID == b.DeviceID && a.ClientID == b.ClientID
}

// refused is the error of one that does not let the hub in.
func (d *definition) refused() *hub.Error {
	if d.device != nil {
		return hub.E(message.BackendAuth, nil, "backend", d.Name)
	}
	return hub.E(message.EndpointAuth, nil, "endpoint", d.Name)
}

// pageSize is how many bytes a page of tools may have.
func (d *definition) pageSize() int {
	switch {
	case d.device != nil:
		return d.MaxList - words.BackendFrame
	case d.Pages:
		return d.MaxList
	}
	return words.MaxList
}

// names are the names under which the peer gets tools, in their order.
func (d *definition) names(all []listed) []string {
	own := make([]string, len(all))
	for i, t := range all {
		own[i] = cmp.Or(t.as, d.wanted(&t))
	}
	if d.device != nil {
		return words.DeviceNames(own)
	}
	return words.Names(own)
}

// machine is the key of the built-in server that is what a device has itself: its
// screen, its sound.
const machine = "device"

func (t *listed) isMachines() bool {
	return t.entry != nil && t.entry.Server.Kind == hub.KindBuiltin && t.entry.Server.Key == machine
}

// wanted is the name that a tool is to have, if no other has it.
func (d *definition) wanted(t *listed) string {
	switch {
	case d.device == nil:
		return t.name
	case d.device.Prefix && t.entry == nil:
		return "self." + t.name
	case d.device.Prefix:
		server := t.entry.Server.Key
		if pool := t.entry.Server.Pool; pool != "" {
			server = pool
		}
		return "self." + server + "." + t.own()
	case t.isMachines(), t.isBare():
		return t.own()
	}
	return t.name
}

// isBare reports whether a tool has its server's name for it, but for the suffix that the
// catalog tells it apart by from another one.
func (t *listed) isBare() bool {
	if t.entry == nil || !t.entry.Server.BareNames || t.entry.Server.Pool != "" || !words.FitsName(t.own()) {
		return false
	}
	const digits = 8
	suffix, ok := strings.CutPrefix(t.name, t.own())
	if !ok || suffix == "" {
		return ok // a group may call it something else
	}
	_, err := strconv.ParseUint(strings.TrimPrefix(suffix, "_"), 16, 32)
	return err == nil && len(suffix) == 1+digits && suffix[0] == '_'
}

// own is the name of a tool without its server's.
func (t *listed) own() string {
	if as := t.entry.Server.Rules.Override[t.entry.Tool.Name].Name; as != "" {
		return as
	}
	return t.entry.Tool.Name
}

// asDevice are the tools as a backend is offered them: those of the machine first.
// Of several with one name that take the same, whichever the servers are that give them
// that name, the first stands for all, and the others stand in for it.
func (o *offer) asDevice(all []listed) []listed {
	slices.SortStableFunc(all, func(a, b listed) int {
		switch am, bm := a.isMachines(), b.isMachines(); {
		case am && !bm:
			return -1
		case bm && !am:
			return 1
		}
		return 0
	})
	o.spare = make(map[string][]string)
	named := make(map[string][]*listed, len(all)) // that are kept
	kept := make([]listed, 0, len(all))
	for _, t := range all {
		name := o.def.wanted(&t)
		if at := slices.IndexFunc(named[name], func(before *listed) bool { return sameInput(before.raw, t.raw) }); at >= 0 {
			before := named[name][at].name
			o.spare[before] = append(o.spare[before], t.name)
			continue
		}
		if len(named[name]) > 0 && t.isBare() {
			t.as = t.name // which does not hang on who else is there
		}
		kept = append(kept, t)
		named[name] = append(named[name], &t)
	}
	return kept
}

// fits reports whether a tool has room on a page of its own, with the name of any
// other as that of the next.
func (d *definition) fits(tool []byte) bool {
	const longestName = 64
	return d.device == nil || len(listHead)+len(tool)+len(cursorHead)+longestName+len(cursorTail) <= d.pageSize()
}

// tooLong is the warning about tools that have no room on a page.
func (d *definition) tooLong(names []string) *hub.Error {
	return hub.E(message.BackendToolLong, nil, "backend", d.Name, "limit", number(d.MaxList), "tools", message.Quote(strings.Join(names, ", ")))
}

// sameInput reports whether two descriptions are of tools that take the same.
func sameInput(a, b []byte) bool {
	input := func(raw []byte) []byte { return wire.Lookup(raw, wire.Value(raw), "inputSchema").Of(raw) }
	x, y := input(a), input(b)
	if bytes.Equal(x, y) {
		return true
	}
	var left, right any
	return json.Unmarshal(x, &left) == nil && json.Unmarshal(y, &right) == nil && reflect.DeepEqual(left, right)
}

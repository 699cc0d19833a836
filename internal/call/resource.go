package call

import (
	"context"
	"slices"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// resolveResource finds the server whose resource is read.
func (p *Pipeline) resolveResource(ctx context.Context, r *run) error {
	if err := p.findResource(ctx, r); err != nil {
		return err
	}
	r.address(r.own)
	return nil
}

// findResource finds the server that has a resource. Servers may have resources
// that are in no list and fit no template, such as those to which results link
// (2025-11-25, "Resource Links"). So these are tried, in this order:
//
//   - the server that lists the URI, or has a template for it, and the one that
//     the prefixed form names, in the caller's view;
//   - the one that last mentioned the URI in a result or, if none has, as that of
//     a resource that has changed, of which somebody wanted to hear;
//   - servers that are being started and whose lists are not known: all of them
//     are waited for, side by side, each within its own time limit;
//   - if just one server in the view has resources, that one.
//
// Otherwise nobody is asked: a read that goes round would tell each server what
// the caller looks for.
func (p *Pipeline) findResource(ctx context.Context, r *run) error {
	err := p.find(ctx, r)
	if !hub.IsCode(err, message.ResourceUnknown) {
		return err
	}
	if _, _, ok := catalog.Unprefixed(r.name); ok {
		return err // it is nobody else's
	}
	if key, ok := p.mentions.of(r.Viewer.Tenant, r.name); ok && p.theirs(r, key) {
		return nil
	}
	if found, err := p.awaitLists(ctx, r); found || err != nil {
		return err
	}
	if p.onlyProvider(r) {
		return nil
	}
	return err
}

// lookResource looks for a resource among what is listed.
func (p *Pipeline) lookResource(r *run) (bool, error) {
	if err := p.see(r); err != nil {
		return false, err
	}
	place, found := r.view.Resource(r.name)
	if found {
		r.at(place)
	}
	return found, nil
}

// at says where the resource is.
func (r *run) at(place catalog.Place) {
	r.server, r.own = &place.Server, place.URI
	r.prefixed = place.Prefixed || place.Server.PrefixURIs
}

// theirs takes the resource for one of the server's, if the caller sees that
// server's resources.
func (p *Pipeline) theirs(r *run, key string) bool {
	place, ok := r.view.Resource(catalog.Prefixed(key, r.name))
	if ok {
		place.Prefixed = false // the caller has the server's own URI
		r.at(place)
	}
	return ok
}

// awaitLists waits for the servers that are being started and whose lists are
// not known, until one of them has the resource, or none.
func (p *Pipeline) awaitLists(ctx context.Context, r *run) (found bool, err error) {
	keys := slices.DeleteFunc(p.unheard(r.view, hub.StateStarting), func(key string) bool { return !r.view.Has(key) })
	if len(keys) == 0 {
		return false, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{}, len(keys))
	for _, key := range keys {
		go func() {
			defer func() { ended <- struct{}{} }()
			if server, ok := p.fleet.Server(key); ok {
				_ = p.wait(ctx, r, &server) // one that does not come has no resources
			}
		}()
	}
	for left := len(keys); left > 0; left-- {
		<-ended
		if !found && err == nil {
			if found, err = r.verb.look(r); found || err != nil {
				cancel()
			}
		}
	}
	cancel()
	return found, err
}

// onlyProvider takes the resource for one of the only server in the view that has
// resources.
func (p *Pipeline) onlyProvider(r *run) bool {
	keys := r.view.ResourceServers()
	return len(keys) == 1 && p.theirs(r, keys[0])
}

package policy

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/risk"
)

// maxProfiles is how many tools are kept in mind. Where there are more, all are
// described anew from time to time.
const maxProfiles = 8192

// profiles are those of the tools that calls were made of.
type profiles struct {
	mu   sync.RWMutex
	kept map[profileKey]*kept
}

// profileKey names a description: the bytes that came, of which there are no
// others at the same place as long as the profile is kept.
type profileKey struct {
	server string
	raw    *byte
	length int
}

// kept is a profile and what it was made of, besides its key.
type kept struct {
	raw     []byte // so that no others come to its place
	name    string
	trusted bool
	dir     string
	args    []string
	profile *risk.Profile
}

// assess says what is thought of a call.
func (p *profiles) assess(q *Question) hub.Assessment {
	switch {
	case q.Method == methodRead && q.Tool == nil:
		var within []string
		if q.Server != nil {
			within = roots(q.Server)
		}
		return risk.AssessURI(q.Name, within)
	case q.Method != methodCall && q.Tool == nil:
		return hub.Assessment{Risk: hub.RiskLow}
	}
	return p.of(q).Assess(q.Arguments)
}

// of returns the profile of a call's tool.
func (p *profiles) of(q *Question) *risk.Profile {
	if q.Tool == nil || len(q.Tool.Raw) == 0 {
		return describe(q)
	}
	key := profileKey{raw: unsafe.SliceData(q.Tool.Raw), length: len(q.Tool.Raw)}
	if q.Server != nil {
		key.server = q.Server.Key
	}
	p.mu.RLock()
	k := p.kept[key]
	p.mu.RUnlock()
	if k != nil && k.of(q) {
		return k.profile
	}
	k = &kept{raw: q.Tool.Raw, name: q.Tool.Name, profile: describe(q)}
	if q.Server != nil {
		k.trusted, k.dir, k.args = q.Server.Trusted, q.Server.Dir, q.Server.Args
	}
	p.mu.Lock()
	if p.kept == nil || len(p.kept) >= maxProfiles {
		p.kept = make(map[profileKey]*kept)
	}
	p.kept[key] = k
	p.mu.Unlock()
	return k.profile
}

// of reports whether the profile is still that of the call's tool.
func (k *kept) of(q *Question) bool {
	if k.name != q.Tool.Name {
		return false
	}
	s := q.Server
	return s == nil || k.trusted == s.Trusted && k.dir == s.Dir && slices.Equal(k.args, s.Args)
}

func describe(q *Question) *risk.Profile {
	d := risk.Description{Name: q.Name}
	if q.Tool != nil {
		d.Name, d.Raw = q.Tool.Name, q.Tool.Raw
	}
	if q.Server != nil {
		d.Server, d.Trusted, d.Roots = q.Server.Key, q.Server.Trusted, roots(q.Server)
	}
	return risk.Describe(d)
}

// roots are the directories that a server on this machine is given to work in: its
// working directory, and absolute paths among its arguments, as those of file
// servers are. Whether they are there is not looked at. The root of the file system
// is none, since everything is in it; neither is what has placeholders.
func roots(s *hub.Server) []string {
	if s.Kind != hub.KindStdio {
		return nil
	}
	var all []string
	for _, path := range append([]string{s.Dir}, s.Args...) {
		if !filepath.IsAbs(path) || strings.Contains(path, "${") {
			continue
		}
		if path = filepath.Clean(path); filepath.Dir(path) != path && !slices.Contains(all, path) {
			all = append(all, path)
		}
	}
	return all
}

// Package control is what operators do: they define, change and remove
// servers and groups, start and stop servers, try them out, and edit the
// configuration. It ties the configuration file, the fleet, the catalog and the
// sealed store together; the doors that offer it decide who may.
package control

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"slices"
	"sync"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/oauth"
	"github.com/toolcrib/toolcrib/internal/secret"
	"github.com/toolcrib/toolcrib/internal/toolindex"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// Options describe what is controlled.
type Options struct {
	Source   *Source // as [Load] returned it; Control owns it from now on
	Builtins []string
	Fleet    *fleet.Fleet // made of the same source
	Catalog  *catalog.Catalog
	Secrets  *secret.Store
	Logins   *oauth.Keeper // at servers; nil for none
	Log      *slog.Logger

	// Brief is for a hub that a command makes for itself, perhaps with another
	// file than the data directory's own: the lists of servers that are not in it
	// stay in the index.
	Brief bool

	// Probe opens a connection for a test, with everything that the fleet's
	// connections have as well; see [upstream.Dial].
	Probe func(ctx context.Context, s hub.Server) (*upstream.Conn, error)

	// Views is told the groups and the profiles of clients that are in force: by
	// [New], and with each configuration from then on. Nil tells nobody.
	Views func(groups []hub.Group, profiles []hub.Profile)

	// Settings is told each configuration that is put in force, the first one
	// included: what it says about the hub itself holds at once, but for what
	// [config.Pending] names. Nil tells nobody.
	Settings func(*config.Config)

	// Redial has an endpoint or a backend dialled anew, whose token is another one
	// though its entry is what it was; nil for nobody.
	Redial func(kind config.Dialled, name string)

	// Written is told that a text is in force which somebody else has written to the
	// file; nil tells nobody.
	Written func()

	// Costs tells the index how long tools usually take; nil knows of none.
	Costs toolindex.Times
}

// Control carries out what operators ask for. Safe for concurrent use: changes
// are made one after another, and whoever looks does not wait for them.
//
// Errors are a [*hub.Error] or, about a text, [config.Problems]; they hold no
// secret.
type Control struct {
	opt     Options
	started *config.Config // that was in force at first
	tags    []byte         // key of the ETags that are given out
	tests   chan struct{}  // a token for each test under way

	change sync.Mutex // held through a change of the file, the fleet and the list

	mu       sync.Mutex
	source   Source
	attached []hub.Server // besides those of the configuration; see Attach

	leases leases
}

// New returns the control of a fleet, and lists the servers in the catalog.
func New(opt Options) *Control {
	c := &Control{
		opt: opt, source: *opt.Source, started: opt.Source.Config,
		tags: make([]byte, sha256.Size), tests: make(chan struct{}, maxTests),
	}
	c.leases = leases{held: make(map[string]*tenancy), due: make(chan struct{}, 1)}
	_, _ = rand.Read(c.tags) // which never fails
	if c.source.Fault == nil {
		c.list(c.source.Config)
	} else {
		c.opt.Catalog.SetServersMeanwhile(c.source.Config.Servers)
	}
	c.views(c.source.Config)
	c.settings(c.source.Config)
	return c
}

// Source is what is known of the configuration file. The value and what it
// refers to are not changed any more.
func (c *Control) Source() Source {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.source
}

func (c *Control) setSource(s Source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.source = s
}

// ETag names the text of the configuration file that was last read; see
// [Control.Text].
func (c *Control) ETag() string { return c.tag(c.Source().etag) }

// tag is a file's ETag as it is told to others. The file's own is a hash of all
// that is in it: who knows the text but for one masked value could find that out
// by trying. The key is this process's, so a tag holds until the hub restarts.
func (c *Control) tag(etag string) string {
	h := hmac.New(sha256.New, c.tags)
	h.Write([]byte(etag))
	return `"` + hex.EncodeToString(h.Sum(nil)[:16]) + `"`
}

// apply puts a configuration in force.
func (c *Control) apply(s Source) {
	c.setSource(s)
	c.opt.Fleet.Apply(c.servers(s.Config), func() { c.list(s.Config) })
	c.views(s.Config)
	c.settings(s.Config)
	c.relet()
}

// list tells the catalog which servers there are.
func (c *Control) list(cfg *config.Config) {
	c.opt.Catalog.SetFreshness(cfg.CacheTTL, cfg.ForceRefresh)
	if c.opt.Brief {
		c.opt.Catalog.SetServersMeanwhile(c.servers(cfg))
		return
	}
	c.opt.Catalog.SetServers(c.servers(cfg))
}

// views tells which groups and profiles there are.
func (c *Control) views(cfg *config.Config) {
	if c.opt.Views != nil {
		c.opt.Views(cfg.Groups, cfg.Profiles)
	}
}

// settings tells what is said about the hub itself.
func (c *Control) settings(cfg *config.Config) {
	if c.opt.Settings != nil {
		c.opt.Settings(cfg)
	}
}

// find is a server of a configuration.
func find(cfg *config.Config, key string) (hub.Server, bool) {
	i := slices.IndexFunc(cfg.Servers, func(s hub.Server) bool { return s.Key == key })
	if i < 0 {
		return hub.Server{}, false
	}
	return cfg.Servers[i], true
}

func unknown(key string) *hub.Error {
	return hub.E(message.ServerUnknown, nil, "server", message.Quote(key))
}

package config

import (
	"reflect"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// Changes names servers by what another configuration does to them, in the
// order of the new configuration, those that are removed in that of the old
// one. Each is in one list besides Restarted.
type Changes struct {
	Added, Changed, Removed, Unchanged []string

	// Restarted are those of Changed that are reached in another way than
	// before: if one runs, it is ended and started anew. What changed about the
	// others holds at once.
	Restarted []string

	// Views says that groups, or what is known of clients, are others than
	// before. This holds at once.
	Views bool

	// Settings says that what is about the hub itself is other than before, such
	// as the limits of callers. This holds at once.
	Settings bool

	// NextStart has the members of the file that are other than before, and hold
	// when the hub starts the next time; see [Pending].
	NextStart []string
}

// Pending has the members of the file that say other than they did when the hub
// started, and hold when it starts the next time: "store" and "telemetry". Both
// configurations may be nil.
func Pending(started, now *Config) []string { return atStart(orDefault(started), orDefault(now)) }

// orDefault is the configuration, or that without a file or a server.
func orDefault(c *Config) *Config {
	if c == nil {
		return Default(nil)
	}
	return c
}

// Diff compares the servers of two configurations, either of which may be nil.
// The order of the servers is no change.
func Diff(before, after *Config) Changes {
	c := Changes{
		Views: !sameViews(before, after), Settings: !sameSettings(orDefault(before), orDefault(after)), NextStart: Pending(before, after),
	}
	was := make(map[string]hub.Server)
	if before != nil {
		for _, s := range before.Servers {
			was[s.Key] = s
		}
	}
	kept := make(map[string]bool)
	if after != nil {
		for _, s := range after.Servers {
			old, ok := was[s.Key]
			kept[s.Key] = true
			switch old.Order = s.Order; {
			case !ok:
				c.Added = append(c.Added, s.Key)
			case reflect.DeepEqual(old, s):
				c.Unchanged = append(c.Unchanged, s.Key)
			default:
				c.Changed = append(c.Changed, s.Key)
				if old.Enabled && s.Enabled && !reflect.DeepEqual(way(old), way(s)) {
					c.Restarted = append(c.Restarted, s.Key)
				}
			}
		}
	}
	if before != nil {
		for _, s := range before.Servers {
			if !kept[s.Key] {
				c.Removed = append(c.Removed, s.Key)
			}
		}
	}
	return c
}

// way is what of a server says how it is reached; the fleet goes by the same.
func way(s hub.Server) hub.Server {
	return hub.Server{
		Kind: s.Kind, Simulated: s.Simulated,
		Command: s.Command, Args: s.Args, Env: s.Env, EnvFile: s.EnvFile, Dir: s.Dir,
		Limits: s.Limits, Sandbox: s.Sandbox, DirectNode: s.DirectNode, OAuth: s.OAuth,
		URL: s.URL, Headers: s.Headers,
	}
}

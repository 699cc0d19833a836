package config

import (
	"reflect"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// Diff compares the servers of two configurations, either of which may be nil.
// It returns their keys, each in one of the lists: added, changed and
// unchanged in the order of the new configuration, removed in that of the old
// one. The order of the servers is no change.
func Diff(before, after *Config) (added, changed, removed, unchanged []string) {
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
				added = append(added, s.Key)
			case reflect.DeepEqual(old, s):
				unchanged = append(unchanged, s.Key)
			default:
				changed = append(changed, s.Key)
			}
		}
	}
	if before != nil {
		for _, s := range before.Servers {
			if !kept[s.Key] {
				removed = append(removed, s.Key)
			}
		}
	}
	return added, changed, removed, unchanged
}

package app

import "strings"

// Reload reads the configuration file anew and puts it in force. The error says
// why it cannot be used, and then what was in force still is.
func (a *App) Reload() error {
	check, err := a.control.Reload()
	a.recordReload(err)
	if err != nil {
		return err
	}
	d := check.Diff
	a.log.Info("the configuration file was read again", "path", a.control.Source().Path,
		"added", len(d.Added), "changed", len(d.Changed), "removed", len(d.Removed))
	if len(d.NextStart) > 0 {
		a.log.Warn("a part of the configuration takes effect at the next start", "members", strings.Join(d.NextStart, ", "))
	}
	return nil
}

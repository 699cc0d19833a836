package app

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/toolcrib/toolcrib/internal/audit"
	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/callstate"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/datadir"
	"github.com/toolcrib/toolcrib/internal/events"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/secret"
	"github.com/toolcrib/toolcrib/internal/store"
)

// openStore opens the database, and what is in it. It is closed after all that
// write to it.
func (a *App) openStore(ctx context.Context) error {
	opt, err := storeOptions(a.dir.Layout, a.source.Path, a.source.Config, a.secrets, a.log)
	if err != nil {
		return err
	}
	if a.store, err = store.Open(ctx, opt); err != nil {
		return err
	}
	a.onStop("database", func(context.Context) error { return a.store.Close() })
	if a.keys, err = audit.LoadKeys(a.dir.AuditKey()); err != nil {
		return err
	}
	if err := a.holdNode(ctx); err != nil {
		return err
	}
	if a.audit, err = audit.Open(ctx, audit.Options{
		DB: a.store, Dir: a.dir.AuditJournal(), Keys: a.keys, Log: a.log, Settings: auditSettings(a.source.Config),
	}); err != nil {
		return err
	}
	a.states = callstate.New(callstate.Options{Bus: a.shown})
	a.events, err = events.Open(ctx, events.Options{
		Buses: []*bus.Bus{a.bus, a.ended, a.shown}, DB: a.store, Node: a.keys.Node(), Log: a.log,
		Retention: a.source.Config.Events.Retention,
	})
	if err != nil {
		return errors.Join(err, a.audit.Close())
	}
	if err := a.openApprovals(ctx); err != nil {
		return errors.Join(err, a.audit.Close())
	}
	return nil
}

// holdNode sees to it that no other hub on the database has this one's key, as that
// of a copied data directory would: it would give back what this one has claimed,
// and write its record.
func (a *App) holdNode(ctx context.Context) error {
	letGo, err := a.store.Hold(ctx, "node "+a.keys.Node(), a.nodeHeld)
	switch {
	case errors.Is(err, store.ErrHeld):
		return a.nodeTaken(err)
	case err != nil:
		return err
	}
	a.onStop("node", func(context.Context) error {
		letGo()
		return nil
	})
	return nil
}

func (a *App) nodeTaken(err error) *hub.Error {
	return hub.E(message.AuditNodeTaken, err, "node", a.keys.Node())
}

// nodeHeld notes whether this hub alone has its key.
func (a *App) nodeHeld(held bool) {
	if held {
		a.taken.Store(nil)
		a.log.Info("no other hub has the key of this one any more")
		return
	}
	e := a.nodeTaken(nil)
	a.taken.Store(e)
	a.log.Error("another hub has the key of this one", "error", e)
}

// auditSettings is what a configuration says about the record of calls.
func auditSettings(c *config.Config) audit.Settings {
	return audit.Settings{Retention: c.Audit.Retention, KeepArguments: c.Audit.Arguments, MaxArguments: c.Audit.MaxArguments}
}

// applied puts the part of a configuration in force that is about the record and
// the events; the rest of what is about the hub itself is read where it is needed.
func (a *App) applied(c *config.Config) {
	a.audit.Set(auditSettings(c))
	a.events.SetRetention(c.Events.Retention)
	a.setPolicy(c)
	a.setIdentity(c.Auth)
	a.applyVoice(c)
}

// callSettings is what the pipeline is to go by now.
func (a *App) callSettings() call.Settings {
	c := a.control.Source().Config
	return call.Settings{Caller: c.Callers, Approval: c.Approval}
}

// storeOptions say which database a configuration names, whose file is at path:
// that of the data directory, or one of PostgreSQL. The placeholders in its
// address are filled in. An error shows no secret.
func storeOptions(dir datadir.Layout, path string, c *config.Config, secrets *secret.Store, log *slog.Logger) (store.Options, error) {
	address, e := c.Store.Resolve(secret.New(secret.Options{Dir: filepath.Dir(path), Store: secrets}))
	if e != nil {
		return store.Options{}, e
	}
	return store.Options{Path: dir.Store(), URL: address.Reveal(), Log: log}, nil
}

// StoreOf says which database a hub with this data directory and configuration
// file would use, for those who save and restore it without a hub. There need
// not be a file; one that cannot be used is an error, as it may name another
// database.
func StoreOf(dir datadir.Layout, path string, log *slog.Logger) (store.Options, error) {
	here := store.Options{Path: dir.Store(), Log: log}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return here, nil
	}
	c, _, err := config.Load(path, Builtins())
	if err != nil {
		return store.Options{}, err
	}
	if c.Store.URL == "" {
		return here, nil // and the sealed values, which may be damaged, do not matter
	}
	secrets, err := secret.OpenStore(dir.SealKey(), dir.Secrets())
	if err != nil {
		return store.Options{}, hub.E(message.DataDirUnusable, err, "path", dir.Path()).With("detail", message.Cause(err))
	}
	return storeOptions(dir, path, c, secrets, log)
}

//go:build linux

package record

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/toolcrib/toolcrib/internal/app"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// With these in its environment the test binary is a hub that kills itself.
const (
	envCrash  = "RECORD_CRASH"  // at what; see crashPoint
	envConfig = "RECORD_CONFIG" // the configuration file
	envData   = "RECORD_DATA"   // the data directory
)

// crashPoint is a moment in the writing of the database.
type crashPoint struct {
	commit bool   // the transaction is committed; else the row is written
	op     int32  // of SQLite
	table  string // of the row
	kind   string // of the entry, "" for any
	nth    int    // such row, from 1
	seen   int
	now    bool // such a row is in the transaction
}

// parsePoint reads a point such as "write insert audit_entry intent 1" or "commit
// delete audit_part - 2".
func parsePoint(text string) (*crashPoint, error) {
	f := strings.Fields(text)
	if len(f) != 5 {
		return nil, fmt.Errorf("no point to crash at: %q", text)
	}
	n, err := strconv.Atoi(f[4])
	p := &crashPoint{commit: f[0] == "commit", op: sqlite3.SQLITE_INSERT, table: f[2], kind: strings.Trim(f[3], "-"), nth: n}
	switch f[1] {
	case "delete":
		p.op = sqlite3.SQLITE_DELETE
	case "update":
		p.op = sqlite3.SQLITE_UPDATE
	}
	return p, err
}

// arm has this process kill itself at the point. SQLite has one writer at a time,
// so that nothing here is called twice at once.
func (p *crashPoint) arm() {
	sqlite.RegisterConnectionHook(func(conn sqlite.ExecQuerierContext, dsn string) error {
		if !strings.Contains(dsn, "_txlock=immediate") {
			return nil // it only reads
		}
		hooks, ok := conn.(sqlite.HookRegisterer)
		if !ok {
			return fmt.Errorf("connections of type %T have no hooks", conn)
		}
		hooks.RegisterPreUpdateHook(func(d sqlite.SQLitePreUpdateData) {
			if d.Op != p.op || d.TableName != p.table || !p.is(&d) {
				return
			}
			if p.seen++; p.seen != p.nth {
				return
			}
			if p.now = true; !p.commit {
				die()
			}
		})
		hooks.RegisterCommitHook(func() int32 {
			if p.now {
				die()
			}
			return 0
		})
		return nil
	})
}

// is reports whether a row is of the kind.
func (p *crashPoint) is(d *sqlite.SQLitePreUpdateData) bool {
	if p.kind == "" {
		return true
	}
	row := make([]any, 4) // node, seq, at, kind
	if err := d.New(row...); err != nil {
		panic(err)
	}
	return fmt.Sprintf("%s", row[3]) == p.kind
}

// die ends this process as kill -9 does.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// fatal is a log at one line of which this process kills itself: a point such as "log
// an agreement is taken for a call".
type fatal struct {
	slog.Handler
	line string
}

func (f fatal) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == f.line {
		die()
	}
	return f.Handler.Handle(ctx, r)
}

func (f fatal) WithAttrs(attrs []slog.Attr) slog.Handler {
	return fatal{f.Handler.WithAttrs(attrs), f.line}
}

func (f fatal) WithGroup(name string) slog.Handler { return fatal{f.Handler.WithGroup(name), f.line} }

// serveUntilCrash is a hub that says where it serves and crashes at the point.
func serveUntilCrash() error {
	var handler slog.Handler = slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})
	if line, ok := strings.CutPrefix(os.Getenv(envCrash), "log "); ok {
		handler = fatal{handler, line}
	} else {
		p, err := parsePoint(os.Getenv(envCrash))
		if err != nil {
			return err
		}
		p.arm()
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return app.Run(ctx, app.Options{
		Config: os.Getenv(envConfig), Strict: true, Listen: "127.0.0.1:0", DataDir: os.Getenv(envData), Version: "test",
		Log: slog.New(handler),
	}, func(a *app.App) { fmt.Println(a.URL()) })
}

// startCrashing starts a hub that crashes at the point. The URL is "" if it did so
// before it served.
func (l *lab) startCrashing(point string) (p *rig.Process, url string) {
	l.t.Helper()
	p = rig.Spawn(l.t, []string{envCrash + "=" + point, envConfig + "=" + l.config, envData + "=" + l.data.Path()}, os.Args[0])
	url, _ = p.Line()
	return p, url
}

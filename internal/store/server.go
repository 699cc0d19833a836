package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// connections is how many one hub has to PostgreSQL at most: one writes the
// record, the others read.
const connections = 8

// openServer opens a PostgreSQL database.
func openServer(ctx context.Context, opt Options) (*DB, error) {
	config, err := serverConfig(opt.URL)
	if err != nil {
		return nil, err
	}
	pool := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(keepDurable))
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	db := &DB{DB: pool, writer: pool, postgres: true, server: config, longest: longest, name: serverName(config)}
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(db.Err(err), db.Close())
	}
	return db, nil
}

// serverConfig reads the address. The errors of those who parse it cite it, and
// with it the password: none of them is passed on.
func serverConfig(address string) (*pgx.ConnConfig, error) {
	invalid := func(reason message.Phrase) error { return hub.E(message.StoreURLInvalid, nil).With("reason", reason) }
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, invalid(message.Say("it is no URL; characters such as @, / and %% in the password are written as %%40, %%2F and %%25"))
	case u.Scheme != "postgres" && u.Scheme != "postgresql":
		return nil, invalid(message.Say("it does not begin with postgres://"))
	}
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, invalid(message.Say("a host, port or parameter of it is not understood"))
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 10 * time.Second
	}
	for name, value := range map[string]string{
		"application_name":                    "toolcrib",
		"lock_timeout":                        "5000",
		"idle_in_transaction_session_timeout": strconv.FormatInt(2*longest.Milliseconds(), 10),
	} {
		if _, given := config.RuntimeParams[name]; !given {
			config.RuntimeParams[name] = value
		}
	}
	return config, nil
}

// serverName says which database it is, without a password.
func serverName(config *pgx.ConnConfig) string {
	host := config.Host
	if !strings.HasPrefix(host, "/") { // the directory of a socket
		host = net.JoinHostPort(host, strconv.Itoa(int(config.Port)))
	}
	return "PostgreSQL " + host + "/" + strings.TrimPrefix(config.Database, "/")
}

// keepDurable undoes a server's setting by which no commit would be durable.
func keepDurable(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'")
	return err
}

// within runs f with a connection that fails when the time of ctx is over,
// whatever context f uses it with: a statement with none would wait for as long as
// the network is silent, and the end of its transaction with it.
func (db *DB) within(ctx context.Context, f func(*sql.Conn) error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	until, _ := ctx.Deadline()
	deadline := func(t time.Time) error {
		return conn.Raw(func(c any) error {
			if c, ok := c.(*stdlib.Conn); !ok || c.Conn().PgConn().Conn().SetDeadline(t) != nil {
				return driver.ErrBadConn
			}
			return nil
		})
	}
	if err := deadline(until); err != nil {
		return err
	}
	defer func() { _ = deadline(time.Time{}) }() // or nobody uses it again
	return f(conn)
}

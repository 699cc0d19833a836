package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
)

// keptMost is how many statements a connection keeps ready.
const keptMost = 64

// connector makes connections that keep the statements that they carried out.
// To read a statement takes SQLite as long as to carry it out; the driver for
// PostgreSQL keeps them by itself.
type connector struct{ driver.Connector }

// Connect opens a connection.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err // the driver's, which database/sql knows
	}
	whole, ok := inner.(driverConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("SQLite's driver has connections of type %T", inner), inner.Close())
	}
	return &conn{driverConn: whole, kept: map[string]stmt{}}, nil
}

// driverConn is what a connection of the driver can.
type driverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.Pinger
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

// conn is a connection with its statements, which end with it. As any
// connection it is used by one goroutine at a time.
type conn struct {
	driverConn
	kept map[string]stmt
}

// stmt is a statement of the driver.
type stmt interface {
	driver.Stmt
	driver.StmtExecContext
}

// ExecContext carries a statement out. One with values is likely to come again,
// with others.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if s, ok := c.kept[query]; ok {
		return s.ExecContext(ctx, args)
	}
	if len(args) == 0 || len(c.kept) == keptMost {
		return c.driverConn.ExecContext(ctx, query, args)
	}
	prepared, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s, ok := prepared.(stmt)
	if !ok {
		return nil, errors.Join(fmt.Errorf("SQLite's driver has statements of type %T", prepared), prepared.Close())
	}
	c.kept[query] = s
	return s.ExecContext(ctx, args)
}

// Close ends the connection and its statements.
func (c *conn) Close() error {
	var errs []error
	for _, s := range c.kept {
		errs = append(errs, s.Close())
	}
	clear(c.kept)
	return errors.Join(append(errs, c.driverConn.Close())...)
}

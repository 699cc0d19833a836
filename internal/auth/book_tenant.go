package auth

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Tenant is a part of those who use the hub, who see nothing of each other's. It
// is a value.
type Tenant struct {
	Name    string // as [hub.ValidTenant] has it
	Note    string
	Created time.Time
	By      string
	Tokens  int // that are good
}

// mayManageTenants reports why somebody may not: hubwide_required or
// role_refused.
func mayManageTenants(by hub.Principal) *hub.Error {
	switch {
	case !by.Role.May(hub.MayManage):
		return hub.E(message.RoleRefused, nil, "role", roleName(by.Role))
	case !by.Hubwide():
		return hub.E(message.HubwideRequired, nil)
	}
	return nil
}

// Tenants is every tenant by name; for an administrator of the hub only, which is
// what its errors say otherwise.
func (b *Book) Tenants(ctx context.Context, by hub.Principal) ([]Tenant, error) {
	if e := mayManageTenants(by); e != nil {
		return nil, e
	}
	all := []Tenant{}
	err := each(ctx, b.db, `SELECT name, note, created, maker,
		(SELECT COUNT(*) FROM api_token WHERE tenant = name AND revoked = 0 AND (expires = 0 OR expires > $1))
		FROM tenant ORDER BY name`, []any{micro(time.Now())}, func(scan func(...any) error) error {
		var t Tenant
		var created int64
		if err := scan(&t.Name, &t.Note, &created, &t.By, &t.Tokens); err != nil {
			return err
		}
		t.Created = fromMicro(created)
		all = append(all, t)
		return nil
	})
	if err != nil {
		return nil, b.db.Err(err)
	}
	return all, nil
}

// AddTenant makes a tenant. Errors are those of [Book.Tenants], body_invalid and
// tenant_exists.
func (b *Book) AddTenant(ctx context.Context, by hub.Principal, name, note string) (Tenant, error) {
	if e := mayManageTenants(by); e != nil {
		return Tenant{}, e
	}
	switch {
	case !hub.ValidTenant(name):
		return Tenant{}, hub.E(message.BodyInvalid, nil).With("detail", message.Say("name: it must have 1 to 63 lower-case letters, digits and hyphens, no hyphen first"))
	case utf8.RuneCountInString(note) > maxNote || strings.ContainsFunc(note, unicode.IsControl):
		return Tenant{}, hub.E(message.BodyInvalid, nil).With("detail", message.Say("note: it must have at most %d characters, and no control characters", maxNote))
	}
	t := Tenant{Name: name, Note: note, Created: time.Now().UTC().Truncate(time.Microsecond), By: nameOf(by)}
	err := b.change(ctx, func(tx *sql.Tx) error {
		switch err := haveTenant(ctx, tx, name); {
		case err == nil:
			return hub.E(message.TenantExists, nil, "tenant", name)
		case !hub.IsCode(err, message.TenantUnknown):
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO tenant (name, note, created, maker) VALUES ($1, $2, $3, $4)", name, note, micro(t.Created), t.By)
		if err != nil {
			return fmt.Errorf("writing a tenant: %w", err)
		}
		return nil
	})
	return t, err
}

// RemoveTenant removes a tenant that has no token any more; its people are logged
// out. Errors are those of [Book.Tenants], tenant_unknown and tenant_in_use.
func (b *Book) RemoveTenant(ctx context.Context, by hub.Principal, name string) error {
	if e := mayManageTenants(by); e != nil {
		return e
	}
	return b.change(ctx, func(tx *sql.Tx) error {
		if name == "" {
			return unknownTenant(name)
		}
		if err := haveTenant(ctx, tx, name); err != nil {
			return err
		}
		var good int
		err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM api_token WHERE tenant = $1 AND revoked = 0 AND (expires = 0 OR expires > $2)", name, micro(time.Now())).Scan(&good)
		if err != nil {
			return fmt.Errorf("counting a tenant's tokens: %w", err)
		}
		if good > 0 {
			return hub.E(message.TenantInUse, nil, "tenant", name, "count", strconv.Itoa(good))
		}
		for _, query := range []string{
			"DELETE FROM login_session WHERE tenant = $1", "DELETE FROM api_token WHERE tenant = $1", "DELETE FROM tenant WHERE name = $1",
		} {
			if _, err := tx.ExecContext(ctx, query, name); err != nil {
				return fmt.Errorf("removing a tenant: %w", err)
			}
		}
		return nil
	})
}

// haveTenant reports tenant_unknown if there is none of the name; "" always is.
func haveTenant(ctx context.Context, tx *sql.Tx, name string) error {
	if name == "" {
		return nil
	}
	var one int
	err := tx.QueryRowContext(ctx, "SELECT 1 FROM tenant WHERE name = $1", name).Scan(&one)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return unknownTenant(name)
	case err != nil:
		return fmt.Errorf("reading a tenant: %w", err)
	}
	return nil
}

func unknownTenant(name string) *hub.Error {
	return hub.E(message.TenantUnknown, nil, "tenant", message.Quote(name))
}

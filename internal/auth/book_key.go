package auth

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"fmt"

	"github.com/toolcrib/toolcrib/internal/store"
)

// flowKeyName is what the key of the cookies of logins under way is called.
const flowKeyName = "flow"

// flowKey is what the cookies of logins under way are signed with: one key for all
// hubs on the database, made by whichever needs it first. The error is as
// [store.DB.Err] makes it.
func (b *Book) flowKey(ctx context.Context) ([]byte, error) {
	if key := b.key.Load(); key != nil {
		return *key, nil
	}
	raw := make([]byte, entropy)
	_, _ = rand.Read(raw) // never fails
	var text string
	err := b.db.Tx(ctx, store.Disk, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO login_key (name, secret) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING", flowKeyName, hex.EncodeToString(raw))
		if err != nil {
			return fmt.Errorf("writing the key of logins: %w", err)
		}
		if err := tx.QueryRowContext(ctx, "SELECT secret FROM login_key WHERE name = $1", flowKeyName).Scan(&text); err != nil {
			return fmt.Errorf("reading the key of logins: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(text)
	if err != nil || len(key) != entropy {
		return nil, b.db.Err(fmt.Errorf("the key of logins is not one: %w", errToken))
	}
	b.key.Store(&key)
	return key, nil
}

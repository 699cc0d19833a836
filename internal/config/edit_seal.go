package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/secret"
)

// Seal returns an entry, which is an object as JSON, with its secrets replaced
// by placeholders ${secret:NAME}, each after put has stored the value under
// that name: "apiKey", the secrets in "oauth", every value of "headers", and those of "env" that are
// called like a secret or look like one. What holds a placeholder already
// stays, and so does everything else.
//
// A name is made of the server's key, the member, and the name in it, and is
// the same each time. An error of put ends the work and is returned wrapped; a
// text that cannot be parsed gives [Problems].
func Seal(entry []byte, key string, put func(name, value string) error) ([]byte, error) {
	return edit(entry, func(t *tree) error {
		c := childrenOf(&t.root)
		for i := range c.len() {
			member, v := c.name(i), c.value(i)
			switch in := below(plain, member); {
			case in == inEnv || in == inHeader:
				values := childrenOf(v)
				for j := range values.len() {
					if err := sealValue(values.value(j), in, values.name(j), sealedName(key, member, values.name(j)), put); err != nil {
						return err
					}
				}
			case member == "oauth", member == "auth":
				if err := sealOAuth(v, key, member, put); err != nil {
					return err
				}
			case member == "apiKey":
				if err := sealValue(v, in, member, sealedName(key, member), put); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func sealValue(v *hujson.Value, in setting, name, under string, put func(name, value string) error) error {
	if v.Value.Kind() != '"' {
		return nil
	}
	value := textOf(v)
	if class, _ := judge(in, name, value); class != sealed || len(secret.Placeholders(value)) > 0 {
		return nil
	}
	// What is sealed is not searched for placeholders any more.
	if err := put(under, strings.ReplaceAll(value, "$${", "${")); err != nil {
		return fmt.Errorf("seal %s: %w", under, err)
	}
	v.Value = hujson.String("${secret:" + under + "}")
	return nil
}

// sealedName is the name of a sealed value. The store takes letters, digits
// and . _ - only, 128 at most; a name that had to be changed for it, or that
// another could be mistaken for, ends with a hash of what it stands for.
func sealedName(key string, path ...string) string {
	const longest, hashed = 128, 8
	name := strings.Join(append([]string{key}, path...), ".")
	fit := strings.Map(func(r rune) rune {
		if 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '_'
	}, name)
	if fit == name && len(fit) <= longest && !strings.Contains(key, ".") {
		return fit
	}
	sum := sha256.Sum256([]byte(key + "\x00" + strings.Join(path, "\x00")))
	return fit[:min(len(fit), longest-1-2*hashed)] + "-" + hex.EncodeToString(sum[:hashed])
}

// Sealed returns the names of the sealed values that a server's entry refers
// to, sorted. A text that cannot be parsed, or has no such entry, refers to
// none.
func Sealed(text []byte, key string) []string {
	t, err := plant(text)
	if err != nil {
		return nil
	}
	e, err := t.entry("", key)
	if err != nil || e == nil {
		return nil
	}
	return sealedIn(e.value())
}

// SealedBy is [Sealed] for a member of the file that is about the hub itself,
// such as "store".
func SealedBy(text []byte, member string) []string {
	t, err := plant(text)
	if err != nil {
		return nil
	}
	v := childrenOf(&t.root).member(member)
	if v == nil {
		return nil
	}
	return sealedIn(v)
}

func sealedIn(v *hujson.Value) []string {
	var names []string
	for v := range v.All() {
		if v.Value.Kind() != '"' {
			continue
		}
		for _, p := range secret.Placeholders(textOf(v)) {
			switch p.Kind {
			case secret.Stored:
				names = append(names, p.Name)
			case secret.Input:
				names = append(names, secret.InputName(p.Name))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

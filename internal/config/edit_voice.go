package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/secret"
)

// SetDialled returns the text with the entry of an endpoint or a backend, below
// "xiaozhi", set to what is given, which is an object as JSON; see [SetServer] for
// what of the text stays. The error is [Problems].
func SetDialled(text []byte, kind Dialled, name string, entry []byte) ([]byte, error) {
	given, err := plant(entry)
	if err != nil {
		return nil, err
	}
	if childrenOf(&given.root).object == nil {
		return nil, given.fail(&given.root, "%s must be an object, but is %s", quoted(name), kindOf(given.root))
	}
	return edit(text, func(t *tree) error {
		if childrenOf(&t.root).object == nil {
			return t.fail(&t.root, "the file must be an object, but is %s", kindOf(t.root))
		}
		at, l := &t.root, layout{lines: true}
		for _, member := range []string{voiceMember, string(kind)} {
			var err error
			if at, l, err = t.child(at, member, l); err != nil {
				return err
			}
		}
		t.setMember(at, name, given.root, l)
		return nil
	})
}

// RemoveDialled returns the text without the entry, and without the comments that
// belong to it. An endpoint that is in "mcpEndpoint" of xiaozhi.config.json is
// emptied there, so that those after it keep their names. It reports false, and
// returns the text as it was, if there is nothing of that name. The error is
// [Problems].
func RemoveDialled(text []byte, kind Dialled, name string) (rest []byte, found bool, err error) {
	rest, err = edit(text, func(t *tree) error {
		if v := t.dialled(kind); v != nil {
			c := childrenOf(v)
			if i := c.find(name); i >= 0 {
				found = true
				t.remove(c, i)
			}
		}
		if v := t.givenEndpoint(kind, name); v != nil {
			found = true
			v.Value = hujson.String("")
		}
		return nil
	})
	return rest, found, err
}

// DialledEntry returns what the text says about an endpoint or a backend, as an
// object in plain JSON; given to [SetDialled] it changes nothing. One that is in
// "mcpEndpoint" alone has none. The error is [Problems].
func DialledEntry(text []byte, kind Dialled, name string) (entry []byte, found bool, err error) {
	t, err := plant(text)
	if err != nil {
		return nil, false, err
	}
	v := t.dialled(kind)
	if v == nil {
		return nil, false, nil
	}
	one := childrenOf(v).member(name)
	if one == nil {
		return nil, false, nil
	}
	copied := one.Clone()
	copied.Minimize()
	return copied.Pack(), true, nil
}

// dialled is the object with the entries of the kind, or nil.
func (t *tree) dialled(kind Dialled) *hujson.Value {
	v := childrenOf(&t.root).member(voiceMember)
	if v == nil {
		return nil
	}
	return childrenOf(v).member(string(kind))
}

// givenEndpoint is the address in "mcpEndpoint" that has the name, or nil.
func (t *tree) givenEndpoint(kind Dialled, name string) *hujson.Value {
	v := childrenOf(&t.root).member("mcpEndpoint")
	if kind != Endpoints || v == nil {
		return nil
	}
	values := []*hujson.Value{v}
	if c := childrenOf(v); c.array != nil {
		values = nil
		for i := range c.len() {
			values = append(values, c.value(i))
		}
	}
	for i, one := range values {
		if givenName(i) == name && isString(*one) && textOf(one) != "" {
			return one
		}
	}
	return nil
}

// SealDialled is [Seal] for the entry of an endpoint or a backend: "token", and
// what may be a secret in "url" and "ota".
func SealDialled(entry []byte, kind Dialled, name string, put func(name, value string) error) ([]byte, error) {
	return edit(entry, func(t *tree) error {
		c := childrenOf(&t.root)
		for _, member := range []string{"url", "ota"} {
			if v := c.member(member); v != nil && isString(*v) {
				if err := sealURL(v, func(n int) string {
					if n > 0 {
						return sealedName(voiceMember, string(kind), name, member, fmt.Sprint(n+1))
					}
					return sealedName(voiceMember, string(kind), name, member)
				}, put); err != nil {
					return err
				}
			}
		}
		if v := c.member("token"); v != nil {
			return sealValue(v, inSecret, "token", sealedName(voiceMember, string(kind), name, "token"), put)
		}
		return nil
	})
}

// sealURL puts placeholders in the place of what may be a secret in an address,
// which stays the same to the byte once they are filled in. under names the n-th.
func sealURL(v *hujson.Value, under func(n int) string, put func(name, value string) error) error {
	text := textOf(v)
	_, spans := judge(plain, "url", text)
	var b strings.Builder
	at, n := 0, 0
	for _, s := range spans {
		if s = oneValue(text, s); len(secret.Placeholders(text[s.from:s.to])) > 0 {
			continue
		}
		if err := put(under(n), strings.ReplaceAll(text[s.from:s.to], "$${", "${")); err != nil {
			return fmt.Errorf("seal %s: %w", under(n), err)
		}
		b.WriteString(text[at:s.from])
		b.WriteString("${secret:" + under(n) + "}")
		at, n = s.to, n+1
	}
	if n > 0 {
		b.WriteString(text[at:])
		v.Value = hujson.String(b.String())
	}
	return nil
}

// oneValue leaves the name of the only value of a query out of a span, so that
// people see what the secret is.
func oneValue(text string, s span) span {
	if s.from == 0 || text[s.from-1] != '?' || strings.Contains(text[s.from:s.to], "&") {
		return s
	}
	if eq := strings.IndexByte(text[s.from:s.to], '='); eq >= 0 {
		s.from += eq + 1
	}
	return s
}

// SealedIn returns the names of the sealed values that a text refers to, sorted.
func SealedIn(text string) []string { return sealedIn(&hujson.Value{Value: hujson.String(text)}) }

// SealedByDialled is [Sealed] for the entry of an endpoint or a backend.
func SealedByDialled(text []byte, kind Dialled, name string) []string {
	t, err := plant(text)
	if err != nil {
		return nil
	}
	v := t.dialled(kind)
	if v == nil {
		return nil
	}
	if one := childrenOf(v).member(name); one != nil {
		return slices.Clip(sealedIn(one))
	}
	return nil
}

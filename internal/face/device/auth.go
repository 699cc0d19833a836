package device

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

const (
	// TokenLife is how long a token of a device is good.
	TokenLife = 30 * 24 * time.Hour
	// skew is how far a token may be from the future, by clocks that differ.
	skew = 5 * time.Minute
	// maxID bounds what a device calls itself.
	maxID = 128
)

// visitor is who a request says it comes from.
type visitor struct {
	id, client, token string
}

// identify reads who a request comes from: from its headers or, since browsers
// cannot set these, from its query.
func identify(r *http.Request) (visitor, *hub.Error) {
	query := r.URL.Query()
	read := func(header string) string {
		if v := r.Header.Get(header); v != "" {
			return v
		}
		return query.Get(strings.ToLower(header))
	}
	v := visitor{id: strings.TrimSpace(read("Device-Id")), client: strings.TrimSpace(read("Client-Id"))}
	v.token = bare(read("Authorization"))
	if !nameable(v.id) || v.client != "" && !nameable(v.client) {
		return visitor{}, hub.E(message.DeviceNameless, nil)
	}
	return v, nil
}

// bare is a token without the word that may stand before it.
func bare(shown string) string {
	shown = strings.TrimSpace(shown)
	if scheme, token, ok := strings.Cut(shown, " "); ok && strings.EqualFold(scheme, "bearer") {
		return strings.TrimSpace(token)
	}
	return shown
}

// madeHere reports whether what was shown has the form of the hub's own tokens, whether
// or not it is good.
func madeHere(shown string) bool {
	mac, ts, ok := strings.Cut(bare(shown), ".")
	if !ok {
		return false
	}
	sum, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(mac, "="))
	if err != nil || len(sum) != sha256.Size {
		return false
	}
	_, err = strconv.ParseInt(ts, 10, 64)
	return err == nil
}

// nameable reports whether a text may be an id: something that can be seen, in one
// piece.
func nameable(id string) bool {
	return id != "" && len(id) <= maxID && !strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c == 0x7f || c == '|' || c > 0x7e })
}

// admit reports whether who is there may come in, and whether that is so because he
// needs no token.
func (d *Door) admit(r *http.Request, v visitor) (trusted bool, refused *hub.Error) {
	if verify(d.opt.Key, v, time.Now()) {
		return false, nil
	}
	// A page from elsewhere can say that it is any device, and a browser lets it
	// connect to anywhere: it has to have a token.
	if allows(d.settings(), v.id) && !foreign(r) {
		return true, nil
	}
	return false, hub.E(message.DeviceRefused, nil, "device", v.id)
}

// allows reports whether a device needs no token.
func allows(conf hub.Devices, id string) bool {
	return slices.ContainsFunc(conf.Allow, func(known string) bool { return strings.EqualFold(known, id) })
}

// foreign reports whether a request is of a page that comes neither from this
// machine nor from the host that it is sent to.
func foreign(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	from, err := url.Parse(origin)
	if err != nil || from.Hostname() == "" {
		return true
	}
	return !hub.IsLoopback(from.Hostname()) && !(addressed(r) && strings.EqualFold(from.Hostname(), hostOf(r)))
}

// addressed reports whether a request was sent to an address, or to this machine by
// its own name: to nothing that somebody else could have pointed here.
func addressed(r *http.Request) bool {
	return hub.IsLoopback(hostOf(r)) || net.ParseIP(hostOf(r)) != nil
}

// hostOf is the host that a request was sent to, without its port.
func hostOf(r *http.Request) string {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.Trim(host, "[]")
}

// sign makes the token of a device, and of a program on it, at a moment.
func sign(key []byte, id, client string, at time.Time) string {
	ts := strconv.FormatInt(at.Unix(), 10)
	return signature(key, id, client, ts) + "." + ts
}

func signature(key []byte, id, client, ts string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(strings.ToLower(client) + "|" + strings.ToLower(id) + "|" + ts))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// verify reports whether a visitor shows a token that is his and good now. One that
// was made for no program is good for each on the device.
func verify(key []byte, v visitor, now time.Time) bool {
	mac, ts, ok := strings.Cut(v.token, ".")
	if !ok || len(key) == 0 {
		return false
	}
	mac = strings.TrimRight(mac, "=")
	seconds, err := strconv.ParseInt(ts, 10, 64)
	if err != nil {
		return false
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > TokenLife || age < -skew {
		return false
	}
	own := hmac.Equal([]byte(mac), []byte(signature(key, v.id, v.client, ts)))
	any := hmac.Equal([]byte(mac), []byte(signature(key, v.id, "", ts)))
	return own || any
}

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
// or not it is good: alone, or behind the id that it was made for, as endpoint pairs have
// it.
func madeHere(shown string) bool {
	parts := strings.Split(bare(shown), ".")
	if len(parts) < 2 {
		return false
	}
	mac, ts := parts[len(parts)-2], parts[len(parts)-1]
	sum, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(mac, "="))
	if err != nil || len(sum) != sha256.Size {
		return false
	}
	_, err = strconv.ParseInt(ts, 10, 64)
	return err == nil
}

// Nameable reports whether a device, or a program of one, can have the id.
func Nameable(id string) bool { return nameable(id) }

// nameable reports whether a text may be an id: something that can be seen, in one
// piece.
func nameable(id string) bool {
	return id != "" && len(id) <= maxID && !strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c == 0x7f || c == '|' || c > 0x7e })
}

// pass is what a visitor was let in by. It is to be looked at again once he is in, since
// it may have been taken away meanwhile.
type pass struct {
	listed bool   // he is on the list of those that need no token
	epoch  string // at that time
}

// admit reports whether who is there may come in.
func (d *Door) admit(r *http.Request, v visitor) (pass, *hub.Error) {
	epoch := d.opt.Epochs.of(v.id)
	made := verify(d.opt.Key, epoch, v, time.Now())
	if made == byHand {
		return pass{epoch: epoch}, nil
	}
	// A page from elsewhere can say that it is any device, and a browser lets it
	// connect to anywhere: it has to have a token.
	if allows(d.settings(), v.id) && (made == byOTA || !foreign(r)) {
		return pass{listed: true, epoch: epoch}, nil
	}
	return pass{}, hub.E(message.DeviceRefused, nil, "device", v.id)
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

// made is how a token came about, which its signature says.
type made string

const (
	badly  made = ""    // it is none, or not good
	byHand made = "own" // an administrator made it: it is good by itself
	byOTA  made = "ota" // the device asked for it: it is good while the device needs none
)

// sign makes the token of a device, and of a program on it, at a moment.
func sign(key []byte, how made, epoch, id, client string, at time.Time) string {
	ts := strconv.FormatInt(at.Unix(), 10)
	return signature(key, how, epoch, id, client, ts) + "." + ts
}

func signature(key []byte, how made, epoch, id, client, ts string) string {
	said := strings.ToLower(client) + "|" + strings.ToLower(id) + "|" + ts
	if epoch != "" || how != byHand { // none of the parts has the line that stands between them
		said += "|" + epoch
	}
	if how != byHand {
		said += "|" + string(how)
	}
	h := hmac.New(sha256.New, key)
	h.Write([]byte(said))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// verify reports how the token came about that a visitor shows, if it is his and good
// now. One that was made for no program is good for each on the device.
func verify(key []byte, epoch string, v visitor, now time.Time) made {
	mac, ts, ok := strings.Cut(v.token, ".")
	if !ok || len(key) == 0 {
		return badly
	}
	mac = strings.TrimRight(mac, "=")
	seconds, err := strconv.ParseInt(ts, 10, 64)
	if err != nil {
		return badly
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > TokenLife || age < -skew {
		return badly
	}
	found := badly
	for _, how := range [...]made{byOTA, byHand} {
		for _, client := range [...]string{v.client, ""} {
			if hmac.Equal([]byte(mac), []byte(signature(key, how, epoch, v.id, client, ts))) {
				found = how
			}
		}
	}
	return found
}

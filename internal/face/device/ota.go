package device

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// allowedHeaders are the ones that pages of other origins may send along.
const allowedHeaders = "device-id, client-id, authorization, content-type, activation-version, accept-language, serial-number"

// otaAnswer is what a device is told: its backend, and what time it is. There is no
// firmware and no other way to connect, which devices would prefer.
type otaAnswer struct {
	WebSocket struct {
		URL   string `json:"url"`
		Token string `json:"token,omitempty"`
	} `json:"websocket"`
	ServerTime struct {
		Timestamp int64 `json:"timestamp"`       // ms
		Offset    int   `json:"timezone_offset"` // minutes
	} `json:"server_time"`
}

// ota tells a device where to connect. A token is given only to those that would be
// let in without one, for as long as that is so, and to no page that has only said so:
// one that reaches the hub by a name of its own is of the same origin, and shows none.
func (d *Door) ota(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Headers", allowedHeaders)
	h.Set("Access-Control-Allow-Methods", "GET, POST, OPTIONS")
	switch r.Method {
	case http.MethodOptions:
		w.WriteHeader(http.StatusNoContent)
		return
	case http.MethodGet, http.MethodPost:
	default:
		d.refuseMethod(w, r, "GET, POST, OPTIONS")
		return
	}
	v, fault := identify(r)
	if fault != nil {
		d.refuse(w, r, http.StatusBadRequest, fault)
		return
	}
	conf, now := d.settings(), time.Now()
	var a otaAnswer
	a.WebSocket.URL = conf.Websocket
	if a.WebSocket.URL == "" {
		a.WebSocket.URL = here(r)
	}
	if allows(conf, v.id) && !foreign(r) && (addressed(r) || sameHost(conf.Websocket, r)) {
		a.WebSocket.Token = sign(d.opt.Key, byOTA, d.opt.Epochs.of(v.id), v.id, v.client, now)
	}
	_, offset := now.Zone()
	a.ServerTime.Timestamp, a.ServerTime.Offset = now.UnixMilli(), offset/60
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(a) // whom it was for may be gone
}

// sameHost reports whether a request was sent to the host of an address.
func sameHost(address string, r *http.Request) bool {
	u, err := url.Parse(address)
	return err == nil && u.Hostname() != "" && strings.EqualFold(u.Hostname(), hostOf(r))
}

// here is the address of the WebSocket, at the host that the request was sent to.
func here(r *http.Request) string {
	u := url.URL{Scheme: "ws", Host: r.Host, Path: PathSocket}
	if r.TLS != nil {
		u.Scheme = "wss"
	}
	return u.String()
}

package xiaozhi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	words "github.com/toolcrib/toolcrib/internal/xiaozhi"
)

// maxDiscovery is how many bytes the answer may have that says where a backend is.
const maxDiscovery = 64 << 10

// wheretoBackend finds out where a backend is, by asking if need be, and as whom the
// hub connects to it.
func (e *endpoint) wheretoBackend(ctx context.Context, def *definition) (whereabouts, ending) {
	b := def.device
	token, values, err := e.set.opt.Resolve(b.Token)
	if err != nil {
		return whereabouts{}, ending{reason: hub.E(message.BackendTokenUnusable, err, "backend", e.name).With("detail", message.Cause(err))}
	}
	device, client, err := e.set.identities.of(b)
	if err != nil {
		return whereabouts{}, ending{reason: hub.E(message.DataDirUnusable, err, "path", e.set.identities.path).With("detail", message.Cause(err))}
	}
	address := b.URL
	var secrets []string
	if address == "" {
		found, asked, end := e.discover(ctx, b.OTA, words.DeviceHeader(device, client, token))
		if end.reason != nil {
			return whereabouts{}, end
		}
		address, secrets = found.URL, append(secrets, asked...)
		if token == "" {
			token = found.Token
		}
	}
	// What was discovered is another's text: it has no placeholders of this hub's.
	resolve := e.resolve
	if b.URL == "" {
		resolve = func(address string) (string, []string, *hub.Error) { return e.checked(address, nil) }
	}
	address, its, fault := resolve(address)
	if fault != nil {
		return whereabouts{}, ending{reason: fault}
	}
	secrets = ordered(append(append(append(secrets, token), its...), values...))
	if b.Query {
		return whereabouts{address: withDevice(address, device, client, token), secrets: secrets}, ending{}
	}
	return whereabouts{address: address, header: words.DeviceHeader(device, client, token), secrets: secrets}, ending{}
}

// withDevice is an address that says in its query who the device is, as browsers have
// to. What stands there already stays as it is.
func withDevice(address, device, client, token string) string {
	address, _, _ = strings.Cut(address, "#")
	between := "?"
	if strings.Contains(address, "?") {
		between = "&"
	}
	address += between + "device-id=" + url.QueryEscape(device) + "&client-id=" + url.QueryEscape(client)
	if token != "" {
		address += "&authorization=" + url.QueryEscape(words.Bearer(token))
	}
	return address
}

// discover asks where the backend is. Asked is what of the address that it asks at
// must stand in no text.
func (e *endpoint) discover(ctx context.Context, ota string, header http.Header) (found words.Discovered, asked []string, _ ending) {
	failed := func(err error, detail message.Phrase) (words.Discovered, []string, ending) {
		return words.Discovered{}, nil, ending{reason: hub.E(message.BackendUndiscovered, err, "backend", e.name).With("detail", detail)}
	}
	filled, values, err := e.set.opt.Resolve(ota)
	if err != nil {
		return failed(err, message.Cause(err))
	}
	address := trimmed(filled)
	asked = append(words.Secrets(address, values...), header.Get("Authorization"), strings.TrimPrefix(header.Get("Authorization"), "Bearer "))
	asked = ordered(asked)
	var server struct{ Name, Version string }
	_ = json.Unmarshal(e.set.opt.ServerInfo, &server) // the hub's own
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(deviceReport(header, server.Name, server.Version)))
	if err != nil {
		return failed(nil, causeOf(err, asked))
	}
	req.Header = header.Clone()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", server.Name+"/"+server.Version)
	req.Header.Set("Accept-Language", languageTag(e.language()))
	req.Header.Set("Activation-Version", "1")
	res, err := e.set.client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			err = errLate
		}
		return failed(nil, causeOf(err, asked))
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		_, _, end := failed(nil, message.Say("the answer is the HTTP status %d", res.StatusCode))
		if end.kind = words.OfStatus(res.StatusCode); end.kind == words.EndingAuth {
			end.reason = hub.E(message.BackendAuth, nil, "backend", e.name)
		}
		return words.Discovered{}, nil, end
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxDiscovery))
	if err != nil {
		return failed(nil, causeOf(err, asked))
	}
	found, ok := words.ParseDiscovery(raw)
	if found.Code != "" {
		e.journal.add(hub.LevelInfo, "the backend does not know this device yet; enter this code in its console: "+message.Quote(found.Code))
	}
	if !ok {
		return failed(nil, message.Say("there is no address in the answer"))
	}
	return found, asked, ending{}
}

// ordered are secrets as [words.Redact] wants them: the longest first, none empty.
func ordered(all []string) []string {
	all = slices.DeleteFunc(all, func(s string) bool { return s == "" })
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// deviceReport is what a device says of itself where it asks for its backend.
func deviceReport(header http.Header, name, version string) []byte {
	device := header.Get("Device-Id")
	raw, _ := json.Marshal(map[string]any{ // of texts
		"version": 2, "mac_address": device, "uuid": header.Get("Client-Id"),
		"application": map[string]string{"name": name, "version": version},
		"board":       map[string]string{"type": name, "name": name, "mac": device},
	})
	return raw
}

func languageTag(l message.Lang) string {
	if l == message.Chinese {
		return "zh-CN"
	}
	return string(l)
}

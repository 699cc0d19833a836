package device

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

const (
	maxPicture  = 1 << 20 // bytes of a picture
	maxForm     = maxPicture + 16<<10
	maxQuestion = 4 << 10
	maxPictures = 4 // of a device at once
	keepPicture = 2 * time.Minute
)

// Firmware takes a picture, sends it to an address that it was given, and has as its
// tool's result what it is answered there. The hub has nobody who could look at the
// picture, but whoever has called the tool has: the answer is a name for the picture,
// by which the picture takes its place in the result when that comes.

// picture is one that a device has sent.
type picture struct {
	kind     string // media type
	data     []byte
	question string
	until    time.Time
}

// says is what stands before the picture in the result.
func (p *picture) says() string {
	if p.question == "" {
		return "[picture]"
	}
	return "[picture] " + p.question
}

// pictures are those of one connection, for as long as nobody has had them. Safe for
// concurrent use.
type pictures struct {
	mu     sync.Mutex
	secret string
	names  []string // oldest first
	kept   map[string]picture
}

// token is what the device shows when it sends a picture. It is good for this
// connection.
func (p *pictures) token() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.secret == "" {
		p.secret = rand.Text()
	}
	return p.secret
}

// fits reports whether a token is the one.
func (p *pictures) fits(token string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.secret != "" && subtle.ConstantTimeCompare([]byte(token), []byte(p.secret)) == 1
}

// put keeps a picture for a while, and names it.
func (p *pictures) put(one picture) (name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil {
		p.kept = make(map[string]picture)
	}
	for len(p.names) > 0 && (len(p.names) >= maxPictures || time.Now().After(p.kept[p.names[0]].until)) {
		delete(p.kept, p.names[0])
		p.names = p.names[1:]
	}
	name = "picture-" + rand.Text()
	p.names = append(p.names, name)
	p.kept[name] = one
	return name
}

// take returns the picture that a text names, once.
func (p *pictures) take(text string) (picture, bool) {
	if p == nil || !strings.Contains(text, "picture-") {
		return picture{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, name := range p.names {
		if strings.Contains(text, name) {
			one := p.kept[name]
			delete(p.kept, name)
			p.names = append(p.names[:i:i], p.names[i+1:]...)
			return one, time.Now().Before(one.until)
		}
	}
	return picture{}, false
}

// vision takes a picture of a device that is here.
func (d *Door) vision(w http.ResponseWriter, r *http.Request) {
	if d.settings().Vision == "" {
		d.unknown(w, r)
		return
	}
	if r.Method != http.MethodPost {
		d.refuseMethod(w, r, http.MethodPost)
		return
	}
	v, fault := identify(r)
	if fault != nil {
		d.refuse(w, r, http.StatusBadRequest, fault)
		return
	}
	d.mu.Lock()
	dev := d.devices[strings.ToLower(v.id)]
	var l *link
	if dev != nil {
		l = dev.link
	}
	d.mu.Unlock()
	if l == nil || !l.picture.fits(v.token) {
		d.refuse(w, r, http.StatusUnauthorized, hub.E(message.DeviceRefused, nil, "device", v.id))
		return
	}
	one, status, fault := readPicture(w, r)
	if fault != nil {
		d.refuse(w, r, status, fault)
		return
	}
	name := l.picture.put(one)
	dev.book.add(hub.LevelInfo, "sent a picture")
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"success": true, "picture": name}) // whom it is for may be gone
}

// readPicture reads a form with a file, which is a picture, and a question.
func readPicture(w http.ResponseWriter, r *http.Request) (picture, int, *hub.Error) {
	tooBig := func() (picture, int, *hub.Error) {
		return picture{}, http.StatusRequestEntityTooLarge, hub.E(message.PictureTooBig, nil, "limit", strconv.Itoa(maxPicture))
	}
	bad := func(what message.Phrase) (picture, int, *hub.Error) {
		return picture{}, http.StatusBadRequest, hub.E(message.PictureRefused, nil).With("detail", what)
	}
	if r.ContentLength > maxForm {
		return tooBig()
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	form, err := r.MultipartReader()
	if err != nil {
		return bad(message.Say("it is no form with a file"))
	}
	one := picture{until: time.Now().Add(keepPicture)}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		var data []byte
		if err == nil {
			limit := int64(maxQuestion)
			if part.FileName() != "" || part.FormName() == "file" {
				limit = maxPicture + 1
			}
			data, err = io.ReadAll(io.LimitReader(part, limit))
		}
		if _, large := errors.AsType[*http.MaxBytesError](err); large || len(data) > maxPicture {
			return tooBig()
		}
		switch {
		case err != nil:
			return bad(message.Say("the form is not whole"))
		case part.FormName() == "question":
			one.question = strings.ToValidUTF8(string(data), "")
		case part.FormName() == "file":
			one.data = data
		}
	}
	if one.kind = http.DetectContentType(one.data); len(one.data) == 0 || !strings.HasPrefix(one.kind, "image/") {
		return bad(message.Say("there is no picture in it"))
	}
	return one, 0, nil
}

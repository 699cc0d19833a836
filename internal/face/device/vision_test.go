package device_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/face/device"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/test/voice"
)

// form is a picture as firmware sends it.
func form(t *testing.T, question string, data []byte) (body, kind string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	_ = w.WriteField("question", question)
	part, err := w.CreateFormFile("file", "camera.jpg")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write(data)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), w.FormDataContentType()
}

var jpeg = append([]byte{0xff, 0xd8, 0xff, 0xe0}, "a picture"...) //nolint:gochecknoglobals // a constant

// visionOf is what a device was told of where to send pictures.
func visionOf(t *testing.T, s *voice.DeviceSocket) (url, token string) {
	t.Helper()
	var e struct {
		Payload struct {
			Params struct {
				Capabilities struct {
					Vision struct{ URL, Token string }
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(s.Hear(t.Context(), `"initialize"`)), &e); err != nil {
		t.Fatal(err)
	}
	return e.Payload.Params.Capabilities.Vision.URL, e.Payload.Params.Capabilities.Vision.Token
}

// Requirement 38: a device is told of vision only if that is configured.
func TestRequirement38NotConfigured(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, usual())
		s := h.here(voice.FW(mac))
		if text := s.Hear(t.Context(), `"initialize"`); strings.Contains(text, "vision") {
			t.Error(text)
		}
		body, kind := form(t, "what?", jpeg)
		if status, _, _ := h.request(http.MethodPost, device.PathVision, body, "Content-Type", kind, "Device-Id", mac); status != 404 {
			t.Errorf("HTTP %d", status)
		}
	})
}

// Requirement 38: the picture of a device takes its place in the result of the call,
// once; only the device itself can send one, and none that is too large.
func TestRequirement38Picture(t *testing.T) {
	in(t, func(t *testing.T) {
		conf := usual()
		conf.Vision = "http://" + host + device.PathVision
		h := open(t, conf)
		d := voice.FW(mac)
		s := h.here(d)
		url, token := visionOf(t, s)
		if url != conf.Vision || token == "" {
			t.Fatalf("%q %q", url, token)
		}
		send := func(token, question string, data []byte) (int, string) {
			body, kind := form(t, question, data)
			status, _, said := h.request(http.MethodPost, device.PathVision, body, "Content-Type", kind, "Device-Id", mac, "Authorization", "Bearer "+token)
			return status, said
		}
		kept := ""
		d.Run = func(_ string, arguments json.RawMessage) string {
			var a struct{ Question string }
			if err := json.Unmarshal(arguments, &a); err != nil {
				t.Error(err)
			}
			if kept == "" {
				_, kept = send(token, a.Question, jpeg)
			}
			text, err := json.Marshal(kept)
			if err != nil {
				t.Error(err)
			}
			return `"result":{"content":[{"type":"text","text":` + string(text) + `}],"isError":false}`
		}
		photo := alias + "__self.camera.take_photo"
		want := `{"content":[{"type":"text","text":"[picture] What is \"this\"?"},{"type":"image","data":"` + base64.StdEncoding.EncodeToString(jpeg) + `","mimeType":"image/jpeg"}],"isError":false}`
		if a := h.ask(photo, `{"question":"What is \"this\"?"}`); a.result != want {
			t.Errorf("%s %v", a.result, a.err)
		}
		if a := h.ask(photo, `{"question":"again?"}`); !strings.Contains(a.result, "picture-") || strings.Contains(a.result, "image/jpeg") {
			t.Errorf("a picture is there twice: %s", a.result)
		}
		refused, large := hub.E(message.DeviceRefused, nil, "device", mac), hub.E(message.PictureTooBig, nil, "limit", "1048576")
		none := hub.E(message.PictureRefused, nil, "detail", "there is no picture in it")
		for name, tc := range map[string]struct {
			token  string
			data   []byte
			status int
			fault  *hub.Error
		}{
			"no token":        {"", jpeg, 401, refused},
			"another token":   {"x" + token[1:], jpeg, 401, refused},
			"the own token":   {h.door.Token(mac, ""), jpeg, 401, refused},
			"too large":       {token, append(bytes.Clone(jpeg), make([]byte, 1<<20)...), 413, large},
			"much too large":  {token, append(bytes.Clone(jpeg), make([]byte, 8<<20)...), 413, large},
			"no picture":      {token, []byte("<script>"), 400, none},
			"nothing in it":   {token, nil, 400, none},
			"a sound picture": {token, jpeg, 200, nil},
		} {
			if status, said := send(tc.token, "", tc.data); status != tc.status || tc.fault != nil && strings.TrimSpace(said) != tc.fault.In(message.English) {
				t.Errorf("%s: HTTP %d %s", name, status, said)
			}
		}
		if status, _, _ := h.request(http.MethodPost, device.PathVision, "x", "Device-Id", mac, "Authorization", "Bearer "+token); status != 400 {
			t.Errorf("no form: HTTP %d", status)
		}
		_, kept = send(token, "old", jpeg)
		time.Sleep(3 * time.Minute)
		if a := h.ask(photo, `{"question":"old?"}`); strings.Contains(a.result, "image/jpeg") {
			t.Errorf("an old picture is kept: %s", a.result)
		}
		s.Drop()
		time.Sleep(time.Second)
		if status, _ := send(token, "", jpeg); status != 401 {
			t.Errorf("of a device that has gone: HTTP %d", status)
		}
	})
}

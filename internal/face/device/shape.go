package device

import (
	"bytes"
	"encoding/base64"
	"mime"
	"regexp"
	"strings"

	"github.com/toolcrib/toolcrib/internal/wire"
)

// maxImage is how large a picture in a text may be, in bytes of Base64. What is larger
// stays a text.
const maxImage = 1 << 20

// dataURL is a picture in a text, as browsers write it.
var dataURL = regexp.MustCompile(`data:(image/[a-zA-Z0-9.+-]{1,40});base64,([A-Za-z0-9+/]+={0,2})`)

// shape makes a device's result one that clients of MCP read:
//
//   - what is no result of a tool, such as a bare number, is its text;
//   - a picture as firmware has it, which is JSON in a text, is one of MCP's;
//   - so is one that is in a text as a data: URL, where "[picture]" stands then;
//   - and one that the device has sent while the tool ran, to which the text refers.
//
// Everything else stays as it came, to the byte.
func shape(result []byte, sent *pictures) []byte {
	whole := wire.Value(result)
	content := wire.Lookup(result, whole, "content")
	if len(result) == 0 || result[0] != '{' || !content.Exists() || result[content.Start] != '[' {
		text := string(result)
		if len(result) > 0 {
			if s, ok := wire.String(result, whole); ok {
				text = s
			}
		}
		return append(appendText([]byte(`{"content":[`), text), `],"isError":false}`...)
	}
	var edits []wire.Edit
	for at := range wire.Array(result, content) {
		if item := shapeItem(result, at, sent); item != nil {
			edits = append(edits, wire.Replace(at, item))
		}
	}
	if len(edits) == 0 {
		return result
	}
	return wire.Splice(result, edits...)
}

// shapeItem is what stands in the place of an item of the content, which may be
// several; nil if it stays.
func shapeItem(raw []byte, item wire.Span, sent *pictures) []byte {
	kind, _ := wire.String(raw, wire.Lookup(raw, item, "type"))
	switch kind {
	case "image":
		if wire.Lookup(raw, item, "data").Exists() {
			return nil
		}
		return firmwareImage(raw, wire.Lookup(raw, item, "image"))
	case "text":
		text, ok := wire.String(raw, wire.Lookup(raw, item, "text"))
		if !ok {
			return nil
		}
		if p, ok := sent.take(text); ok {
			return appendImage(append(appendText(nil, p.says()), ','), p.kind, base64.StdEncoding.EncodeToString(p.data))
		}
		return textWithImages(text)
	}
	return nil
}

// firmwareImage is a picture from JSON in a text, or an object; nil if it is none.
func firmwareImage(raw []byte, at wire.Span) []byte {
	inner := at.Of(raw)
	if text, ok := wire.String(raw, at); ok {
		inner = []byte(text)
	}
	if wire.Valid(inner, wire.Limits{}) != nil {
		return nil
	}
	whole := wire.Value(inner)
	data, ok := wire.String(inner, wire.Lookup(inner, whole, "data"))
	kind, named := wire.String(inner, wire.Lookup(inner, whole, "mimeType"))
	if !ok || !named || !isPicture(kind) || !isBase64(data) {
		return nil
	}
	return appendImage(nil, kind, data)
}

// textWithImages is a text without the pictures in it, and these after it; nil if
// there are none.
func textWithImages(text string) []byte {
	if !strings.Contains(text, "data:image/") {
		return nil
	}
	var images []byte
	rest := dataURL.ReplaceAllStringFunc(text, func(url string) string {
		found := dataURL.FindStringSubmatch(url)
		if len(found[2]) > maxImage || !isBase64(found[2]) {
			return url
		}
		images = appendImage(append(images, ','), found[1], found[2])
		return "[picture]"
	})
	if images == nil {
		return nil
	}
	if strings.TrimSpace(rest) == "[picture]" {
		return images[1:]
	}
	return append(appendText(nil, rest), images...)
}

func appendText(dst []byte, text string) []byte {
	return append(wire.AppendString(append(dst, `{"type":"text","text":`...), text), '}')
}

func appendImage(dst []byte, kind, data string) []byte {
	dst = wire.AppendString(append(dst, `{"type":"image","data":`...), data)
	return append(wire.AppendString(append(dst, `,"mimeType":`...), kind), '}')
}

// isPicture reports whether a media type is that of a picture.
func isPicture(kind string) bool {
	name, _, err := mime.ParseMediaType(kind)
	return err == nil && strings.HasPrefix(name, "image/")
}

// isBase64 reports whether a text is that of some bytes.
func isBase64(text string) bool {
	if text == "" {
		return false
	}
	_, err := base64.StdEncoding.DecodeString(text)
	return err == nil && !bytes.ContainsAny([]byte(text), "\r\n")
}

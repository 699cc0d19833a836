package message

import (
	"strconv"
	"strings"
)

// Lang is a language of the catalogue.
type Lang string

// The languages of the catalogue. English is the fallback.
const (
	English Lang = "en"
	Chinese Lang = "zh"
)

// FromHeader returns the language of the catalogue that an Accept-Language
// header prefers (RFC 9110, section 12.5.4), or that a locale such as
// zh_CN.UTF-8 names; English if it names none.
func FromHeader(value string) Lang { return Prefer(value, English) }

// Prefer is [FromHeader] with another language in place of English for what
// names none. Of languages that are equally wanted it is the first; one that is
// said to be unwanted ("q=0") is taken only if there is no other.
func Prefer(value string, otherwise Lang) Lang {
	if otherwise == "" {
		otherwise = English
	}
	if value == "" {
		return otherwise
	}
	english, chinese := unsaid, unsaid // how much each is wanted
	best, most := otherwise, 0
	for part := range strings.SplitSeq(value, ",") {
		name, params, _ := strings.Cut(part, ";")
		lang, ok := ofRange(strings.TrimSpace(name))
		if !ok {
			continue
		}
		q, ok := quality(params)
		if !ok {
			continue
		}
		weight := &english
		if lang == Chinese {
			weight = &chinese
		}
		*weight = max(*weight, q)
		if q > most {
			best, most = lang, q
		}
	}
	switch {
	case most > 0:
	case english == 0 && chinese == unsaid: // anything but this one
		return Chinese
	case chinese == 0 && english == unsaid:
		return English
	}
	return best
}

const unsaid = -1

// ofRange is the language that a language range such as zh-Hans-CN, or a locale,
// belongs to.
func ofRange(name string) (Lang, bool) {
	if at := strings.IndexAny(name, "-_.@"); at >= 0 {
		name = name[:at]
	}
	switch strings.ToLower(name) {
	case "zh", "cmn":
		return Chinese, true
	case "en":
		return English, true
	}
	return "", false
}

// quality is the weight, in thousandths, that the parameters of a language range
// give it; false if that is none.
func quality(params string) (int, bool) {
	if strings.TrimSpace(params) == "" {
		return 1000, true
	}
	name, value, _ := strings.Cut(params, "=")
	if !strings.EqualFold(strings.TrimSpace(name), "q") {
		return 0, false
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || !(q >= 0 && q <= 1) { // also what is no number
		return 0, false
	}
	return int(q * 1000), true
}

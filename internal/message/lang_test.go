package message_test

import (
	"testing"

	"github.com/toolcrib/toolcrib/internal/message"
)

func TestFromHeader(t *testing.T) {
	for value, want := range map[string]message.Lang{
		"zh-CN,zh;q=0.9,en": message.Chinese, "zh_CN.UTF-8": message.Chinese, " ZH": message.Chinese, "zh-Hant-TW": message.Chinese,
		"en-US,zh": message.English, "": message.English, "C.UTF-8": message.English, "zh_CN:en": message.Chinese,

		"en;q=0.5, zh;q=0.8":      message.Chinese,
		"zh;q=0.3,en;q=0.7":       message.English,
		"zh;q=0.7,en;q=0.7":       message.Chinese, // the first of equals
		"fr, zh;q=0.1":            message.Chinese, // of what there is
		"fr;q=0.9, de":            message.English,
		"zh;q=0, en;q=0.1":        message.English,
		"en;q=0":                  message.Chinese, // anything but that
		"en;q=0, zh;q=0":          message.English,
		"zh ; Q=0.5 , en ; q=0.4": message.Chinese,
		"zh;q=x, en;q=0.1":        message.English, // what is no weight is not looked at
		"zh;q=2, en;q=0.1":        message.English,
		"zh;q=NaN, en;q=0.1":      message.English,
		"zh;level=1, en;q=0.1":    message.English,
		"*;q=0.5, zh;q=0.4":       message.Chinese,
		"*":                       message.English,
		"zha, zhx-CN":             message.English, // other languages
		",,;;q=,en;;q=1,zh":       message.Chinese,
	} {
		if got := message.FromHeader(value); got != want {
			t.Errorf("FromHeader(%q) = %q", value, got)
		}
	}
}

func TestPrefer(t *testing.T) {
	for _, test := range []struct {
		value           string
		otherwise, want message.Lang
	}{
		{"", message.Chinese, message.Chinese},
		{"", "", message.English},
		{"fr", message.Chinese, message.Chinese},
		{"en", message.Chinese, message.English},
		{"zh;q=0", message.Chinese, message.English},
	} {
		if got := message.Prefer(test.value, test.otherwise); got != test.want {
			t.Errorf("Prefer(%q, %q) = %q", test.value, test.otherwise, got)
		}
	}
}

func FuzzPrefer(f *testing.F) {
	f.Add("zh-CN,zh;q=0.9,en;q=0.8")
	f.Add("en;q=0, *;q=0.001")
	f.Fuzz(func(t *testing.T, value string) {
		if got := message.Prefer(value, message.Chinese); got != message.English && got != message.Chinese {
			t.Errorf("Prefer(%q) = %q", value, got)
		}
	})
}

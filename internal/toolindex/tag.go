package toolindex

import (
	"slices"
	"strings"
	"unicode"

	"github.com/toolcrib/toolcrib/internal/wire"
)

// Tag is a word for what a tool is about, or for what its server says of it. An
// index that was imported may have others than these.
type Tag string

// The tags by what a tool is about.
const (
	TagNotification Tag = "notification" // tells people something
	TagEmergency    Tag = "emergency"    // is for when lives or things are in danger
	TagNavigation   Tag = "navigation"   // moves something to a place, or finds the way
	TagPerception   Tag = "perception"   // sees, hears or measures
)

// The tags by the annotations that its server gave, where they are literally
// true.
const (
	TagReadOnly    Tag = "read-only"
	TagDestructive Tag = "destructive"
	TagIdempotent  Tag = "idempotent"
	TagOpenWorld   Tag = "open-world"
)

// vocabulary are the words by which a tag is given: in English as a whole word,
// or as words in a row; in Chinese wherever they stand.
type vocabulary struct {
	tag      Tag
	words    []string
	unless   []string // with one of these in the text it is about something else
	chinese  []string
	unlessZH []string
}

// vocabularies leave out words that are as often about something else: what is
// detected may be fraud, what is pushed a commit, and what is moved a file.
func vocabularies() []vocabulary {
	return []vocabulary{
		{
			tag: TagNotification,
			words: []string{
				"notify", "notifies", "notification", "notifications", "reminder", "reminders", "remind", "announce", "announcement",
				"send alert", "send an alert", "send message", "send a message", "push message", "send sms",
			},
			chinese: []string{"通知", "提醒", "播报", "推送消息", "消息推送", "发送消息", "发送短信"},
		},
		{
			tag: TagEmergency,
			words: []string{
				"emergency", "emergencies", "sos", "e stop", "estop", "evacuate", "evacuation", "rescue", "distress signal",
				"fire alarm", "panic button", "ambulance",
			},
			chinese: []string{"紧急", "急救", "报警", "警报", "火警", "求救", "求助", "应急", "救援", "急停"},
		},
		{
			tag: TagNavigation,
			words: []string{
				"navigate", "navigates", "navigation", "waypoint", "waypoints", "get directions", "maps directions",
				"driving directions", "walking directions", "plan route", "plan a route", "route planning", "path planning",
				"go to location", "drive to", "fly to", "return to dock", "charging dock",
			},
			unless:   []string{"url", "urls", "browser", "page", "pages", "web", "website", "menu", "tab"},
			chinese:  []string{"导航", "路线", "路径规划", "前往", "行驶", "返航", "回充", "移动到指定位置", "移动到目标"},
			unlessZH: []string{"导航栏", "网页", "网址", "浏览器", "页面", "菜单"},
		},
		{
			tag: TagPerception,
			words: []string{
				"perception", "perceive", "camera", "cameras", "lidar", "sensor", "sensors", "microphone", "ocr", "point cloud",
				"take photo", "take a photo", "object detection", "detect objects", "motion detection", "obstacle detection",
				"detect obstacles", "face detection", "face recognition", "speech recognition", "recognize speech",
				"image recognition", "recognize text", "scan environment",
			},
			chinese: []string{
				"感知", "传感器", "摄像头", "拍照", "激光雷达", "图像识别", "人脸识别", "语音识别", "文字识别",
				"物体识别", "目标检测", "物体检测", "人体检测", "障碍物", "环境扫描", "扫描环境", "视觉",
			},
		},
	}
}

// keywords are the tags that a tool's name and the beginning of its description
// give. What comes after the first sentence is about how to use the tool, and
// names all kinds of other things.
func keywords(name, description string) []Tag {
	about := sentence(description)
	words := " " + strings.Join(append(split(name), split(about)...), " ") + " "
	about = name + " " + about
	hasWord := func(w string) bool { return strings.Contains(words, " "+w+" ") }
	hasText := func(t string) bool { return strings.Contains(about, t) }
	var tags []Tag
	for _, v := range vocabularies() {
		if slices.ContainsFunc(v.words, hasWord) && !slices.ContainsFunc(v.unless, hasWord) ||
			slices.ContainsFunc(v.chinese, hasText) && !slices.ContainsFunc(v.unlessZH, hasText) {
			tags = append(tags, v.tag)
		}
	}
	return tags
}

// sentence is the first sentence of a text, or its first paragraph if that ends
// before.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	for _, end := range []string{"\n\n", ". ", ".\n", "。"} {
		text, _, _ = strings.Cut(text, end)
	}
	return text
}

// split returns the words of a text in lower case. A word ends where no letter
// or digit follows, and before a capital that follows a small letter or begins
// a word, as in HTTPServer.
func split(text string) []string {
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	runes := []rune(text)
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			end()
			continue
		}
		if i > 0 && unicode.IsUpper(r) {
			follows := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if !unicode.IsUpper(runes[i-1]) || follows {
				end()
			}
		}
		word = append(word, r)
	}
	end()
	return words
}

// hints are the tags that a description's annotations give.
func hints(raw []byte) []Tag {
	annotations := wire.Lookup(raw, wire.Value(raw), "annotations")
	var tags []Tag
	for _, hint := range []struct {
		key string
		tag Tag
	}{
		{"readOnlyHint", TagReadOnly},
		{"destructiveHint", TagDestructive},
		{"idempotentHint", TagIdempotent},
		{"openWorldHint", TagOpenWorld},
	} {
		if string(wire.Lookup(raw, annotations, hint.key).Of(raw)) == "true" {
			tags = append(tags, hint.tag)
		}
	}
	return tags
}

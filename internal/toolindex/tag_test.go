package toolindex_test

import (
	"slices"
	"testing"

	"github.com/toolcrib/toolcrib/internal/toolindex"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Tools as servers in use describe them, and the tags by what they are about.
func TestTags(t *testing.T) {
	const (
		n = toolindex.TagNotification
		e = toolindex.TagEmergency
		v = toolindex.TagNavigation
		p = toolindex.TagPerception
	)
	for _, tt := range []struct {
		name, description string
		want              []toolindex.Tag
	}{
		// English: whole words, whichever way a name is written.
		{"navigate_to", "Navigate robot to target position", []toolindex.Tag{v}},
		{"get-waypoints", "", []toolindex.Tag{v}},
		{"sendSMS", "Send a text to a phone number", []toolindex.Tag{n}},
		{"robot.estop", "Stops all motors at once", []toolindex.Tag{e}},
		{"readLIDARScan", "", []toolindex.Tag{p}},
		{"getSensorData", "Retrieve temperatures", []toolindex.Tag{p}},
		{"maps_directions", "Get the way between two points", []toolindex.Tag{v}},
		{"emergency_alert", "Send an alert to all phones", []toolindex.Tag{e, n}},
		{"ha_get_camera_image", "Retrieve a snapshot image from a Home Assistant camera entity.\n\nUse it to see.", []toolindex.Tag{p}},
		{"dismiss_notification", "Dismiss a notification by marking it as read or done", []toolindex.Tag{n}},

		// Chinese: wherever the words stand.
		{"goto", "控制机器人前往目标点", []toolindex.Tag{v}},
		{"发送通知", "", []toolindex.Tag{n}},
		{"call_help", "遇到紧急情况时报警，并通知家人", []toolindex.Tag{e, n}},
		{"look", "用摄像头拍照，并做物体识别", []toolindex.Tag{p}},

		// What only looks like it.
		{"browser_navigate", "Navigate to a URL", nil},
		{"打开页面", "在浏览器中导航到指定网址", nil},
		{"docker_run", "Run a container", nil},
		{"move_file", "Move or rename files and directories.", nil},
		{"move_to_folder", "把邮件移动到文件夹", nil},
		{"git_push", "推送代码到远程仓库", nil},
		{"get_code_scanning_alert", "Get details of a specific code scanning alert in a GitHub repository.", nil},
		{"detectLanguage", "Detect the language of a given text", nil},
		{"trainFraudModel", "Train a machine learning model for fraud detection", nil},
		{"merge", "Insensors and unnotify are no words", nil},
		{"ha_get_history", "Retrieve historical data.\n\nSources: sensors, cameras, notifications, emergency contacts.", nil},
		{"search", "Searches everything. Also navigates and detects obstacles with lidar.", nil},
		{"", "", nil},
	} {
		raw := wire.AppendString([]byte(`{"name":`), "x"+tt.name)
		if tt.name != "" {
			raw = wire.AppendString([]byte(`{"name":`), tt.name)
		}
		raw = append(wire.AppendString(append(raw, `,"description":`...), tt.description), '}')
		s := server("s", 0)
		c := open(t, s)
		c.Replace(s, tools(t, string(raw)))
		got := toolindex.Find(c.Snapshot(), nil, toolindex.Query{})[0].Tags
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s (%s): %q, want %q", tt.name, tt.description, got, tt.want)
		}
	}
}

func TestTagsOfAnnotations(t *testing.T) {
	s := server("s", 0)
	c := open(t, s)
	c.Replace(s, tools(t, `{"name":"x","annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":null}}`,
		`{"name":"y","annotations":{"readOnlyHint":true,"openWorldHint":true}}`))
	all := toolindex.Find(c.Snapshot(), nil, toolindex.Query{})
	for i, want := range [][]toolindex.Tag{{toolindex.TagDestructive, toolindex.TagIdempotent}, {toolindex.TagOpenWorld, toolindex.TagReadOnly}} {
		if got := all[i].Tags; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", all[i].Tool, got, want)
		}
	}
}

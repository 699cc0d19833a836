package builtin

import (
	"fmt"
	"strings"
	"testing"
)

const (
	oneChannel = `Simple mixer control 'PCM',0
  Capabilities: pvolume pvolume-joined pswitch pswitch-joined
  Playback channels: Mono
  Limits: Playback -10239 - 400
  Mono: Playback -2000 [86%] [-20.00dB] [on]
`
	twoChannels = `Simple mixer control 'Master',0
  Capabilities: pvolume pswitch
  Playback channels: Front Left - Front Right
  Limits: Playback 0 - 65536
  Mono:
  Front Left: Playback 19661 [30%] [off]
  Front Right: Playback 26214 [40%] [on]
`
	bothDirections = `Simple mixer control 'Digital',0
  Capabilities: pvolume cvolume pswitch cswitch
  Limits: Playback 0 - 100 Capture 0 - 100
  Front Left: Playback 25 [25%] [off] Capture 90 [90%] [on]
  Front Right: Playback 25 [25%] [off] Capture 90 [90%] [on]
`
	noSwitch  = "Simple mixer control 'Speaker',0\n  Capabilities: volume\n  Front Left: 12 [48%] [-12.00dB]\n"
	noVolume  = "Simple mixer control 'Master',0\n  Capabilities: pswitch\n  Mono: Playback [on]\n"
	sinkLines = "Volume: front-left: 26214 /  40% / -23.88 dB,   front-right: 49152 /  75% / -7.50 dB\n        balance 0.35\n"
)

func TestParseVolume(t *testing.T) {
	for _, test := range []struct {
		parse func(string) (setting, error)
		out   string
		want  setting
	}{
		{parseWpctl, "Volume: 0.40\n", setting{percent: 40}},
		{parseWpctl, "Volume: 0.57 [MUTED]\n", setting{percent: 57, muted: true}},
		{parseWpctl, "a warning\nVolume: 1.50\n", setting{percent: 150}},
		{parseWpctl, "Volume: 0.00", setting{}},
		{parseAmixer, oneChannel, setting{percent: 86}},
		{parseAmixer, twoChannels, setting{percent: 40}},
		{parseAmixer, bothDirections, setting{percent: 25, muted: true}},
		{parseAmixer, noSwitch, setting{percent: 48}},
	} {
		if got, err := test.parse(test.out); err != nil || got != test.want {
			t.Errorf("%q: %+v, %v, want %+v", test.out, got, err, test.want)
		}
	}
	for _, out := range []string{"", "Volume:", "Volume: NaN", "Volume: Inf", "Volume: -0.5", "Volume: 1e9", "Volume: 0,40", "0.40"} {
		if got, err := parseWpctl(out); err == nil {
			t.Errorf("wpctl %q: %+v", out, got)
		}
	}
	for _, out := range []string{"", noVolume, "  Mono: Playback 1 [x%]", "Mono: Playback 1 [99999%] [on]", "Mono: Capture 1 [10%] [on]"} {
		if got, err := parseAmixer(out); err == nil {
			t.Errorf("amixer %q: %+v", out, got)
		}
	}
	if percent, ok := loudest(strings.Fields(sinkLines)); !ok || percent != 75 {
		t.Errorf("pactl: %d, %t", percent, ok)
	}
	if percent, ok := loudest([]string{"-5%", "%", "1001%", "100"}); ok {
		t.Errorf("percentages that are none: %d", percent)
	}
}

func FuzzParseVolume(f *testing.F) {
	for _, seed := range []string{"Volume: 0.40 [MUTED]", "Volume: 1e309", oneChannel, twoChannels, bothDirections, noSwitch, noVolume, sinkLines} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, out string) {
		for _, parse := range []func(string) (setting, error){parseWpctl, parseAmixer} {
			if got, err := parse(out); err == nil && (got.percent < 0 || got.percent > maxPercent) {
				t.Errorf("%q: %+v", out, got)
			}
		}
		if percent, ok := loudest(strings.Fields(out)); percent < 0 || percent > maxPercent || !ok && percent != 0 {
			t.Errorf("%q: %d, %t", out, percent, ok)
		}
	})
}

// FuzzWpctlVolume checks that every percentage is read as it is written.
func FuzzWpctlVolume(f *testing.F) {
	f.Add(uint8(57), true)
	f.Fuzz(func(t *testing.T, percent uint8, muted bool) {
		out := fmt.Sprintf("Volume: %.2f", float64(percent)/100)
		if muted {
			out += " [MUTED]"
		}
		if got, err := parseWpctl(out + "\n"); err != nil || got != (setting{int(percent), muted}) {
			t.Errorf("%s: %+v, %v", out, got, err)
		}
	})
}

package builtin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"strconv"
	"strings"
)

// speakers are the sound output of a Linux machine, by the first of several
// programs that can reach it. More than one may be installed, while only one
// sound system runs.
type speakers struct{ programs []knob }

func newSpeakers() speakers { return speakers{[]knob{wpctl{}, pactl{}, amixer{}}} }

func (s speakers) read(ctx context.Context) (now setting, err error) {
	err = s.first(ctx, func(k knob) error {
		now, err = k.read(ctx)
		return err
	})
	return now, err
}

func (s speakers) turn(ctx context.Context, percent int) error {
	return s.first(ctx, func(k knob) error { return k.turn(ctx, percent) })
}

// first does something with the first program with which it can be done.
func (s speakers) first(ctx context.Context, do func(knob) error) error {
	var failed []string
	for _, program := range s.programs {
		err := do(program)
		if err == nil {
			return nil
		}
		if !errors.Is(err, exec.ErrNotFound) {
			failed = append(failed, err.Error())
		}
		if ctx.Err() != nil {
			break
		}
	}
	if len(failed) == 0 {
		return phrase{
			"the volume cannot be controlled: none of wpctl (PipeWire), pactl (PulseAudio) and amixer (ALSA) was found; install the one of the sound system that runs here, such as the package wireplumber or alsa-utils",
			"无法控制音量：没有找到 wpctl（PipeWire）、pactl（PulseAudio）或 amixer（ALSA）；请安装本机声音系统对应的程序，例如软件包 wireplumber 或 alsa-utils",
		}.err()
	}
	return say(
		"the volume cannot be controlled (%s): check that the machine has a sound output, and run Toolcrib as the user in whose session the sound system runs",
		"无法控制音量（%s）：请确认本机有声音输出设备，并以声音系统所在会话的用户运行 Toolcrib", strings.Join(failed, "; ")).err()
}

// wpctl is the control of WirePlumber, which is PipeWire's session manager.
type wpctl struct{}

func (wpctl) read(ctx context.Context) (setting, error) {
	out, err := run(ctx, "wpctl", "get-volume", "@DEFAULT_AUDIO_SINK@")
	if err != nil {
		return setting{}, err
	}
	return parseWpctl(out)
}

func (wpctl) turn(ctx context.Context, percent int) error {
	_, err := run(ctx, "wpctl", "set-volume", "@DEFAULT_AUDIO_SINK@", fmt.Sprintf("%d.%02d", percent/100, percent%100))
	return err
}

// parseWpctl reads "Volume: 0.40 [MUTED]".
func parseWpctl(out string) (setting, error) {
	for line := range strings.Lines(out) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "Volume:")
		if !ok {
			continue
		}
		number, note, _ := strings.Cut(strings.TrimSpace(rest), " ")
		factor, err := strconv.ParseFloat(number, 64)
		percent := math.Round(factor * 100)
		if err != nil || !(percent >= 0 && percent <= maxPercent) {
			break
		}
		return setting{percent: int(percent), muted: strings.Contains(note, "MUTED")}, nil
	}
	return setting{}, errors.New("wpctl does not say the volume")
}

// pactl is the control of PulseAudio, which PipeWire can stand in for.
type pactl struct{}

func (pactl) read(ctx context.Context) (setting, error) {
	out, err := run(ctx, "pactl", "get-sink-volume", "@DEFAULT_SINK@")
	if err != nil {
		return setting{}, err
	}
	percent, ok := loudest(strings.Fields(out))
	if !ok {
		return setting{}, errors.New("pactl does not say the volume")
	}
	mute, err := run(ctx, "pactl", "get-sink-mute", "@DEFAULT_SINK@")
	if err != nil {
		return setting{}, err
	}
	return setting{percent: percent, muted: strings.TrimSpace(mute) == "Mute: yes"}, nil
}

func (pactl) turn(ctx context.Context, percent int) error {
	_, err := run(ctx, "pactl", "set-sink-volume", "@DEFAULT_SINK@", strconv.Itoa(percent)+"%")
	return err
}

// amixer is the control of ALSA. It is told to use the scale that people hear
// (-M), as alsamixer does.
type amixer struct{}

func (a amixer) read(ctx context.Context) (setting, error) {
	_, now, err := a.find(ctx)
	return now, err
}

func (a amixer) turn(ctx context.Context, percent int) error {
	control, _, err := a.find(ctx)
	if err != nil {
		return err
	}
	_, err = run(ctx, "amixer", "-M", "sset", control, "playback", strconv.Itoa(percent)+"%")
	return err
}

// find returns the control that stands for the whole output, and its setting.
// Which one that is depends on the card; small boards have no Master.
func (amixer) find(ctx context.Context) (control string, now setting, err error) {
	var first error
	for _, control := range []string{"Master", "PCM", "Speaker", "Headphone", "Digital"} {
		out, err := run(ctx, "amixer", "-M", "sget", control)
		if err == nil {
			now, err = parseAmixer(out)
		}
		if err == nil {
			return control, now, nil
		}
		if first == nil {
			first = err
		}
	}
	return "", setting{}, first
}

// parseAmixer reads lines such as
//
//	Front Left: Playback 49152 [75%] [-7.50dB] [on] Capture 0 [0%] [off]
//
// The output is muted if all its channels are.
func parseAmixer(out string) (setting, error) {
	now := setting{percent: -1, muted: true}
	for line := range strings.Lines(out) {
		line, _, _ = strings.Cut(line, "Capture")
		fields := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" []\r\n", r) })
		percent, ok := loudest(fields)
		if !ok {
			continue
		}
		now.percent = max(now.percent, percent)
		if fields[len(fields)-1] != "off" {
			now.muted = false
		}
	}
	if now.percent < 0 {
		return setting{}, errors.New("amixer does not say the volume")
	}
	return now, nil
}

// loudest returns the highest of the percentages among words, which are those
// of the channels; the balance between them is not touched.
func loudest(words []string) (percent int, ok bool) {
	for _, word := range words {
		number, is := strings.CutSuffix(word, "%")
		n, err := strconv.ParseUint(number, 10, 16)
		if is && err == nil && n <= maxPercent {
			percent, ok = max(percent, int(n)), true
		}
	}
	return percent, ok
}

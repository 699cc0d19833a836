package message

import (
	"strconv"
	"strings"
)

// About what a session shows of its calls.
const (
	StateNotFailed Code = "state_not_failed"
	StateUnderWay  Code = "state_under_way"
	StateExhausted Code = "state_retries_exhausted"
	StateNotKept   Code = "state_request_not_kept"
)

var stateTexts = texts{
	StateNotFailed: {
		Text{"The session shows no call that failed, so there is nothing to retry.", "A failed call is shown for 5 seconds."},
		Text{"该会话没有处于失败状态的调用，无可重试。", "失败的调用显示 5 秒。"},
	},
	StateUnderWay: {
		Text{"The session has a call under way.", "Wait for its end, or cancel it."},
		Text{"该会话有正在进行的调用。", "请等待其结束，或取消它。"},
	},
	StateExhausted: {
		Text{"The call was retried {count} times already, which is as often as it may be.", "Make a new call, or raise \"maxRetries\"."},
		Text{"该调用已重试 {count} 次，达到上限。", "请发起新的调用，或调大 maxRetries。"},
	},
	StateNotKept: {
		Text{"The call cannot be retried by the hub, as its request was too large to be kept.", "Make the call again."},
		Text{"请求过大未被保留，无法由 Toolcrib 重试。", "请重新发起调用。"},
	},
}

// told is what a person is told of a tool whose name is known: while it is
// called, and when it went well.
var told = map[string]struct{ calling, success struct{ en, zh string } }{
	"get_printer_status": {both{"Looking at the printer's status...", "正在查看打印机状态..."}, both{"Got the printer's status", "打印机状态获取成功"}},
	"start_print_job":    {both{"Starting the print job...", "正在启动打印任务..."}, both{"The print job has started", "打印任务已启动"}},
	"pause_print_job":    {both{"Pausing the print...", "正在暂停打印..."}, both{"The print is paused", "打印已暂停"}},
	"resume_print_job":   {both{"Resuming the print...", "正在恢复打印..."}, both{"The print goes on", "打印已恢复"}},
	"cancel_print_job":   {both{"Cancelling the print job...", "正在取消打印任务..."}, both{"The print job was cancelled", "打印任务已取消"}},
	"set_brightness":     {both{"Setting the brightness of the screen...", "正在调节屏幕亮度..."}, both{"The brightness of the screen is set", "屏幕亮度调节完成"}},
	"adjust_volume":      {both{"Adjusting the volume...", "正在调节音量..."}, both{"The volume is adjusted", "音量调节完成"}},
	"get_weather":        {both{"Getting the weather...", "正在获取天气信息..."}, both{"Got the weather", "天气信息获取成功"}},
	"play_music":         {both{"Playing music...", "正在播放音乐..."}, both{"The music plays", "音乐播放成功"}},
}

type both = struct{ en, zh string }

// bare is a tool's name without the server's, by which it is known.
func bare(tool string) string {
	if at := strings.LastIndex(tool, "__"); at >= 0 {
		return tool[at+len("__"):]
	}
	return tool
}

// Calling is what a person is told while a tool is called.
func Calling(lang Lang, tool string) string {
	t, known := told[bare(tool)]
	switch {
	case known && lang == Chinese:
		return t.calling.zh
	case known:
		return t.calling.en
	case lang == Chinese:
		return "正在执行 " + tool + "..."
	}
	return "Running " + tool + "..."
}

// Succeeded is what a person is told when a call of a tool went well.
func Succeeded(lang Lang, tool string) string {
	t, known := told[bare(tool)]
	switch {
	case known && lang == Chinese:
		return t.success.zh
	case known:
		return t.success.en
	case lang == Chinese:
		return tool + " 执行成功"
	}
	return tool + " succeeded"
}

// Retrying is what a person is told while a tool is called for the n-th time
// after the first, of most.
func Retrying(lang Lang, tool string, n, most int) string {
	of := strconv.Itoa(n) + "/" + strconv.Itoa(most)
	if lang == Chinese {
		return "正在重试 " + tool + "（" + of + "）..."
	}
	return "Retrying " + tool + " (" + of + ")..."
}

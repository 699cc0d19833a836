package message

// About the paths that other programs know.
const (
	PresetKept Code = "preset_kept"
)

var compatTexts = texts{
	PresetKept: {
		Text{`The server "{server}" is a preset and cannot be deleted.`, "Disable it instead."},
		Text{"服务器“{server}”是预置服务器，无法删除。", "可将其停用。"},
	},
}

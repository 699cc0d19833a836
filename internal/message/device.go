package message

// About devices that dial in.
const (
	DeviceOffline    Code = "device_offline"
	DeviceUnknown    Code = "device_unknown"
	DeviceRefused    Code = "device_refused"
	DeviceNameless   Code = "device_nameless"
	DeviceReplaced   Code = "device_replaced"
	DeviceWithoutMCP Code = "device_without_mcp"
	DeviceSilent     Code = "device_silent"
	DeviceAliasTaken Code = "device_alias_taken"
	DeviceDropped    Code = "device_dropped"
	RelayUnreachable Code = "device_relay_unreachable"
	PictureTooBig    Code = "picture_too_big"
	PictureRefused   Code = "picture_refused"
)

var deviceTexts = texts{
	DeviceOffline: {
		Text{`The device "{device}" is not connected.`, "Wake it, such as by its wake word or its button, and try again: many devices are connected only while somebody talks to them."},
		Text{"设备“{device}”未连接。", "请用唤醒词或按键唤醒设备后重试：许多设备只在对话期间保持连接。"},
	},
	DeviceUnknown: {
		Text{`There is no device "{device}".`, "See which there are with: toolcrib device list"},
		Text{"没有设备“{device}”。", "可用以下命令查看现有设备：toolcrib device list"},
	},
	DeviceRefused: {
		Text{`The device "{device}" is not allowed to connect.`, "Add its id to \"allow\" of \"devices\" in the configuration, or give it a token: toolcrib device token create {device}"},
		Text{"设备“{device}”不允许连接。", "请在配置的 devices 的 allow 中加入其编号，或为它签发令牌：toolcrib device token create {device}"},
	},
	DeviceNameless: {
		Text{"The device does not say which one it is.", "It has to send the header Device-Id, or device-id in the query."},
		Text{"设备没有说明自己的编号。", "它须发送请求头 Device-Id，或在查询参数中给出 device-id。"},
	},
	DeviceReplaced: {
		Text{`The device "{device}" has connected anew.`, "Call again: the new connection is in use."},
		Text{"设备“{device}”已重新连接。", "请重新调用：现在使用的是新连接。"},
	},
	DeviceWithoutMCP: {
		Text{`The device "{device}" says that it has no tools.`, "Its firmware has to support MCP: update it."},
		Text{"设备“{device}”表示自己没有工具。", "其固件须支持 MCP：请升级固件。"},
	},
	DeviceSilent: {
		Text{`The device "{device}" does not answer: {detail}.`, "Restart the device; if that does not help, see its log: toolcrib device log {device}"},
		Text{"设备“{device}”没有应答：{detail}。", "请重启设备；若仍无效，请查看其日志：toolcrib device log {device}"},
	},
	DeviceAliasTaken: {
		Text{`The tools of the device "{device}" cannot be listed: another server is called "{server}" as well.`, "Give the device another name in \"aliases\" of \"devices\"."},
		Text{"无法列出设备“{device}”的工具：已有服务器名为“{server}”。", "请在 devices 的 aliases 中为该设备另取名称。"},
	},
	DeviceDropped: {
		Text{`The connection to the device "{device}" was ended: {detail}.`, "The device connects again by itself when it is used next."},
		Text{"与设备“{device}”的连接已断开：{detail}。", "设备下次使用时会自行重新连接。"},
	},
	RelayUnreachable: {
		Text{`The backend of the device "{device}" was not reached: {detail}.`, "The device was sent away, and connects again by itself. Check the address in \"relay\" of \"devices\" if that goes on."},
		Text{"无法连接设备“{device}”的后端：{detail}。", "已断开该设备，它会自行重新连接。如持续失败，请检查 devices 的 relay 中的地址。"},
	},
	PictureTooBig: {
		Text{"The picture is larger than {limit} bytes.", "Set the device to a lower resolution."},
		Text{"图片超过 {limit} 字节。", "请将设备设为较低的分辨率。"},
	},
	PictureRefused: {
		Text{"The picture cannot be taken: {detail}.", "The device has to send it as multipart/form-data, with the token that it was given."},
		Text{"无法接收图片：{detail}。", "设备须以 multipart/form-data 格式发送，并附上发给它的令牌。"},
	},
}

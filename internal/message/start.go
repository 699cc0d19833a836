package message

// About starting the hub.
const (
	ConfigInvalid    Code = "config_invalid"
	ConfigUnreadable Code = "config_unreadable"
	ListenRefused    Code = "listen_refused"
	ListenTaken      Code = "listen_taken"
	ListenInvalid    Code = "listen_invalid"
	DataDirTaken     Code = "data_dir_taken"
	DataDirUnusable  Code = "data_dir_unusable"
)

var startTexts = texts{
	ConfigInvalid: {
		Text{"{path}:{line}:{column}: {detail}", ""},
		Text{"{path}:{line}:{column}：{detail}", ""},
	},
	ConfigUnreadable: {
		Text{"The configuration file {path} cannot be read: {detail}.", "Check the path given with --config."},
		Text{"无法读取配置文件 {path}：{detail}。", "请检查 --config 给出的路径。"},
	},
	ListenRefused: {
		Text{"Listening on {address} is refused: anybody who reaches it could use every tool.", "Listen on 127.0.0.1 or [::1]; other addresses need authentication, which this version does not have."},
		Text{"拒绝在 {address} 上监听：任何能访问它的人都可使用所有工具。", "请监听 127.0.0.1 或 [::1]；其他地址需要认证，此版本尚不支持。"},
	},
	ListenTaken: {
		Text{"The address {address} is already in use.", "Is Toolcrib already running? Choose another one with --listen."},
		Text{"地址 {address} 已被占用。", "Toolcrib 是否已在运行？可用 --listen 另选地址。"},
	},
	ListenInvalid: {
		Text{"\"{address}\" is not an address to listen on: {detail}.", "Give host and port, such as 127.0.0.1:8080."},
		Text{"“{address}”不是可监听的地址：{detail}。", "请给出主机和端口，例如 127.0.0.1:8080。"},
	},
	DataDirTaken: {
		Text{"The data directory {path} is used by another Toolcrib (process {pid}).", "Stop that one, or choose another directory with --data-dir."},
		Text{"数据目录 {path} 正被另一个 Toolcrib（进程 {pid}）使用。", "请停止它，或用 --data-dir 另选目录。"},
	},
	DataDirUnusable: {
		Text{"The data directory {path} cannot be used: {detail}.", "Mend it, or choose another one with --data-dir."},
		Text{"数据目录 {path} 无法使用：{detail}。", "请修复它，或用 --data-dir 另选目录。"},
	},
}

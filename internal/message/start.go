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
	TokenExposed     Code = "token_exposed"
	TokenUnusable    Code = "token_unusable"
	TLSUnusable      Code = "tls_unusable"
	AllowHostInvalid Code = "allow_host_invalid"
	SocketUnusable   Code = "socket_unusable"
	ProxyInvalid     Code = "proxy_invalid"
	CAUnusable       Code = "ca_unusable"
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
		Text{"Listening on {address} is refused: anybody who reaches it could use every tool.", "Listen on 127.0.0.1 or [::1], or demand a token of everybody with --require-token."},
		Text{"拒绝在 {address} 上监听：任何能访问它的人都可使用所有工具。", "请监听 127.0.0.1 或 [::1]，或用 --require-token 要求所有人出示令牌。"},
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
	TokenExposed: {
		Text{"The token file {path} can be read or changed by others: {detail}.", "Delete it, and the next start makes a new token; or run \"chmod 600\" on it if you are sure that nobody has read it."},
		Text{"令牌文件 {path} 可被他人读取或修改：{detail}。", "请删除它，下次启动会生成新令牌；若确定无人读过，可对它执行 chmod 600。"},
	},
	TokenUnusable: {
		Text{"The token file {path} cannot be used: {detail}.", "Mend it, or delete it: the next start makes a new token."},
		Text{"令牌文件 {path} 无法使用：{detail}。", "请修复或删除它；下次启动会生成新令牌。"},
	},
	TLSUnusable: {
		Text{"The TLS certificate {cert} with the key {key} cannot be used: {detail}.", "Give --tls-cert and --tls-key two PEM files that belong together."},
		Text{"TLS 证书 {cert} 与密钥 {key} 无法使用：{detail}。", "请用 --tls-cert 和 --tls-key 给出一对相互匹配的 PEM 文件。"},
	},
	AllowHostInvalid: {
		Text{"\"{host}\" is not a host that can be allowed: {detail}.", "Give --allow-host one name, with or without a port, such as hub.example.com."},
		Text{"“{host}”不是可允许的主机：{detail}。", "请给 --allow-host 一个主机名，可带端口，例如 hub.example.com。"},
	},
	SocketUnusable: {
		Text{"The local socket {path} cannot be opened: {detail}.", "Remove what is in its place, or choose another data directory with --data-dir."},
		Text{"无法打开本地套接字 {path}：{detail}。", "请移除占用该位置的文件，或用 --data-dir 另选目录。"},
	},
	ProxyInvalid: {
		Text{"What --proxy gives is not the URL of a proxy.", "Give http://, https:// or socks5://, host and port."},
		Text{"--proxy 给出的不是代理地址。", "请给出 http://、https:// 或 socks5:// 开头的主机和端口。"},
	},
	CAUnusable: {
		Text{"The certificates in {path} cannot be used: {detail}.", "Check the file given with --ca-cert."},
		Text{"无法使用 {path} 中的证书：{detail}。", "请检查 --ca-cert 给出的文件。"},
	},
}

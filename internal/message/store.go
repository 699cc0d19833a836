package message

// About the database.
const (
	StoreFull        Code = "store_full"
	StoreBusy        Code = "store_busy"
	StoreUnavailable Code = "store_unavailable"
	StoreRefused     Code = "store_refused"
	StoreCorrupt     Code = "store_corrupt"
	StoreNewer       Code = "store_newer"
	StoreURLInvalid  Code = "store_url_invalid"
	StoreNotEmpty    Code = "store_not_empty"
	BackupInvalid    Code = "backup_invalid"
)

var storeTexts = texts{
	StoreFull: {
		Text{"There is no room left for the database {store}.", "Make room on its disk; what could not be written is refused meanwhile."},
		Text{"数据库 {store} 没有可用空间。", "请清理其所在磁盘；在此之前无法写入的操作会被拒绝。"},
	},
	StoreBusy: {
		Text{"The database {store} was held by another program for too long.", "Try again; if it stays so, end what holds it."},
		Text{"数据库 {store} 被其他程序占用过久。", "请重试；若仍如此，请结束占用它的程序。"},
	},
	StoreUnavailable: {
		Text{"The database {store} cannot be reached or read.", "Toolcrib tries again with the next request; the hub's log has the cause."},
		Text{"无法连接或读取数据库 {store}。", "下次请求时 Toolcrib 会重试；原因见日志。"},
	},
	StoreRefused: {
		Text{"The database {store} refuses the hub: {reason}.", "Check the user, the password and the rights in \"store.url\"."},
		Text{"数据库 {store} 拒绝访问：{reason}。", "请检查 store.url 中的用户、密码及其权限。"},
	},
	StoreCorrupt: {
		Text{"The database {store} is damaged.", "Stop Toolcrib, move the file away and restore a backup."},
		Text{"数据库 {store} 已损坏。", "请停止 Toolcrib，移走该文件并恢复备份。"},
	},
	StoreNewer: {
		Text{"The database {store} was made by a newer Toolcrib (schema {found}; this one knows {known}).", "Use that version, or restore a backup from before the update."},
		Text{"数据库 {store} 由更新版本的 Toolcrib 创建（结构版本 {found}，当前支持 {known}）。", "请使用该版本，或恢复升级前的备份。"},
	},
	StoreURLInvalid: {
		Text{"The address of the database (\"store.url\") cannot be used: {reason}.", "It reads postgres://USER:PASSWORD@HOST:PORT/DATABASE."},
		Text{"数据库地址（store.url）无法使用：{reason}。", "格式为 postgres://用户:密码@主机:端口/数据库。"},
	},
	StoreNotEmpty: {
		Text{"The database {store} is not empty.", "Add --force to replace what is in it."},
		Text{"数据库 {store} 不为空。", "如需替换其内容，请加上 --force。"},
	},
	BackupInvalid: {
		Text{"The backup cannot be used: {reason}.", "Nothing was changed."},
		Text{"备份无法使用：{reason}。", "未做任何更改。"},
	},
}

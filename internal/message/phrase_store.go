package message

var storePhrases = map[string]string{
	// The address of the database.
	"it is no URL; characters such as @, / and %% in the password are written as %%40, %%2F and %%25": "不是有效的 URL；密码中的 @、/、%% 等字符须写作 %%40、%%2F、%%25",
	"it does not begin with postgres://":                "不是以 postgres:// 开头",
	"a host, port or parameter of it is not understood": "其中的主机、端口或参数无法识别",

	// A backup.
	"it is no archive of Toolcrib's":            "不是 Toolcrib 的备份文件",
	"it is cut short or damaged":                "文件不完整或已损坏",
	"it was made by a newer Toolcrib":           "由更新版本的 Toolcrib 创建",
	"it is no copy of a database of Toolcrib's": "其中的数据库副本不属于 Toolcrib",
	"its database is cut short":                 "其中的数据库副本不完整",
	"its database has an empty line":            "其中的数据库副本含有空行",
	"line %d of its database cannot be read":    "其中的数据库副本第 %d 行无法读取",
	"it has no copy of a database":              "其中没有数据库副本",
	"rows of its database are missing":          "其中的数据库副本缺少部分数据",
}

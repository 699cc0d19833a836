package message

// commandPhrases are about commands, and what is needed to start.
var commandPhrases = map[string]string{
	"it is larger than %s":       "它超过 %s",
	"it ended at once":           "它立即结束了",
	"it took longer than %s":     "用时超过 %s",
	"a JSON object is expected":  "应为 JSON 对象",
	"number %d is no name=value": "第 %d 个不是“名称=值”",
	"it is not known here of which types they are; write NAME:=JSON": "此处不知道它们的类型；请写成“名称:=JSON”",
	"%s is given twice":                                       "%s 给出了两次",
	"%s is to be a text: write NAME=VALUE":                    "%s 应为文本：请写成“名称=值”",
	"it is not what is in a resource":                         "它不是资源的内容",
	"it is not a prompt":                                      "它不是提示",
	"it is not a tool's result":                               "它不是工具的结果",
	"a URL stands alone":                                      "URL 应单独给出",
	"--api-key is empty":                                      "--api-key 为空",
	"--limit must be 1 or more":                               "--limit 不得小于 1",
	"--tls-cert, --tls-key":                                   "--tls-cert 与 --tls-key 须一并给出",
	"the answer is larger than %d MiB":                        "应答超过 %d MiB",
	"the answer to %s %s is not the JSON that was expected":   "对 %s %s 的应答不是预期的 JSON",
	"HTTP %d without a problem that this program understands": "HTTP %d，且没有本程序能理解的错误文档",
	"an event is not the JSON that was expected":              "一个事件不是预期的 JSON",
	"an event stream was expected":                            "应答应为事件流",
	"an export was expected":                                  "应答应为导出的记录",

	// Tool indexes.
	"it is empty":                                "它为空",
	"it is there twice":                          "出现了两次",
	"it is neither true nor false":               "既不是 true 也不是 false",
	"it is no array":                             "不是数组",
	"it is no object":                            "不是对象",
	"it is no string":                            "不是字符串",
	"it is none of low, medium and high":         "不是 low、medium、high 之一",
	"it is no time such as 2026-01-07T10:00:00Z": "不是形如 2026-01-07T10:00:00Z 的时间",

	// Listeners, certificates and tokens.
	"host:port is expected":                                           "应为“主机:端口”",
	"the port has to be a number from 0 to 65535":                     "端口必须是 0 到 65535 之间的数字",
	"the port has to be a number from 1 to 65535":                     "端口必须是 1 到 65535 之间的数字",
	"a name is expected, without a scheme and a path":                 "应为主机名，不带协议和路径",
	"there are no wildcards, each name has to be given":               "不支持通配符，须逐个给出名称",
	"the system's own certificates cannot be read: %s":                "无法读取系统自带的证书：%s",
	"there is no certificate in it (PEM is expected)":                 "其中没有证书（应为 PEM 格式）",
	"it has other characters than letters, digits and signs of ASCII": "它含有 ASCII 字母、数字和符号之外的字符",
	"it was exchanged while it was opened":                            "它在打开时被替换了",
}

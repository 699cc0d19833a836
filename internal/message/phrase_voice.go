package message

// voicePhrases are about what the configuration says of voice assistants and
// devices.
var voicePhrases = map[string]string{
	"an array of devices' ids":                      "由设备 ID 组成的数组",
	"a text such as \"8KiB\", or a number of bytes": "形如 \"8KiB\" 的文本或字节数",
	"an array of names of tools or servers":         "由工具或服务器名称组成的数组",
	"endpoint %s":                                   "接入点 %s",
	"backend %s":                                    "后端 %s",
	"%s must be named by 1 to %d letters, digits, \"_\" and \"-\"": "%s 的名称必须由 1 到 %d 个字母、数字、\"_\" 和 \"-\" 组成",
	"%s must be 1 to %d letters, digits, \"_\" and \"-\"":          "%s 必须由 1 到 %d 个字母、数字、\"_\" 和 \"-\" 组成",
	"%sit needs \"url\"":                           "%s需要 \"url\"",
	"%sit needs \"url\", or \"ota\" to ask for it": "%s需要 \"url\"，或用来询问地址的 \"ota\"",
	"%san endpoint has this name already":          "%s已有同名的接入点",
	"%s\"delay\" is more than \"maxDelay\"":        "%s\"delay\" 大于 \"maxDelay\"",
	"%s cannot begin with \"tools-\" or \"device-\": so begin the names that the hub gives itself": "%s 不能以 \"tools-\" 或 \"device-\" 开头：这是集线器自己起的名称",
	"%s is the name of %s already":                                                                   "%s 已是 %s 的名称",
	"%s is no id of a device":                                                                        "%s 不是设备 ID",
	"%sthere is no group %s; it is offered nothing until there is%s":                                 "%s没有分组 %s；在有这个分组之前不提供任何工具%s",
	"%s has no effect: an endpoint is dialled until it is reached":                                   "%s 不起作用：接入点会一直重连，直到连上",
	"%s has no effect: an endpoint is dialled until it is reached, unless it has \"enabled\": false": "%s 不起作用：接入点会一直重连，直到连上，除非设有 \"enabled\": false",
	"\"mcpEndpoint\" has the same address twice; it is connected once":                               "\"mcpEndpoint\" 中有重复的地址；只连接一次",
	"an address in \"mcpEndpoint\" %s, and is ignored":                                               "\"mcpEndpoint\" 中有一个地址%s，已忽略",
	"the id of a device, and \"client\", must be 1 to 128 ASCII characters without \"|\" and blanks": "设备的 ID 和 \"client\" 须为 1 至 128 个 ASCII 字符，不含 \"|\" 和空白",
}

package message

// What is wrong with what somebody says who decides about calls.
var decidePhrases = map[string]string{
	"remember.arguments: it cannot be read":                                       "remember.arguments：无法解析",
	`remember.arguments: it must be "exact", "any" or an object that has members`: `remember.arguments：须为 "exact"、"any" 或一个有成员的对象`,
	"members: there are none; leave them out if any arguments will do":            "members：没有成员；若不限参数，请省略该项",
	"there are both arguments and members":                                        "同时给出了 arguments 与 members",
	`for: it must be a duration such as "1h" or "7d"`:                             `for：须为时长，如 "1h" 或 "7d"`,
	"policy: %s":              "规则：%s",
	"they are no JSON object": "它们不是 JSON 对象",
	"nothing was changed in the editor, and nothing is decided":                "在编辑器中未作修改，因此未作任何决定",
	"somebody has agreed already; --confirm agrees a second time":              "已有人同意；如需再次同意，请加 --confirm",
	"the arguments are missing":                                                "缺少参数",
	"the arguments are missing, and neither VISUAL nor EDITOR names an editor": "缺少参数，且 VISUAL 与 EDITOR 均未指定编辑器",
}

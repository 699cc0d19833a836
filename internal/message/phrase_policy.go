package message

// policyPhrases are about rules.
var policyPhrases = map[string]string{
	// In the configuration file.
	"%s%s has more than %d elements":                                                                  "%s%s 的元素超过 %d 个",
	"%s%s is no door; there are %s":                                                                   "%s%s 不是入口；可以是 %s",
	"%s%s names %s, which is no door; there are %s":                                                   "%s%s 中的 %s 不是入口；可以是 %s",
	"%s%s is no risk; there are %s":                                                                   "%s%s 不是风险等级；可以是 %s",
	"%s%s must be %s, not %s":                                                                         "%s%s 必须是 %s 之一，而不是 %s",
	"%sit needs \"effect\": \"allow\", \"ask\" or \"deny\"":                                           "%s需要 \"effect\"：\"allow\"、\"ask\" 或 \"deny\"",
	"%sanother rule has the \"id\" %s already, in line %d":                                            "%s第 %[3]d 行的另一条规则已用了 \"id\" %[2]s",
	"%sthere is no server %s; the rule holds once there is%s":                                         "%s没有服务器 %s；等有了它，该规则就会生效%s",
	"%sthere is no group %s; the rule holds once there is%s":                                          "%s没有分组 %s；等有了它，该规则就会生效%s",
	"a string, or an array of strings":                                                                "字符串，或由字符串组成的数组",
	"a text such as \"5m\" or \"90s\"":                                                                "形如 \"5m\"、\"90s\" 的文本",
	"the name of a tenant, of 1 to 63 lower-case letters, digits and hyphens, or \"*\" for everybody": "租户名称（1 到 63 个小写字母、数字和连字符），或用 \"*\" 表示所有人",

	// Of a policy that is compiled.
	"the mode %s is none":                               "没有 %s 这种模式",
	"the verdict %s is none":                            "没有 %s 这种裁决",
	"the effect %s is none":                             "没有 %s 这种效果",
	"it has to be true or false, but is of the type %s": "结果必须是 true 或 false，但其类型是 %s",

	"it is no expression in CEL: \"%s\" (line %d, column %d)":                             "不是有效的 CEL 表达式：\"%s\"（第 %d 行第 %d 列）",
	"it cannot be compiled: \"%s\"":                                                       "无法编译：\"%s\"",
	"%s%s is not known, and a rule without it would be another one":                       "%s%s 不是已知的成员，而少了它规则就变了样",
	"%s%s is not known, and a rule without it would be another one; did you mean %s?":     "%s%s 不是已知的成员，而少了它规则就变了样；是否想写 %s？",
	"it reads something of the call that is not there (line %d, column %d); there are %s": "它读取了调用中没有的内容（第 %d 行第 %d 列）；可以用 %s",

	// Of the hub, when it starts.
	"Policy: enforced at %s":                      "规则：在 %s 上强制执行",
	"Policy: only observed at %s":                 "规则：在 %s 上仅观察",
	"Policy: enforced at %s; only observed at %s": "规则：在 %s 上强制执行；在 %s 上仅观察",
	"Policy: enforced at %s; only observed at %s, as the configuration has no policy": "规则：在 %s 上强制执行；在 %s 上仅观察，因为配置中没有 policy",

	// Of a call.
	"the rule %s cannot be applied to these arguments": "规则 %s 无法应用于这些参数",
	"the arguments cannot be read with certainty":      "无法确切读懂参数",

	// Of a call on record.
	"the tool is not there any more":            "该工具已不存在",
	"the arguments are not on record":           "记录中没有参数",
	"part of the arguments is hidden on record": "记录中隐去了部分参数",
	"the caller's role is not on record":        "记录中没有调用者的角色",
}

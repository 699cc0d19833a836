package message

var approvalPhrases = map[string]string{
	"part of the call was sealed by another hub; edit it there":                                                               "调用的一部分由另一节点加密；请在该节点修改",
	"its arguments were sealed for another hub and are not shown here; give all of them as one JSON object, or edit it there": "其参数由另一节点加密，此处无法显示；请以一个 JSON 对象给出全部参数，或在该节点修改",
	// What was decided.
	"approved":              "批准",
	"approved with changes": "修改后批准",
	"rejected":              "拒绝",
	"cancelled":             "撤回",
	"superseded":            "取代",
	"this Toolcrib":         "Toolcrib 自动",
	"of all callers":        "所有调用方",
	"the arguments are larger than %d KiB, which is more than a person can look through": "参数超过 %d KiB，无法由人逐一查看",
	"the arguments are no JSON object":                                                   "参数不是 JSON 对象",
	"a member stands twice in the arguments":                                             "参数中有重复的成员",
	"the hash of the arguments is missing":                                               "缺少参数的哈希值",
	"there is no decision \"%s\"":                                                        "没有“%s”这种决定",
	"only an edit has arguments":                                                         "只有修改才可附带参数",
	"the note is longer than %d bytes":                                                   "备注超过 %d 字节",
	"it was changed too often":                                                           "修改次数过多",
	"it does not say whose call it is, or with which arguments":                          "未注明是谁的调用，或缺少参数的哈希值",

	// Grants.
	"it names no server and tool":                                                      "未指明服务器和工具",
	"it does not say how the tool is described":                                        "未注明工具描述的哈希值",
	"it has to expire within 30 days":                                                  "必须在 30 天内到期",
	"what is to be remembered has to be agreed to as it was seen":                      "要记住的内容，必须按所见的内容同意",
	"it may not cover critical calls, to which somebody has to agree each time":        "不得涵盖关键风险的调用，此类调用每次都须经人同意",
	"it is for the calls of another tenant, or of a server that your token is not for": "它针对的是另一个租户的调用，或您的令牌不适用的服务器",

	"there are too many":                     "授权数量过多",
	"the members are too large, or not JSON": "成员过大或不是 JSON",
}

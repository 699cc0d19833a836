package message

// judgePhrases are said about calls that are judged.
var judgePhrases = map[string]string{
	"by the rule %s":           "按规则 %s",
	"by its risk, which is %s": "按其风险：%s",
	"low":                      "低",
	"medium":                   "中",
	"high":                     "高",
	"critical":                 "严重",

	"\"ticket\" has to be a string, as a call was answered with it": "\"ticket\" 必须是字符串，即调用所得到的凭证",
	"withdrawn by %s":                                                   "由 %s 撤回",
	"the caller has cancelled the call":                                 "调用方已取消调用",
	"the tool or the rules have changed since":                          "工具或规则此后已变更",
	"the ticket is of a %s, and not of a tool; make that request again": "该凭证属于 %s，而非工具调用；请重新发出该请求",
}

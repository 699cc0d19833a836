package message

// About what the rules say to a call, and about calls that wait for a person.
const (
	PolicyDenied      Code = "policy_denied"
	ApprovalPending   Code = "approval_pending"
	ApprovalRejected  Code = "approval_rejected"
	ApprovalExpired   Code = "approval_expired"
	ApprovalCancelled Code = "approval_cancelled"
	ApprovalWaits     Code = "approval_waits"
	ApprovalStale     Code = "approval_stale"
	CallOvertaken     Code = "call_overtaken"
	ApprovalQuestion  Code = "approval_question"
	ApprovalYes       Code = "approval_yes"
	ApprovalNo        Code = "approval_no"
)

var judgeTexts = texts{
	PolicyDenied: {
		Text{`The rules of this Toolcrib do not allow this call of "{tool}" ({rule}){because}.`, "Do not try again in another way; ask whoever looks after Toolcrib if it is needed."},
		Text{"本 Toolcrib 的规则不允许这样调用“{tool}”（{rule}）{because}。", "请勿换个方式重试；如确有需要，请联系 Toolcrib 的管理者。"},
	},
	ApprovalPending: {
		Text{
			`A person has to agree to this call of "{tool}" first (risk: {risk}), and nobody has decided yet; nothing was done. The ticket is {ticket}; it expires at {expires}.`,
			`To pick up the result once it was decided, make exactly the same call again, or call the tool {pickup} with {"ticket": "{ticket}"}. A person decides by "toolcrib approval approve {ticket}".`,
		},
		Text{
			"对“{tool}”的这次调用须先经人同意（风险：{risk}），目前尚无人作出决定，什么都没有执行。凭证为 {ticket}，有效至 {expires}。",
			`决定之后，请用完全相同的参数再次调用，或以 {"ticket": "{ticket}"} 调用工具 {pickup} 来取得结果。审批人可用 toolcrib approval approve {ticket} 作出决定。`,
		},
	},
	ApprovalRejected: {
		Text{`A person was asked about this call of "{tool}" and said no{note}. Nothing was done.`, "Do not make the same call again unless you are told to."},
		Text{"已就“{tool}”的这次调用征询意见，被拒绝{note}。什么都没有执行。", "除非另有要求，请勿再次发起相同的调用。"},
	},
	ApprovalExpired: {
		Text{"Nobody has agreed to the call in time, or the agreement was not used in time; nothing was done.", "Make the call again to ask once more."},
		Text{"未在限期内获得同意，或同意后未在限期内执行；什么都没有执行。", "如需再次征询，请重新调用。"},
	},
	ApprovalCancelled: {
		Text{`The request to agree to this call of "{tool}" was withdrawn{note}. Nothing was done.`, "Make the call again to ask once more."},
		Text{"对“{tool}”的这次调用的审批请求已撤回{note}。什么都没有执行。", "如需再次征询，请重新调用。"},
	},
	ApprovalWaits: {
		Text{`A person is asked to agree to this call (risk: {risk}), by "toolcrib approval approve {ticket}"; {left} are left.`, ""},
		Text{"正在等待有人同意此次调用（风险：{risk}），可用 toolcrib approval approve {ticket} 批准；剩余 {left}。", ""},
	},
	ApprovalStale: {
		Text{`The tool "{tool}" is not described any more as it was when the call was made; the arguments cannot be changed now.`, "Reject it; the caller may make the call again."},
		Text{"工具“{tool}”的描述与发起调用时不同，无法再修改参数。", "请拒绝此请求；调用方可以重新调用。"},
	},
	CallOvertaken: {
		Text{`Before this call of "{tool}" could be sent, the rules, its tool or a grant were changed so that a person has to agree to it now; nothing was done.`, "Make the call again to have somebody asked."},
		Text{"在发出对“{tool}”的这次调用之前，规则、工具或授权已变更，现在须先经人同意；什么都没有执行。", "请重新调用，以征询同意。"},
	},
	ApprovalQuestion: {
		Text{
			`Toolcrib asks you (agreement {round} of {persons}): may "{tool}" of the server "{server}" be run? Risk: {risk}. {warning} Reasons: {reasons}. It would get exactly these arguments: {arguments}`, "",
		},
		Text{"Toolcrib 请您确认（第 {round} 次，共 {persons} 次）：是否允许运行服务器“{server}”的“{tool}”？风险：{risk}。{warning}原因：{reasons}。它将得到的参数为：{arguments}", ""},
	},
	ApprovalYes: {
		Text{"Run it once", ""},
		Text{"运行一次", ""},
	},
	ApprovalNo: {
		Text{"Do not run it", ""},
		Text{"不运行", ""},
	},
}

package message

// About requests that people agree to calls, and about grants.
const (
	ApprovalUnknown   Code = "approval_unknown"
	ApprovalForeign   Code = "approval_foreign"
	ApprovalDecided   Code = "approval_decided"
	ApprovalUndecided Code = "approval_undecided"
	ApprovalOwn       Code = "approval_own"
	ApprovalConfirm   Code = "approval_confirm"
	ApprovalSecond    Code = "approval_second"
	ApprovalChanged   Code = "approval_changed"
	ApprovalTaken     Code = "approval_taken"
	ApprovalInvalid   Code = "approval_invalid"
	ApprovalsFull     Code = "approvals_full"
	GrantUnknown      Code = "grant_unknown"
	GrantInvalid      Code = "grant_invalid"
)

var approvalTexts = texts{
	ApprovalUnknown: {
		Text{`There is no request for approval "{id}" that you may see.`, "See the list of them; those that are over are kept for 90 days."},
		Text{"没有您可查看的审批请求“{id}”。", "请查看请求列表；已结束的请求保留 90 天。"},
	},
	ApprovalForeign: {
		Text{
			"The answer is to a question about another call than this one (request {id}); nothing was done.",
			"Make the call exactly as it was when the question came, with the same arguments and _meta, or without the answer to have somebody asked anew.",
		},
		Text{"该答复针对的是另一次调用（请求 {id}），而不是这一次；什么都没有执行。", "请使用与收到问题时完全相同的参数和 _meta 再次调用；或不带答复调用，以重新征询。"},
	},
	ApprovalDecided: {
		Text{`The request {id} was {what} already, by {by} at {at}.`, "What was decided first holds."},
		Text{"请求 {id} 已于 {at} 由{by}{what}。", "以最先作出的决定为准。"},
	},
	ApprovalUndecided: {
		Text{`Nobody has decided about the request {id} yet.`, "Wait for the decision."},
		Text{"请求 {id} 尚无人作出决定。", "请等待决定。"},
	},
	ApprovalOwn: {
		Text{`Nobody decides about their own calls, and {subject} makes this one.`, "Somebody else has to decide, with a token of their own."},
		Text{"任何人不得审批自己的调用，而此调用由 {subject} 发起。", "须由他人使用自己的令牌作出决定。"},
	},
	ApprovalConfirm: {
		Text{`This would be agreement {round} of {persons} to the request {id}, and the decision is not meant as that.`, `Look at the request again, and if you agree, decide with "confirmation": {round}.`},
		Text{"这将是对请求 {id} 的第 {round} 次同意（共需 {persons} 次），而所作决定并未如此注明。", `请再次查看该请求；如同意，请在决定中注明 "confirmation": {round}。`},
	},
	ApprovalSecond: {
		Text{`{by} has agreed to the request {id} already, and it needs two persons.`, "Somebody else has to agree as well."},
		Text{"{by} 已同意请求 {id}，而该请求须经两人同意。", "还须由另一人同意。"},
	},
	ApprovalChanged: {
		Text{`The arguments of the request {id} are not those that you have seen, or you did not say which you have seen.`, `Look at the request again, and decide with its "hash" as "saw".`},
		Text{"请求 {id} 的参数与您所见的不同，或您未说明所见的是哪些参数。", `请再次查看该请求，并将其 "hash" 作为 "saw" 一并提交。`},
	},
	ApprovalTaken: {
		Text{`By the request {id} a call was made already ({call}).`, "An agreement is good for one call. Ask again for another one."},
		Text{"请求 {id} 已用于一次调用（{call}）。", "一次同意只对一次调用有效；如需再次调用，请重新申请。"},
	},
	ApprovalInvalid: {
		Text{`The request or the decision cannot be taken: {detail}.`, "Correct it and try again."},
		Text{"无法受理该请求或决定：{detail}。", "请更正后重试。"},
	},
	ApprovalsFull: {
		Text{`Too many calls {what} wait for somebody to agree ({waiting}).`, "Wait until some of them are decided, or have expired."},
		Text{"{what}待审批的调用过多（{waiting} 个）。", "请等待其中一部分作出决定或过期。"},
	},
	GrantUnknown: {
		Text{`There is no grant "{id}" in force that you may see.`, "See the list of them."},
		Text{"没有您可查看的有效授权“{id}”。", "请查看授权列表。"},
	},
	GrantInvalid: {
		Text{`The grant cannot be given: {detail}.`, "Correct it and try again."},
		Text{"无法给予该授权：{detail}。", "请更正后重试。"},
	},
}

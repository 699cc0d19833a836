package message

// About what a role allows.
const (
	RoleRefused Code = "role_refused"
)

var identityRoleTexts = texts{
	RoleRefused: {
		Text{`The role "{role}" does not allow this.`, "Use the token of somebody who may, or ask whoever looks after Toolcrib for a role that allows it."},
		Text{"角色“{role}”无权执行此操作。", "请使用有权限者的令牌，或请 Toolcrib 的管理者授予合适的角色。"},
	},
}

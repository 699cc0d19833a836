package message

// About who may come in, and about tokens and tenants.
const (
	RoleRefused       Code = "role_refused"
	ScopeRefused      Code = "scope_refused"
	ScopeInsufficient Code = "scope_insufficient"
	TokenInURL        Code = "token_in_url"
	TokenExpired      Code = "token_expired"
	TokenUnknown      Code = "token_unknown"
	IssuerUnreachable Code = "issuer_unreachable"
	SameOriginNeeded  Code = "same_origin_needed"
	GrantRefused      Code = "grant_refused"
	HubwideRequired   Code = "hubwide_required"
	TenantUnknown     Code = "tenant_unknown"
	TenantExists      Code = "tenant_exists"
	TenantInUse       Code = "tenant_in_use"
	LoginOff          Code = "login_off"
	LoginFailed       Code = "login_failed"
	LoginForbidden    Code = "login_forbidden"
	LoginUnavailable  Code = "login_unavailable"
)

var identityTexts = texts{
	RoleRefused: {
		Text{`The role "{role}" does not allow this.`, "Use the token of somebody who may, or ask whoever looks after Toolcrib for a role that allows it."},
		Text{"角色“{role}”无权执行此操作。", "请使用有权限者的令牌，或请 Toolcrib 的管理者授予合适的角色。"},
	},
	ScopeRefused: {
		Text{"The token is not good for this: its scope has no {what}.", "Use a token with a wider scope; the scope of this one: toolcrib token list"},
		Text{"该令牌不能用于此处：其范围中没有 {what}。", "请使用范围更广的令牌；查看此令牌的范围：toolcrib token list"},
	},
	ScopeInsufficient: {
		Text{"The access token has none of the scopes that are needed here: {scopes}.", "Ask the authorization server for one of them."},
		Text{"访问令牌没有此处所需的权限范围（scope）：{scopes}。", "请向授权服务器申请其中之一。"},
	},
	TokenInURL: {
		Text{"A token stands in the URL, where logs and histories keep it; the request was refused, and the token should be revoked.", "Send it as \"Authorization: Bearer TOKEN\"."},
		Text{"令牌出现在 URL 中，会被日志和历史记录保存；请求已被拒绝，应吊销该令牌。", "请以 Authorization: Bearer TOKEN 发送。"},
	},
	TokenExpired: {
		Text{"The token was good once, but has expired or was revoked.", "Get a new one: toolcrib token create NAME, or from the authorization server that gave it."},
		Text{"该令牌曾经有效，但已过期或被吊销。", "请获取新令牌：toolcrib token create NAME，或向签发它的授权服务器申请。"},
	},
	TokenUnknown: {
		Text{`There is no API token with the id "{id}".`, "See those that there are: toolcrib token list"},
		Text{"没有 id 为“{id}”的 API 令牌。", "查看现有令牌：toolcrib token list"},
	},
	IssuerUnreachable: {
		Text{"The access token cannot be checked now: the keys of its issuer {issuer} cannot be had.", "Try again soon. If that lasts, look whether this machine reaches the issuer."},
		Text{"暂时无法核验访问令牌：取不到其签发方 {issuer} 的公钥。", "请稍后再试；若持续如此，请检查本机能否访问该签发方。"},
	},
	SameOriginNeeded: {
		Text{"A change with a login cookie has to come from a page of this Toolcrib, and the request does not say that it does.", "A program uses an API token instead of the cookie: toolcrib token create NAME"},
		Text{"带登录 cookie 的更改必须来自本 Toolcrib 的页面，而该请求未表明这一点。", "程序应使用 API 令牌而非 cookie：toolcrib token create NAME"},
	},
	GrantRefused: {
		Text{"A token may allow no more than what its maker may: {detail}.", ""},
		Text{"令牌的权限不能超过其创建者：{detail}。", ""},
	},
	HubwideRequired: {
		Text{"This needs an administrator of the hub itself; one of a tenant may not do it.", "Use the administrator's token; it is kept in the file that \"toolcrib token show\" names."},
		Text{"此操作需要整个中枢的管理员；租户的管理员无权执行。", "请使用管理员令牌；toolcrib token show 会显示其所在文件。"},
	},
	TenantUnknown: {
		Text{`There is no tenant called "{tenant}".`, "See those that there are: toolcrib tenant list"},
		Text{"没有名为“{tenant}”的租户。", "查看现有租户：toolcrib tenant list"},
	},
	TenantExists: {
		Text{`There is a tenant called "{tenant}" already.`, ""},
		Text{"已有名为“{tenant}”的租户。", ""},
	},
	TenantInUse: {
		Text{`The tenant "{tenant}" still has tokens: {count}.`, "Revoke them first: toolcrib token list"},
		Text{"租户“{tenant}”仍有令牌：{count} 个。", "请先吊销它们：toolcrib token list"},
	},
	LoginOff: {
		Text{"Nobody signs in here: the configuration names no provider.", "Set \"auth\": {\"oidc\": …}; see docs/identity.md. Programs use tokens."},
		Text{"此处未启用登录：配置中没有登录提供方。", "请设置 \"auth\": {\"oidc\": …}，见 docs/identity.zh-CN.md。程序请使用令牌。"},
	},
	LoginFailed: {
		Text{"The login did not come to its end: {detail}.", "Begin again at /auth/login."},
		Text{"登录未能完成：{detail}。", "请从 /auth/login 重新开始。"},
	},
	LoginForbidden: {
		Text{"You are known, but not allowed in: {detail}.", "Ask whoever looks after Toolcrib for a role."},
		Text{"身份已确认，但您未获准进入：{detail}。", "请向 Toolcrib 的管理者申请角色。"},
	},
	LoginUnavailable: {
		Text{"Nobody can sign in now: {detail}.", "Try again soon; the log has more."},
		Text{"暂时无法登录：{detail}。", "请稍后再试；日志中有详情。"},
	},
}

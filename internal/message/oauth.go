package message

// About being let in to a server by OAuth.
const (
	UpstreamLoginNeeded  Code = "upstream_login_needed"
	UpstreamScopeNeeded  Code = "upstream_scope_needed"
	UpstreamLoginFailed  Code = "upstream_login_failed"
	UpstreamLoginUnused  Code = "upstream_login_unused"
	UpstreamLoginUnknown Code = "upstream_login_unknown"
	UpstreamLoginNowhere Code = "upstream_login_no_address"
	UpstreamLoginBusy    Code = "upstream_login_busy"
	UpstreamLoginsFull   Code = "upstream_logins_full"
)

var oauthTexts = texts{
	UpstreamLoginNeeded: {
		Text{`The server "{server}" wants a login at {issuer}.`, "Log in: toolcrib server login {server}, with --own for calls under a name of your own."},
		Text{"服务器“{server}”要求在 {issuer} 登录。", "请登录：toolcrib server login {server}；以自己的名称调用时加 --own。"},
	},
	UpstreamScopeNeeded: {
		Text{`The server "{server}" wants further rights for this: {scopes}.`, "Log in again to give them: toolcrib server login {server}"},
		Text{"服务器“{server}”为此要求更多权限：{scopes}。", "请重新登录以授予这些权限：toolcrib server login {server}"},
	},
	UpstreamLoginFailed: {
		Text{`The login to the server "{server}" did not come about: {detail}.`, "Begin again with: toolcrib server login {server}"},
		Text{"未能登录服务器“{server}”：{detail}。", "请重新开始：toolcrib server login {server}"},
	},
	UpstreamLoginUnused: {
		Text{`There is no login to the server "{server}": {detail}.`, ""},
		Text{"服务器“{server}”无需登录：{detail}。", ""},
	},
	UpstreamLoginUnknown: {
		Text{"This login is not known: it is over, or was begun anew.", "Begin again, and use the newest address."},
		Text{"找不到这次登录：它已结束，或已重新开始。", "请重新开始，并使用最新的地址。"},
	},
	UpstreamLoginNowhere: {
		Text{"Toolcrib listens on no address to which a browser could come back after the login.", "Start it with: toolcrib serve"},
		Text{"Toolcrib 没有监听任何地址，登录后浏览器无法返回。", "请启动：toolcrib serve"},
	},
	UpstreamLoginBusy: {
		Text{"Too many logins are under way.", "Finish one of them, or wait {minutes} minutes."},
		Text{"进行中的登录过多。", "请先完成其中一个，或等待 {minutes} 分钟。"},
	},
	UpstreamLoginsFull: {
		Text{"There are {limit} logins at servers already, as many as there may be.", "Log out where a login is not needed any more: toolcrib server logout KEY --own"},
		Text{"各服务器的登录已达上限 {limit} 个。", "请注销不再需要的登录：toolcrib server logout KEY --own"},
	},
}

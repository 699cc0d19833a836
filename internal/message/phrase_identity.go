package message

// identityPhrases are about who may come in.
var identityPhrases = map[string]string{
	// The configuration.
	"must begin with https://; only on this machine http:// will do":          "必须以 https:// 开头；仅本机可用 http://",
	"must not hold a user name or password":                                   "不得包含用户名或密码",
	"must not have a fragment":                                                "不得包含片段（#）",
	"%s%s lets nobody in, since it has neither \"roles\" nor \"defaultRole\"": "%s%s 不会让任何人进入，因为既没有 \"roles\" 也没有 \"defaultRole\"",
	"%s%s is there twice":                                                     "%s%s 出现了两次",
	"%s%s is no scope of OAuth":                                               "%s%s 不是 OAuth 的权限范围（scope）",

	"servers as a whole":      "整个服务器集合",
	"the address of no group": "不带分组的地址",

	"whoever looks after it is told why": "具体原因只告知其管理者",

	// Tokens and tenants.
	"its role would be %s, and yours is %s":                                              "其角色为 %s，而您的角色是 %s",
	"it would be of another tenant":                                                      "它属于另一个租户",
	"its scope would be wider than yours":                                                "其范围比您的更广",
	"it would be good for longer than yours, which ends at %s":                           "其有效期会超过您的令牌（于 %s 到期）",
	"subject: it must have 1 to %d letters, digits, dots, underscores and hyphens":       "subject：必须是 1 到 %d 个字母、数字、点、下划线或连字符",
	"subject: the name %s is the hub's own":                                              "subject：名称 %s 由系统保留",
	"role: it must be one of %s":                                                         "role：必须是 %s 之一",
	"scopes: %s is none; each is server:KEY, group:NAME or door:NAME":                    "scopes：%s 无效；每一项应为 server:KEY、group:NAME 或 door:NAME",
	"scopes: there may be %d at most":                                                    "scopes：最多 %d 项",
	"expires: it must be a duration such as \"90d\" or \"12h\", or \"never\"":            "expires：必须是形如 \"90d\"、\"12h\" 的时长，或 \"never\"",
	"expires: it must be from 1m to 3650d":                                               "expires：必须在 1m 到 3650d 之间",
	"note: it must have at most %d characters, and no control characters":                "note：最多 %d 个字符，且不含控制字符",
	"name: it must have 1 to 63 lower-case letters, digits and hyphens, no hyphen first": "name：必须是 1 到 63 个小写字母、数字或连字符，且不以连字符开头",

	// The login.
	"the browser has no cookie of a login that was begun here within 10 minutes": "浏览器没有 10 分钟内在此开始登录的 cookie",
	"the answer is not for the login that this browser has begun":                "应答与此浏览器开始的登录不符",
	"the answer comes from another provider":                                     "应答来自另一个提供方",
	"the provider refused: %s":                                                   "提供方拒绝：%s",
	"too many sign in at once":                                                   "同时登录的人过多",
	"the provider does not take the code":                                        "提供方不接受授权码",
	"the provider sent no identity":                                              "提供方未给出身份",
	"the identity is not one that the provider signed for this login":            "该身份并非提供方为此次登录签发",
	"the provider %s was not reached":                                            "无法连接提供方 %s",
	"the address by which browsers come here is not known; set \"redirectURL\"":  "不知道浏览器访问此处的地址；请设置 \"redirectURL\"",
	"the client secret in the configuration cannot be filled in":                 "无法填入配置中的客户端密钥",
	"none of your groups has a role here":                                        "您所在的组在此没有角色",
	"the provider does not say of which tenant you are":                          "提供方未说明您属于哪个租户",
	"the tenant %s is not known here":                                            "此处没有租户 %s",
}

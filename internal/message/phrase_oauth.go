package message

// oauthPhrases are about being let in to servers by OAuth, and what becomes of a
// login.
var oauthPhrases = map[string]string{
	// The configuration.
	"a key goes into \"apiKey\"":                            "密钥应写入 apiKey",
	"%s%s must be \"oauth\"":                                "%s%s 必须是 \"oauth\"",
	"%s%s must be an address of https with a path":          "%s%s 必须是带路径的 https 地址",
	"%s%s must begin with https:// or http://":              "%s%s 必须以 https:// 或 http:// 开头",
	"%s%s has both a \"clientSecret\" and a \"privateKey\"": "%s%s 同时有 clientSecret 和 privateKey",
	"%sthe grant \"client_credentials\" needs a \"clientId\", and a \"clientSecret\" or \"privateKey\"": "%sclient_credentials 授权需要 clientId，以及 clientSecret 或 privateKey",
	"%s%s must be \"authorization_code\" or \"client_credentials\", not %s":                             "%s%s 必须是 \"authorization_code\" 或 \"client_credentials\"，而不是 %s",
	"%s%s has no effect, since the server gets an Authorization from \"headers\" or \"apiKey\"":         "%s%s 不起作用，因为该服务器已从 headers 或 apiKey 得到 Authorization",
	"%s%s has a \"clientSecret\" and no \"authorizationServer\", without which it is sent to nobody":    "%s%s 有 clientSecret 而没有 authorizationServer，这样密钥不会发给任何服务器",
	"how to log in is found out from the server":                                                        "如何登录由服务器得知",

	"an object, true or false":                    "对象、true 或 false",
	"%s%s has a character that no scope can have": "%s%s 含有 scope 不能有的字符",

	// Addresses.
	"its address is not public, and the server's is":                                   "其地址不是公网地址，而服务器的是",
	"its address is not public, and it could not be found out whether the server's is": "其地址不是公网地址，且无法确定服务器的地址是否为公网地址",
	"its address is not one of https":                                                  "其地址不是 https 地址",
	"its address cannot be read":                                                       "无法解析其地址",
	"its address has a user":                                                           "其地址中含有用户名",
	"its answer is too large":                                                          "其应答过大",
	"the request was cancelled":                                                        "请求已取消",
	"it was not reached":                                                               "无法连接",
	"it answered HTTP %s":                                                              "返回 HTTP %s",
	"it answered %s":                                                                   "返回 %s",
	"its answer cannot be read":                                                        "无法读取其应答",
	"its answer has no token":                                                          "其应答中没有令牌",
	"its token is of the type %s":                                                      "其令牌类型为 %s",
	"its token cannot be sent":                                                         "其令牌无法发送",
	"what is there cannot be read":                                                     "无法读取那里的内容",

	// Metadata.
	"its metadata: %s":                                                                                    "其元数据：%s",
	"its metadata name no authorization server":                                                           "其元数据没有指明授权服务器",
	"its metadata name an authorization server without a usable address":                                  "其元数据指明的授权服务器没有可用的地址",
	"its metadata do not name the authorization server %s, which is configured":                           "其元数据没有指明所配置的授权服务器 %s",
	"its metadata are those of %s, which is another one":                                                  "其元数据属于另一个资源 %s",
	"the authorization server %s: %s":                                                                     "授权服务器 %s：%s",
	"the authorization server %s says nothing about itself":                                               "授权服务器 %s 没有提供自身信息",
	"the authorization server %s calls itself %s":                                                         "授权服务器 %s 自称 %s",
	"the authorization server %s names no %s":                                                             "授权服务器 %s 没有指明 %s",
	"the authorization server %s names a %s that is not gone to: %s":                                      "授权服务器 %s 指明的 %s 不可使用：%s",
	"the authorization server %s does not say that it knows PKCE with S256":                               "授权服务器 %s 未声明支持 S256 的 PKCE",
	"the authorization server %s does not let Toolcrib register itself: %s":                               "授权服务器 %s 不允许 Toolcrib 自行注册：%s",
	"what it is told cannot be written":                                                                   "无法写出注册内容",
	"it wants clients to authenticate by %s":                                                              "它要求客户端以 %s 方式认证",
	"it says nothing of how to log in; if it wants a key, put that into \"headers\"":                      "它没有说明如何登录；若它要求密钥，请写入 headers",
	"the authorization server %s knows clients only that were registered by hand; set \"oauth.clientId\"": "授权服务器 %s 只接受手动注册的客户端；请设置 oauth.clientId",

	"it names the authorization server %s; if \"oauth.clientSecret\" is of a client there, set \"oauth.authorizationServer\" to that address, as it is sent nowhere else": "它指明的授权服务器是 %s；若 oauth.clientSecret 属于在那里注册的客户端，请把 oauth.authorizationServer 设为该地址，密钥不会发往别处",

	// The hub as a client.
	"the private key is not in PEM":                         "私钥不是 PEM 格式",
	"the private key cannot be read":                        "无法读取私钥",
	"the private key cannot sign":                           "私钥无法签名",
	"the private key is of a kind that cannot sign here":    "此处不支持用这种私钥签名",
	"the grant client_credentials needs \"oauth.clientId\"": "client_credentials 授权需要 oauth.clientId",
	"it refuses the token that it was given":                "它拒绝刚获得的令牌",
	"nobody is logged in":                                   "尚无人登录",

	// Logins.
	"all use that of Toolcrib":                                           "所有人都使用 Toolcrib 的登录",
	"whoever has no name of their own here uses that of Toolcrib":        "在此没有自己名称的人使用 Toolcrib 的登录",
	"it is not reached over the network":                                 "它不通过网络连接",
	"\"oauth\" is false in its configuration":                            "其配置中 oauth 为 false",
	"its \"headers\" have an Authorization":                              "其 headers 中已有 Authorization",
	"Toolcrib itself is who is let in":                                   "获准访问的是 Toolcrib 自身",
	"the browser came back with more than one answer":                    "浏览器带回了不止一个应答",
	"the answer does not say that it comes from %s":                      "应答没有说明它来自 %s",
	"the answer comes from %s, and not from %s":                          "应答来自 %s，而不是 %s",
	"the answer has no code":                                             "应答中没有授权码",
	"%s answered %s":                                                     "%s 返回 %s",
	"Logged in to %s":                                                    "已登录 %s",
	"Not logged in":                                                      "未能登录",
	"You can close this window. Toolcrib is connecting to the server.":   "可以关闭此窗口。Toolcrib 正在连接该服务器。",
	"Let %s use %s in your name?":                                        "允许 %s 以您的名义使用 %s 吗？",
	"Go on only if this is you, and you have begun this login yourself.": "仅当这是您本人、且由您本人发起此次登录时，才继续。",
	"Go on": "继续",
}

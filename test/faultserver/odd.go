package main

// What -wide adds, as legal and as unusual as what is in weird.go.

// The pages of the lists: of each, the entries and what stands beside them.
const (
	oddResources1 = `{ "x-first":0,"resources" : [` +
		`{"uri":"weird:\/\/a%2Fb/\u4f60?q=%00#f","name":"","size":9007199254740993,"x-v":[0,-0,1e30, 0.10],"annotations":{"priority":0,"audience":[],"lastModified":""},"_meta":{"":""}} ,` +
		`{  "icons":[],"mimeType":"","description":"\ud800 \u0000","name":"second","uri":"demo://second"}],"nextCursor":"p\u00e4ge \/ 2","x":null}`
	oddResources2 = `{"resources":[{"uri":"urn:third","name":"third","title":null}] ,"_meta":{"n":1E+2}}`
	oddTemplates  = `{"resourceTemplates":[ {"uriTemplate":"tmpl://h/{+path}{?q*}","name":"\u0074","x-v":{"keep":[18446744073709551617]},"annotations":{}} ]}`
	oddPrompts    = `{"prompts":[ {"x-v":[ ],"name":"odd_prompt","title":"","description":"\/ \u2028","arguments":[{"name":"","required":false,"x":0},{"name":"b"}],"icons":[],"_meta":{"k":-0}} ]}`
)

// The results of the other verbs.
const (
	oddRead = `"x-first":0, "contents":[ {"uri":"weird:\/\/a%2Fb/\u4f60?q=%00#f","text":"\u0000 \ud800 \/"},` +
		`{"uri":"","blob":"","mimeType":"a\/b","_meta":{}} ,{"hologram":[1e-400,{"deep":[[ ]]}],"uri":"x:y"}],"_meta":{"n":18446744073709551617} }`
	oddPrompt = `"description":"", "messages":[{"role":"user","content":{"type":"hologram","frames":[1E+2,null]}},` +
		`{"content":{"data":"","mimeType":"audio\/x","type":"audio","annotations":{"priority":0}},"role":"assistant"},` +
		`{"role":"user","content":{"type":"resource","resource":{"uri":"weird:\/\/r","text":"","x":[]}}},` +
		`{"role":"robot","content":[{"type":"resource_link","uri":"a:b","name":"","size":0}]}],"x-last":[ ]}`
	oddCompletion = `"completion":{"values":["\/","","\ud83d\ude00"],"total":9007199254740993,"hasMore":false,"x":null} }`
)

// oddQuestions are the parameters of what the ask tool asks.
func oddQuestions(kind string) (method, params string, ok bool) {
	switch kind {
	case "sampling":
		return "sampling/createMessage", `{ "maxTokens":1E+2,"messages":[{"role":"user","content":[{"type":"text","text":"\u0000\/"},{"type":"hologram","x":[0,-0]}]}],` +
			`"modelPreferences":{"hints":[],"costPriority":0},"temperature":0.10,"stopSequences":[],"metadata":{"big":9007199254740993},` +
			`"tools":[{"name":"","inputSchema":{"type":"object","x":1e30}}],"toolChoice":{"mode":"auto"},"x-first":null,"_meta":{"example.org/a":{ }} }`, true
	case "form":
		return "elicitation/create", `{"mode":"form", "message":"\u4f60\/","requestedSchema":{"type":"object","properties":{"z":{"type":"integer","maximum":9007199254740993,"default":0},` +
			`"a":{"type":"string","format":"","x":[1.0 ]},"e":{"type":"array","items":{"anyOf":[{"const":"1","title":""}]},"default":[]}},"required":[]},"x":false}`, true
	case "url":
		return "elicitation/create", `{"url":"https://example.com/%00?a=\u00e4#f","elicitationId":"odd \/ id","message":"", "mode":"url","x":{"n":-9223372036854775809}}`, true
	case "roots":
		return "roots/list", `{ "x-first":[ ],"_meta":{"example.org/b":0.0}}`, true
	}
	return "", "", false
}

// The notifications of the tell tool. %s is the progress token.
const (
	oddLog      = `{ "level":"info","logger":"","data":{"big":9007199254740993,"l":[ ],"t":"\u0000\/"},"x":[1.0 ],"_meta":{"":null}}`
	oddProgress = `{"x":null, "progressToken":%s,"progress":0.10,"total":1E+2,"message":"\/ \ud800","_meta":{"example.org/p":[]}}`
	oddUpdated  = `{"title":"", "uri":"weird:\/\/a%2Fb/\u4f60?q=%00#f","x":[0.0 ]}`
	oddComplete = `{ "x":[ ],"elicitationId":"odd \/ id","big":9007199254740993}`
)

// oddErrors are what the refuse tool answers.
func oddErrors(kind string) (raw string, ok bool) {
	switch kind {
	case "url":
		return `{ "code":-32042,"message":"\u0041uthorize\/first","data":{ "elicitations" : [{"mode":"url","elicitationId":"odd \/ id","url":"https://example.com/?q=\u00e4","message":"","x":[0,-0]}],"x":null },"x-extra":[1.0]}`, true
	case "text":
		return `{"message":"","data":"\u0000 \ud800","code":-32099}`, true
	case "number":
		return `{"code":1E+2,"data":18446744073709551617,"message":"a code with an exponent"}`, true
	case "missing":
		return `{"code":-32002,"message":"no such resource","data":{"uri":"weird:\/\/none"}}`, true
	}
	return "", false
}

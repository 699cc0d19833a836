package main

// The JSON below is legal and unusual: integers that a float64 cannot hold,
// numbers with an exponent, escaped member names, escapes that need not be, a
// NUL, a lone surrogate, members that are 0, false, null or empty, unknown
// members, content kinds that no revision has, deep nesting, spaces where
// nobody writes any. A hub that keeps bytes passes all of it on unchanged. Each
// is one line, as stdio needs it.

// weirdTool is the weird tool's entry in tools/list.
const weirdTool = `{ "name":"weird","title":"","description":"Returns legal and unusual JSON. \u4f60\u597d \ud83d\ude80 \/ \u0000",` +
	`"x-vendor":{"keep":[0,-0,0.0,1e30,9007199254740993,18446744073709551617]},` +
	`"execution":{"taskSupport":"optional"},"icons":[],` +
	`"annotations":{"readOnlyHint":true,"destructiveHint":false,"priority":0,"x-extra":null},` +
	`"inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
	`"properties":{"z":{"type":"integer","maximum":9007199254740993,"default":0},"a":{"const":null},"\u006d":{}},` +
	`"additionalProperties":false,"x-order":["z","a","m"]},` +
	`"outputSchema":{"type":"object","properties":{},"required":[]},` +
	`"_meta":{"":"","example.org/n":12345678901234567890}}`

// weirdResult is the result of a call of the weird tool.
const weirdResult = `{  "x-first":null,"content" : [` +
	`{"type":"text","text":"\u0000\u001f\u2028\ud800 \/ \"\\ ","annotations":{"priority":0,"audience":[]}},` +
	`{"type":"text","text":"","_meta":{}},` +
	`{"type":"hologram","frames":[[],{},[[[{"deep":[null,false,0,""]}]]]],"hasMore":false},` +
	`{"type":"resource_link","uri":"weird://a%2Fb/\u4f60?q=%00","name":"","size":0},` +
	`{"type":"image","data":"","mimeType":"image/x-none"},` +
	`{"mimeType":"audio\/x","type":"audio","data":"AA=="},` +
	`{"type":"resource","resource":{"uri":"weird:\/\/r","blob":"","_meta":{"n":1E+2}},"annotations":{}}],` +
	`"struct\u0075redContent":{"id":9007199254740993,"neg":-9223372036854775809,"exp":1E+2,"tiny":1e-400,"half":0.10,` +
	`"zero":0,"no":false,"nil":null,"e":"","l":[],"o":{},"\u0061b":"escaped name","dup  space":  [ 1 ,2 ] },` +
	`"isError" :false,"_meta":{"example.org/seq":18446744073709551617,"a.b/c":{}},"x-last":[ ] }`

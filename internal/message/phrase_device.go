package message

// devicePhrases are about devices that dial in.
var devicePhrases = map[string]string{
	"it has hung up":                                 "对方已挂断",
	"it sent a text of more than %d bytes":           "它发送的文本超过 %d 字节",
	"the connection broke":                           "连接中断",
	"its backend's connection broke":                 "其后端的连接中断",
	"its backend closed the connection (code %d)":    "其后端关闭了连接（代码 %d）",
	"its backend sent a frame of more than %d bytes": "其后端发送的帧超过 %d 字节",
	"its tools could not be found out":               "无法获知其工具",
	"it does not answer any more":                    "它不再应答",
	"it is no form with a file":                      "不是带文件的表单",
	"the form is not whole":                          "表单不完整",
	"there is no picture in it":                      "其中没有图片",
	"the ids of the connection are used up":          "该连接的编号已用完",
}

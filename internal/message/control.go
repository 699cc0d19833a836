package message

var controlTexts = texts{}

package message

var configTexts = texts{}

package message

var clientTexts = texts{}

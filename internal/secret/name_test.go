package secret

import (
	"strings"
	"testing"
)

func TestNamesSecret(t *testing.T) {
	for name, want := range map[string]bool{
		"API_KEY": true, "apiKey": true, "APIKey": true, "apikey": true, "key": true, "GITHUB_TOKEN": true, "accessToken": true,
		"X-Auth-Token": true, "dbPassword": true, "PGPASSWORD": true, "db_pass": true, "Authorization": true, "client-secret": true,
		"monkey": false, "keyboard": false, "AUTHOR": false, "passage": false, "tokenizer": false, "HOST": false, "": false, "名": false, "密码": true, "数据库密码": true, "访问令牌": true, "密度": false, "\xffTOKEN": true,
		"aVeryLongWordThatIsLongerThanAnyOtherToken": true, "averylongwordthatislongerthantoken": false,
	} {
		if got := NamesSecret(name); got != want {
			t.Errorf("NamesSecret(%q) = %v", name, got)
		}
	}
}

func TestNamesSecretValue(t *testing.T) {
	for name, want := range map[string]bool{"key": false, "KEYS": false, "api_key": true, "": false, "token": true, "key-key": false, "keyToken": true} {
		if got := NamesSecretValue(name); got != want {
			t.Errorf("NamesSecretValue(%q) = %v", name, got)
		}
	}
}

func TestIsKey(t *testing.T) {
	for value, want := range map[string]bool{
		"sk-abcdefghijkl": true, "sk-": false, "AKIAIOSFODNN7EXAMPLE": true, "xoxb-1234567890": true,
		strings.Repeat("a1", 10): true, strings.Repeat("a1", 9): false, strings.Repeat("a", 40): false, "a sentence with 20 and 21 in it": false,
	} {
		if got := IsKey(value); got != want {
			t.Errorf("IsKey(%q) = %v", value, got)
		}
	}
}

// Names are looked at in every call.
func TestNamesMakeNoGarbage(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { NamesSecret("maxNumberOfResults"); NamesSecret("access_token") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

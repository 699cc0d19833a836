package secret

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// NamesSecret reports whether a name is one that people give to secrets: one of
// its words is. Words are set apart by what is no letter or digit, or by a
// capital letter.
func NamesSecret(name string) bool {
	found, _ := words(name)
	return found
}

// NamesSecretValue is [NamesSecret] for the names of values that are no
// configuration: there, one that has no other word than key is more often that
// of an entry in a table.
func NamesSecretValue(name string) bool {
	found, onlyKey := words(name)
	return found && !onlyKey
}

// words looks at the words of a name in lower case: whether one is that of a
// secret, and whether there is none but key. It makes no garbage, since names
// are looked at in every call.
func words(name string) (found, onlyKey bool) {
	var buf [32]byte // a word that is longer than any of a secret is cut
	word := buf[:0]
	onlyKey = true
	var before rune
	end := func() {
		if len(word) > 0 {
			found = found || isSecretWord(word)
			onlyKey = onlyKey && (string(word) == "key" || string(word) == "keys")
		}
		word = buf[:0]
	}
	for at, r := range name {
		letter := unicode.IsLetter(r) || unicode.IsDigit(r)
		capital := letter && len(word) > 0 && unicode.IsUpper(r) && (!unicode.IsUpper(before) || lowerFollows(name[at+utf8.RuneLen(r):]))
		if !letter || capital {
			end()
		}
		if letter && len(word) < len(buf)-utf8.UTFMax {
			word = utf8.AppendRune(word, unicode.ToLower(r))
		}
		before = r
	}
	end()
	return found, onlyKey
}

func lowerFollows(rest string) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	return unicode.IsLower(r)
}

func isSecretWord(word []byte) bool {
	switch string(word) {
	case "key", "keys", "apikey", "apikeys", "accesskey", "authkey", "privatekey", "secretkey", "private",
		"token", "tokens", "accesstoken", "authtoken", "bearertoken", "refreshtoken",
		"secret", "secrets", "clientsecret", "appsecret", "pin", "otp",
		"password", "passwords", "passwd", "pass", "pwd", "passphrase", "passcode",
		"credential", "credentials", "cred", "creds", "cookie", "cookies", "jwt", "pat", "dsn",
		"auth", "oauth", "authorization", "authentication", "bearer":
		return true
	}
	if bytes.HasSuffix(word, []byte("password")) { // as in PGPASSWORD
		return true
	}
	// In Chinese words are not set apart.
	for _, name := range [...]string{"密码", "密碼", "口令", "令牌", "密钥", "密鑰", "凭证", "凭据", "验证码"} {
		if word[0] >= utf8.RuneSelf && bytes.Contains(word, []byte(name)) {
			return true
		}
	}
	return false
}

// IsKey reports whether a value looks like a key that a service has given out:
// it begins as such keys do, or is long and made of letters and digits without
// sense.
func IsKey(value string) bool {
	const long = 20
	if HasKeyPrefix(value) {
		return true
	}
	letters, digits := 0, 0
	for _, c := range []byte(value) {
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
			letters++
		case '0' <= c && c <= '9':
			digits++
		case strings.IndexByte("-_+=~", c) < 0:
			return false
		}
	}
	return len(value) >= long && letters >= 2 && digits >= 2
}

// HasKeyPrefix reports whether a value begins as the keys of a known service
// do, and is long enough for one.
func HasKeyPrefix(value string) bool {
	const short = 12
	if len(value) < short {
		return false
	}
	for _, prefix := range [...]string{
		"sk-", "sk_", "pk_", "rk_", "ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "xox", "eyJ",
		"AKIA", "AIza", "hf_", "npm_", "ntn_", "secret_", "Bearer ", "Basic ",
	} {
		if strings.HasPrefix(value, prefix) {
			return true
		}
	}
	return false
}

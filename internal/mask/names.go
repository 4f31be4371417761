package mask

import (
	"slices"
	"strings"
	"unicode"
)

// partsOfNames are what the obvious fields have in their names, in any spelling: access_token, AccessToken, access-token.
var partsOfNames = []string{
	"password", "passwd", "passphrase", "pwd", "secret", "token", "apikey", "accesskey", "privatekey", "authorization",
	"cookie", "credential", "signature",
	"phone", "mobile", "idcard", "idnumber", "identitycard", "passport", "bankcard", "cardno", "cardnumber", "cvv",
	"email", "手机", "电话", "身份证", "密码", "口令", "银行卡", "邮箱", "shouji", "shenfenzheng",
}

// wholeNames are obvious only as the whole of a name.
var wholeNames = []string{"tel", "pass", "auth", "sign", "idno", "sfz", "pin", "otp", "smscode", "msisdn"}

// obvious reports that a field of that name is hidden without a rule.
func obvious(name string) bool {
	plain := plainName(name)
	for _, part := range partsOfNames {
		if strings.Contains(plain, part) {
			return true
		}
	}
	return slices.Contains(wholeNames, plain)
}

// plainName returns a name without what spellings differ in.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || unicode.IsSpace(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

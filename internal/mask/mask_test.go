package mask_test

import (
	"encoding/json"
	"strings"
	"testing"

	"sidecar/internal/mask"
)

func TestFieldsAreHiddenAndAllElseStaysAsItWasWritten(t *testing.T) {
	m := mask.New([]string{"salary", "*.note", "payload.user.*", "a.b"})
	tests := map[string]struct{ text, want string }{
		"nothing to hide":          {`{"uuid":"a1","x":[1, 2.50,-3e2,true ,null]}`, `{"uuid":"a1","x":[1, 2.50,-3e2,true ,null]}`},
		"blanks and escapes":       {" {\"a\\/b\" :\t\"\\u4e2d\\n\" }\n", " {\"a\\/b\" :\t\"\\u4e2d\\n\" }\n"},
		"a password":               {`{"password":"hunter2","n":1}`, `{"password":"***","n":1}`},
		"any spelling":             {`{"Access-Token":"x","apiKey":"y","PHONE_NO":1}`, `{"Access-Token":"***","apiKey":"***","PHONE_NO":"***"}`},
		"Chinese names":            {`{"手机号":"x","用户密码":"y","身份证":[1]}`, `{"手机号":"***","用户密码":"***","身份证":"***"}`},
		"an escaped name":          {`{"p\u0068one":"x"}`, `{"p\u0068one":"***"}`},
		"an object":                {`{"secret":{"a":[1,{"b":"}"}]},"z":1}`, `{"secret":"***","z":1}`},
		"a rule's name anywhere":   {`{"x":[{"Salary":1}],"salary":2}`, `{"x":[{"Salary":"***"}],"salary":"***"}`},
		"behind a star":            {`{"note":1,"x":{"y":{"note":2}}}`, `{"note":"***","x":{"y":{"note":"***"}}}`},
		"all below a path":         {`{"payload":{"user":{"name":"n","id":7},"id":8}}`, `{"payload":{"user":{"name":"***","id":"***"},"id":8}}`},
		"a path from the root":     {`{"a":{"b":1},"c":{"a":{"b":2}}}`, `{"a":{"b":"***"},"c":{"a":{"b":2}}}`},
		"a phone in a value":       {`{"to":"13812345678","n":13812345678,"m":1.3812345678e10}`, `{"to":"***","n":"***","m":"***"}`},
		"a phone in a text":        {`{"say":"call 138-1234-5678 \u4e2d"}`, `{"say":"call *** 中"}`},
		"a phone in escapes":       {`{"to":"\u0031\u0033812345678"}`, `{"to":"***"}`},
		"a phone for a name":       {`{"13812345678":1}`, `{"***":1}`},
		"an identity number":       {`{"who":"11010519491231002X"}`, `{"who":"***"}`},
		"numbers that are no such": {`{"at":1732900000123,"s":1732900000,"no":"20241130123456789012","ip":"10.0.0.1"}`, `{"at":1732900000123,"s":1732900000,"no":"20241130123456789012","ip":"10.0.0.1"}`},
		"JSON in a text":           {`{"data":"{\"token\":\"x\",\"n\":1}"}`, `{"data":"{\"token\":\"***\",\"n\":1}"}`},
		"JSON in a text, by path":  {`{"payload":"{\"user\":{\"n\":1}}"}`, `{"payload":"{\"user\":{\"n\":\"***\"}}"}`},
		"PHP in a text":            {`{"d":"a:1:{s:8:\"password\";s:2:\"xy\";}"}`, `{"d":"a:1:{s:8:\"password\";s:2:***;}"}`},
		"a name twice":             {`{"pwd":1,"pwd":2}`, `{"pwd":"***","pwd":"***"}`},
		"a negative number":        {`{"n":-13812345678}`, `{"n":"***"}`},
		"no object":                {`"13812345678"`, `"***"`},
		"empty":                    {`{}`, `{}`},
		"no JSON":                  {`password=x`, `*** (10 bytes that are no JSON)`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := m.JSON(tt.text)
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if json.Valid([]byte(tt.text)) && !json.Valid([]byte(got)) {
				t.Errorf("%s is no JSON any more", got)
			}
		})
	}
}

func TestTextsOfNoKnownFormLoseTheirSecrets(t *testing.T) {
	m := mask.New([]string{"salary"})
	tests := map[string]struct{ text, want string }{
		"a plain error":    {"SQLSTATE[HY000]: General error: 1205 at /srv/app/Pay.php:42", "SQLSTATE[HY000]: General error: 1205 at /srv/app/Pay.php:42"},
		"a phone":          {"cannot send to +86 138 1234 5678: no route", "cannot send to ***: no route"},
		"two phones":       {"13812345678 13912345678,13712345678", "*** ***,***"},
		"behind a digit":   {"1 13812345678 2", "1 *** 2"},
		"full-width":       {"号码１３８１２３４５６７８无效", "号码***无效"},
		"a query":          {"GET /x?token=abc&id=1&Password=q%20r", "GET /x?token=***&id=1&Password=***"},
		"an array of PHP":  {"array('password' => 'x y', 'id' => 1)", "array('password' => ***, 'id' => 1)"},
		"cut JSON":         {`{"phone":"x","id":1,"secret":"ab`, `{"phone":***,"id":1,"secret":***`},
		"a header":         {"Authorization: Bearer abc.def", "Authorization: ***"},
		"a rule's name":    {"salary: 100", "salary: ***"},
		"two in a row":     {"x=1;pwd=2;y=3", "x=1;pwd=***;y=3"},
		"JSON in JSON":     {`said {\"password\":\"hush\",\"id\":1}`, `said {\"password\":***,\"id\":1}`},
		"deeper":           {`{\\\"token\\\":\\\"hush\\\",\\\"id\\\":1}`, `{\\\"token\\\":***,\\\"id\\\":1}`},
		"an escape inside": {`{\"pwd\":\"hu\\\"sh\",\"id\":1}`, `{\"pwd\":***,\"id\":1}`},
		"an object":        {`{"secret":{"a":"}","b":["hush"]},"id":1,}`, `{"secret":***,"id":1,}`},
		"one that is cut":  {`{"secret":{"a":"hush","b":`, `{"secret":***`},
		"print_r":          {"Array\n(\n    [password] => my secret\n    [id] => 1\n)", "Array\n(\n    [password] => ***\n    [id] => 1\n)"},
		"var_dump":         {"[\"password\"]=>\n  string(4) \"hush\"\n", "[\"password\"]=>\n  string(4) ***\n"},
		"PHP's serializer": {`s:6:"secret";a:1:{i:0;s:4:"hush";}i:1;`, `s:6:"secret";a:1:***i:1;`},
		"a URL's password": {"cannot connect to amqp://bob:hunter2@mq:5672/v", "cannot connect to amqp://bob:***@mq:5672/v"},
		"a web token":      {"got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl back", "got *** back"},
		"other blanks":     {"138\u00a01234\u00a05678 139–1234–5678", "*** ***"},
		"no value":         {"password=", "password="},
		"in percents":      {"/x?a%5Bpassword%5D=hush&p%61ss%77ord=hush&%E5%AF%86%E7%A0%81=hush&id=1", "/x?a%5Bpassword%5D=***&p%61ss%77ord=***&%E5%AF%86%E7%A0%81=***&id=1"},
		"a link in a link": {"/x?to=%2Fy%3Ftoken%3Dhush%26id%3D1 ok", "/x?to=%2Fy%3Ftoken%3D***%26id%3D1 ok"},
		"JSON in percents": {"data=%7B%22password%22%3A%22hush%22%2C%22id%22%3A1%7D&id=1", "data=%7B%22password%22%3A***&id=1"},
		"a phone in one":   {"to=%2013812345678&x=%2B8613812345678&y=%E5%A7%9313812345678&z=100%13812345678", "to=%20***&x=%2B***&y=%E5%A7%93***&z=100%***"},
		"a lone percent":   {"100% of password=hush, 5%", "100% of password=***, 5%"},
		"a time and a pid": {"2024-11-30 12:00:00 pid 12345", "2024-11-30 12:00:00 pid 12345"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := m.Text(tt.text); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// A rule that hides what is in a field is followed in errors, too, as far as they show what is in what.
func TestARuleForAllFieldsInOneReachesTexts(t *testing.T) {
	m := mask.New([]string{"payload.user.*"})
	for text, want := range map[string]string{
		`cannot read {"user":{"name":"Li","to":"Wei"},"id":1,`:                `cannot read {"user":***,"id":1,`,
		`said {\"user\":{\"name\":\"Li\"},\"id\":1}`:                          `said {\"user\":***,\"id\":1}`,
		"POST /x?user[name]=Li&id=1&user.city=Xi":                             "POST /x?user[name]=***&id=1&user.city=***",
		"$user->name = 'Li'; $user['to'] = \"Wei\"; $shop['name'] = 'x'":      "$user->name = ***; $user['to'] = ***; $shop['name'] = 'x'",
		"Array\n(\n [user] => Array\n (\n [name] => Li\n )\n [id] => 1\n)":    "Array\n(\n [user] => ***\n [id] => 1\n)",
		"[\"user\"]=>\n array(1) {\n [\"name\"]=>\n string(2) \"Li\"\n }\nid": "[\"user\"]=>\n ***\nid",
		"'user' => (object) array('name' => 'Li'), 'id' => 1":                 "'user' => ***, 'id' => 1",
		"[user] => User Object\n(\n [name] => Li\n)\n":                        "[user] => ***\n",
		`s:4:"user";a:1:{s:4:"name";s:2:"Li";}i:1;`:                           `s:4:"user";a:1:***i:1;`,
		"POST /x?user%5Bname%5D=Li%20Wei&id=1&user%5bto%5d=Xi":                "POST /x?user%5Bname%5D=***&id=1&user%5bto%5d=***",
		"POST /x?shop%5Buser%5D%5Bname%5D=Li&user%2Ename=Xi&user%20=Wei":      "POST /x?shop%5Buser%5D%5Bname%5D=***&user%2Ename=***&user%20=***",
		"GET /x?to=%2Fy%3Fuser%255Bname%3D1&shop%5Bname%5D=Li":                "GET /x?to=%2Fy%3Fuser%255Bname%3D1&shop%5Bname%5D=Li",
		"GET /x?to=%2Fy%3Fuser%5Bname%5D%3DLi%26id%3D1&id=2":                  "GET /x?to=%2Fy%3Fuser%5Bname%5D%3D***%26id%3D1&id=2",
		"the user is unknown: 17":                                             "the user is unknown: 17",
	} {
		if got := m.Text(text); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestAnIDLosesTheNumbersOfPeopleAndNothingElse(t *testing.T) {
	for id, want := range map[string]string{
		"13812345678": "***", "+8613812345678": "***", "+447700900123": "***", "order_13812345678_1": "order_***_1", "sms:13812345678": "sms:***",
		"11010519491231002x":                   "***",
		"6f1c1f34-1381-4345-9780-3b5f6a3c2d11": "6f1c1f34-1381-4345-9780-3b5f6a3c2d11",
		"a13812345678":                         "a13812345678", // of letters and digits: a hash
		"1abcdefghij":                          "1abcdefghij",
		"ord_web_1732900000123":                "ord_web_1732900000123",
		"":                                     "",
	} {
		if got := mask.ID(id); got != want {
			t.Errorf("%s is shown as %s, want %s", id, got, want)
		}
	}
}

func TestRulesThatCannotWorkAreRefused(t *testing.T) {
	for _, text := range []string{"", ".", "a.", ".a", "a..b", "a*", "*", "*.*"} {
		if mask.Check(text) == nil {
			t.Errorf("%q is taken", text)
		}
	}
	for _, text := range []string{"a", "*.a", "a.*", "a.*.b", "手机"} {
		if err := mask.Check(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// secretOf makes a value that occurs nowhere else, however short the fuzzer's is.
func secretOf(value string) string { return "q7Z" + value + "Z7q" }

func FuzzAMaskedValueIsNotShown(f *testing.F) {
	for _, seed := range []string{"x", `"`, `\`, "{", "}]", "\n", "中", "\x00", "=", "; s:3", "\xff"} {
		f.Add(seed, "a")
		f.Add("a", seed)
	}
	m := mask.New([]string{"hide", "deep.*"})
	f.Fuzz(func(t *testing.T, value, other string) {
		secret := secretOf(value)
		inner, err := json.Marshal(map[string]any{"hide": secret, "o": other})
		if err != nil {
			t.Skip()
		}
		for _, job := range []any{
			map[string]any{"hide": secret, "other": other},
			map[string]any{"x": []any{map[string]any{"hide": []any{other, secret}}}, other: 1},
			map[string]any{"data": string(inner)},
			map[string]any{"deep": map[string]any{other: map[string]any{"y": secret}}},
			map[string]any{"password": map[string]any{secret: secret}},
		} {
			text, err := json.Marshal(job)
			if err != nil {
				t.Skip()
			}
			got := m.JSON(string(text))
			var back any
			if err := json.Unmarshal([]byte(got), &back); err != nil {
				t.Fatalf("%s became %s: %v", text, got, err)
			}
			flat, _ := json.Marshal(back)
			if strings.Contains(got, "q7Z") || strings.Contains(string(flat), "q7Z") {
				t.Errorf("%s is shown as %s", text, got)
			}
		}
	})
}

func FuzzAnyTextIsMaskedAndJSONStaysJSON(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, `[`, `{"a":"\ud800"}`, "13812345678", "113812345678", `"`, " 1 ", `{"password":1}`, `{"a":"{\"b\":[1]}"}`} {
		f.Add(seed)
	}
	m := mask.New(nil)
	f.Fuzz(func(t *testing.T, text string) {
		got := m.JSON(text)
		if json.Valid([]byte(text)) && !json.Valid([]byte(got)) {
			t.Errorf("%q became %q", text, got)
		}
		// At the end alone: the text may hold the same digits in a longer number, which is nobody's and stays.
		if strings.HasSuffix(m.Text("a "+text+" 13812345678 b"), "13812345678 b") {
			t.Errorf("the number behind %q is shown", text)
		}
	})
}

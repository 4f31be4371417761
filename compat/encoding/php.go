package encoding

import (
	"strconv"
	"strings"
)

func writePHP(text string) string {
	return "s:" + strconv.Itoa(len(text)) + `:"` + text + `";`
}

// readPHP reads the output of serialize().
func readPHP(data string) (string, error) {
	if data == "N;" {
		return "", noText("a PHP-serialized null")
	}
	if len(data) < 4 || data[1] != ':' {
		return "", errUnknown
	}
	kind, value := data[0], data[2:]
	if kind == 's' {
		return readPHPString(value)
	}
	signed := (kind == 'i' || kind == 'd') && value[0] == '-'
	digit := value[0] >= '0' && value[0] <= '9'
	if end := value[len(value)-1]; !digit && !signed || end != ';' && end != '}' {
		return "", errUnknown
	}
	switch kind {
	case 'a':
		return "", noText("a PHP-serialized array")
	case 'O', 'C':
		return "", noText("a PHP-serialized object")
	case 'E':
		return "", noText("a PHP-serialized enum")
	case 'i', 'd', 'b':
		return "", noText("a PHP-serialized number or bool")
	}
	return "", errUnknown
}

// readPHPString reads what stands behind s: – the length in bytes, and the text in quotes, with nothing escaped inside.
func readPHPString(value string) (string, error) {
	digits, rest, ok := strings.Cut(value, ":")
	length, err := strconv.ParseUint(digits, 10, 31)
	if value[0] < '0' || value[0] > '9' {
		return "", errUnknown
	}
	if !ok || err != nil || len(rest) != int(length)+len(`"";`) || rest[0] != '"' || !strings.HasSuffix(rest, `";`) {
		return "", damaged("a PHP-serialized string")
	}
	return rest[1 : len(rest)-2], nil
}

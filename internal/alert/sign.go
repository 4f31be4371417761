package alert

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strconv"
	"time"
)

// The services compare these times with their own clocks: they are the host's, no due time depends on them.

func seconds(at time.Time) string {
	return strconv.FormatInt(at.Unix(), 10) //nolint:forbidigo // as above
}

func millis(at time.Time) string {
	return strconv.FormatInt(at.UnixMilli(), 10) //nolint:forbidigo // as above
}

func mac(key, text string) []byte {
	h := hmac.New(sha256.New, []byte(key))
	_, _ = h.Write([]byte(text)) // it never fails
	return h.Sum(nil)
}

// dingTalkURL adds the signature to a robot's address: the key is the secret, and it is signed, too.
func dingTalkURL(raw, secret string, at time.Time) (string, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", err
	}
	stamp := millis(at)
	q := u.Query()
	q.Set("timestamp", stamp)
	q.Set("sign", base64.StdEncoding.EncodeToString(mac(secret, stamp+"\n"+secret)))
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// feishuSign signs nothing, with time and secret for a key: so Feishu wants it.
func feishuSign(stamp, secret string) string {
	return base64.StdEncoding.EncodeToString(mac(stamp+"\n"+secret, ""))
}

// genericSign signs time and body of the generic form.
func genericSign(stamp, secret string, body []byte) string {
	return "sha256=" + hex.EncodeToString(mac(secret, stamp+"."+string(body)))
}

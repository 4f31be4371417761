package app

import (
	"slices"
	"testing"
)

func TestANameIsGoneWithItsLastUser(t *testing.T) {
	var gone []string
	u := users{gone: func(name string) { gone = append(gone, name) }}
	u.add("mail")
	u.add("mail")
	u.add("sms")
	u.leave("mail")
	u.leave("sms")
	if !slices.Equal(gone, []string{"sms"}) {
		t.Errorf("gone are %q, want sms alone", gone)
	}
	u.leave("mail")
	u.add("mail")
	u.leave("mail")
	if !slices.Equal(gone, []string{"sms", "mail", "mail"}) {
		t.Errorf("gone are %q, want mail twice after sms", gone)
	}
}

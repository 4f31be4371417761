package app

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/coreos/go-systemd/v22/daemon"
)

// The notify functions tell systemd how the process stands. Without systemd they do nothing.

func notifyReady() { _, _ = daemon.SdNotify(false, daemon.SdNotifyReady) }

func notifyReloading() { _, _ = daemon.SdNotify(false, daemon.SdNotifyReloading) }

func notifyStopping() { _, _ = daemon.SdNotify(false, daemon.SdNotifyStopping) }

func notifyAlive() { _, _ = daemon.SdNotify(false, daemon.SdNotifyWatchdog) }

// statusMost is how much of a status a terminal's line can show.
const statusMost = 300

// notifyStatus sets the line that `systemctl status` shows.
func notifyStatus(line string) { _, _ = daemon.SdNotify(false, "STATUS="+statusLine(line)) }

// statusLine returns text in one line: what follows a line's end would be a notification of its own.
func statusLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text)
	if len(text) <= statusMost {
		return text
	}
	cut := statusMost
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + " …"
}

package app

import "github.com/coreos/go-systemd/v22/daemon"

// The notify functions tell systemd how the process stands. Without systemd they do nothing.

func notifyReady() { _, _ = daemon.SdNotify(false, daemon.SdNotifyReady) }

func notifyReloading() { _, _ = daemon.SdNotify(false, daemon.SdNotifyReloading) }

func notifyStopping() { _, _ = daemon.SdNotify(false, daemon.SdNotifyStopping) }

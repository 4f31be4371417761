package testenv

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func (f *FPM) ini() string {
	lines := []string{
		"extension = posix",
		"output_buffering = " + strconv.Itoa(f.opts.OutputBuffering),
		"display_errors = " + onOff(f.opts.DisplayErrors),
		"log_errors = 1",
	}
	if f.opts.Opcache {
		lines = append(lines, "zend_extension = opcache", "opcache.enable = 1")
	}
	if f.opts.OpenBasedir != "" {
		lines = append(lines, "open_basedir = "+f.opts.OpenBasedir)
	}
	return strings.Join(append(lines, f.opts.Ini...), "\n") + "\n"
}

func (f *FPM) conf() string {
	network, address, _ := strings.Cut(f.Listen, "://")
	lines := []string{
		"[global]",
		"error_log = " + filepath.Join(f.Dir, "fpm.log"),
		"process_control_timeout = " + seconds(f.opts.ProcessControlTimeout),
		"[jobs]",
		"listen = " + address,
		"pm = " + or(f.opts.PM, "static"),
		"pm.max_children = " + strconv.Itoa(f.opts.Children),
		"pm.start_servers = 1", "pm.min_spare_servers = 1", "pm.max_spare_servers = 1", // dynamic asks for them
		"pm.max_requests = " + strconv.Itoa(f.opts.MaxRequests),
		"request_terminate_timeout = " + seconds(f.opts.RequestTerminateTimeout),
	}
	if network == "unix" {
		lines = append(lines, "listen.mode = 0666")
	}
	if os.Geteuid() == 0 {
		lines = append(lines, "user = "+FPMUser, "group = nogroup")
	}
	if f.opts.Backlog != 0 {
		lines = append(lines, "listen.backlog = "+strconv.Itoa(f.opts.Backlog))
	}
	if f.opts.Status || f.opts.StatusListen {
		lines = append(lines, "pm.status_path = /status")
	}
	if f.opts.StatusListen {
		lines = append(lines, "pm.status_listen = "+filepath.Join(f.Dir, "status.sock"))
	}
	if f.opts.Chroot != "" {
		lines = append(lines, "chroot = "+f.opts.Chroot)
	}
	return strings.Join(append(lines, f.opts.Pool...), "\n") + "\n"
}

func seconds(d time.Duration) string {
	return fmt.Sprintf("%ds", int(d.Seconds()))
}

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

func onOff(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

package fastcgi

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sidecar/compat"
)

// The parameters are a fixed list: nothing in a job can add to it (FPM-FACTS 2 and 7 say what that would allow).
func TestParametersAreAFixedList(t *testing.T) {
	job, err := compat.ParseJob(`{"uuid":"PHP_VALUE","PHP_ADMIN_VALUE":"x","SCRIPT_FILENAME":"/etc/passwd","topic":"other","retry":1}`)
	if err != nil {
		t.Fatal(err)
	}
	params, err := bridgeParams("/run/sidecar/bridge-1.php", order{Mode: modeRun, Nonce: "n", Script: "/srv/jobs/a.php"}, job.Raw())
	if err != nil {
		t.Fatal(err)
	}
	addJob(params, "mail", job, time.Second)
	want := []string{
		"CONTENT_LENGTH", "CONTENT_TYPE", "DOCUMENT_ROOT", "GATEWAY_INTERFACE", "QUERY_STRING", "REMOTE_ADDR", "REQUEST_METHOD",
		"REQUEST_URI", "SCRIPT_FILENAME", "SCRIPT_NAME", "SERVER_ADDR", "SERVER_NAME", "SERVER_PORT", "SERVER_PROTOCOL",
		"SERVER_SOFTWARE", "SIDECAR_BRIDGE", "SIDECAR_CRASHES", "SIDECAR_TIMEOUT_MS", "SIDECAR_TOPIC", "SIDECAR_TRIES", "SIDECAR_UUID",
	}
	if got := slices.Sorted(maps.Keys(params)); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	for name, want := range map[string]string{
		"SCRIPT_FILENAME": "/run/sidecar/bridge-1.php", "SCRIPT_NAME": "/a.php", "DOCUMENT_ROOT": "/srv/jobs", "SIDECAR_TOPIC": "mail", "SIDECAR_TRIES": "1",
	} {
		if params[name] != want {
			t.Errorf("%s = %q, want %q", name, params[name], want)
		}
	}
	var told order
	if err := json.Unmarshal([]byte(params["SIDECAR_BRIDGE"]), &told); err != nil || told.Mode != modeRun || told.Script != "/srv/jobs/a.php" {
		t.Errorf("the bridge is told %+v, %v", told, err)
	}
}

func TestAWorkersRequestNamesItsTopic(t *testing.T) {
	params, err := workerParams("/run/sidecar/bridge-1.php", order{Mode: modeWorker, Nonce: "n", Token: "n", Topic: "mail", Call: "h"})
	if err != nil {
		t.Fatal(err)
	}
	if params["SIDECAR_TOPIC"] != "mail" || strings.Contains(params["SIDECAR_BRIDGE"], "mail") {
		t.Errorf("got %v", params)
	}
	for _, name := range []string{"CONTENT_LENGTH", "CONTENT_TYPE", "SIDECAR_UUID"} { // there is no body and no job yet
		if value, there := params[name]; there {
			t.Errorf("%s = %q", name, value)
		}
	}
}

func TestUUIDsAreFitForAParameter(t *testing.T) {
	for uuid, same := range map[string]bool{
		"": true, "a1": true, "A.b_c:d-9": true, strings.Repeat("x", 128): true,
		strings.Repeat("x", 129): false, "a b": false, "a\nb": false, "订单": false, "a/b": false,
	} {
		got := compat.PlainUUID(uuid)
		if (got == uuid) != same || !same && len(got) != 64 {
			t.Errorf("%q became %q", uuid, got)
		}
	}
}

// A pair that straddles two records makes FPM hang up, so such a request is never made.
func TestOversizedParametersAreRefused(t *testing.T) {
	p, topics := openPoolWith(1, TopicOptions{Topic: strings.Repeat("x", paramsLimit), Script: "/srv/a.php", Timeout: time.Second})
	p.listen = address{network: "unix", name: t.TempDir() + "/none.sock"}
	job, err := compat.ParseJob(`{}`)
	if err != nil {
		t.Fatal(err)
	}
	x := &exchange{conn: &conn{}}
	params := baseParams("/srv/a.php", "/srv/a.php", "/srv", "{}")
	addJob(params, topics[0].opts.Topic, job, time.Second)
	if _, err := x.send(params, "{}"); err == nil {
		t.Error("sent all the same")
	}
	if got := topics[0].Handle(context.Background(), job); got.Verdict != compat.Unavailable {
		t.Errorf("got %+v", got)
	}
}

func TestAddressesOfTheStatusPage(t *testing.T) {
	for status, want := range map[string]struct {
		at   string
		path string
		own  bool
	}{
		"":                                {"unix:///run/fpm.sock", "", false},
		"/status":                         {"unix:///run/fpm.sock", "/status", false},
		"unix:///run/s.sock?path=/status": {"unix:///run/s.sock", "/status", true},
		"tcp://127.0.0.1:9001/fpm/status": {"tcp://127.0.0.1:9001", "/fpm/status", true},
	} {
		o := PoolOptions{Listen: "unix:///run/fpm.sock", Status: status}
		at, path := o.statusPage()
		if at.String() != want.at || path != want.path || o.ownStatusPage() != want.own {
			t.Errorf("%q: %s %q %v", status, at, path, o.ownStatusPage())
		}
	}
}

package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sidecar/internal/config"
	"sidecar/internal/spool"
)

func TestSpoolsArriveWithTheirDefaultsAndTheirSecret(t *testing.T) {
	text := fmt.Sprintf("[spool.web]\ndsn = \"mysql:host=db;dbname=shop\"\nusername = \"jobs\"\npassword_file = %q\ndrain_every = \"10s\"\nbatch = 5\nrate = 0\n"+
		"[spool.api]\ndsn = \"sqlite:/var/lib/shop/spool.sqlite\"\n", secretFile(t, password+"\n", 0o600))
	c := parse(t, rest+text)
	api := spool.DefaultOptions()
	api.Name, api.DSN = "api", "sqlite:/var/lib/shop/spool.sqlite"
	web := spool.Options{
		Name: "web", DSN: "mysql:host=db;dbname=shop", Username: "jobs", Password: password, Pool: "default",
		Every: 10 * time.Second, Batch: 5,
	}
	if !slices.Equal(c.Spools, []spool.Options{api, web}) {
		t.Errorf("got %+v", c.Spools)
	}
	wantNoSecret(t, c, password)
}

// What is taken for a secret is not shown, wherever it stands.
func TestASpoolsFaultsShowNoSecret(t *testing.T) {
	_, err := config.Parse("sidecar.toml", []byte(rest+"[spool.web]\ndsn = [\"mysql:password=hunter2\"]\npassword_file = 12345\n"), noEnv)
	if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "12345") {
		t.Errorf("got %v", err)
	}
}

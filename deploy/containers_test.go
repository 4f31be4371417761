package deploy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"sidecar/internal/config"
)

// instruction is one of a Dockerfile, its continuation lines joined.
type instruction struct{ name, args string }

func instructions(t *testing.T, path string) (all []instruction) {
	t.Helper()
	joined := strings.ReplaceAll(read(t, path), "\\\n", " ")
	for line := range strings.Lines(joined) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, args, _ := strings.Cut(line, " ")
		all = append(all, instruction{name, strings.TrimSpace(args)})
	}
	return all
}

func TestTheImageIsOneStaticBinaryOfNobody(t *testing.T) {
	t.Parallel()
	known := []string{"FROM", "WORKDIR", "COPY", "ARG", "RUN", "USER", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"}
	var last []instruction // of the last stage
	builds := false
	for _, i := range instructions(t, "docker/Dockerfile") {
		if !slices.Contains(known, i.name) {
			t.Errorf("unknown instruction %s", i.name)
		}
		if i.name == "FROM" {
			last = nil
		}
		builds = builds || i.name == "RUN" && strings.Contains(i.args, "CGO_ENABLED=0 go build")
		last = append(last, i)
	}
	if !builds {
		t.Error("no stage builds without cgo")
	}
	for name, pattern := range map[string]string{
		"FROM": `distroless/static`, "USER": `^[1-9]\d*:[1-9]\d*$`, "STOPSIGNAL": `^SIGTERM$`, "ENTRYPOINT": `^\["/sidecar"\]$`,
		"CMD": `^\["run", "-c", "/etc/sidecar/sidecar.toml"\]$`, "HEALTHCHECK": `CMD \["/sidecar", "health", "-c", "/etc/sidecar/sidecar.toml"\]$`,
	} {
		at := slices.IndexFunc(last, func(i instruction) bool { return i.name == name })
		if at < 0 || !regexp.MustCompile(pattern).MatchString(last[at].args) {
			t.Errorf("the last stage has no %s that matches %s", name, pattern)
		}
	}
	if slices.ContainsFunc(last, func(i instruction) bool { return i.name == "RUN" }) {
		t.Error("the last stage runs something: there is no shell in it")
	}
}

// What COPY names must be there, and not be left out of the context.
func TestTheImageIsBuiltFromWhatIsThere(t *testing.T) {
	t.Parallel()
	for _, i := range instructions(t, "docker/Dockerfile") {
		if i.name != "COPY" {
			continue
		}
		words := strings.Fields(i.args)
		var sources []string
		for _, w := range words[:len(words)-1] {
			switch {
			case strings.HasPrefix(w, "/src/"):
				sources = append(sources, strings.TrimPrefix(w, "/src/"))
			case !strings.HasPrefix(w, "--") && !strings.HasPrefix(w, "/"):
				sources = append(sources, w)
			}
		}
		for _, s := range sources {
			if _, err := os.Stat(filepath.Join("..", s)); err != nil {
				t.Errorf("COPY %s: %v", i.args, err)
			}
		}
	}
	goVersion := regexp.MustCompile(`(?m)^go (1\.\d+)`).FindStringSubmatch(read(t, "../go.mod"))[1]
	if from := instructions(t, "docker/Dockerfile")[0].args; !strings.HasPrefix(from, "golang:"+goVersion+"-") {
		t.Errorf("it is built with %s, and go.mod wants %s", from, goVersion)
	}
}

// compose is a compose file, as far as this one goes.
type compose struct {
	Name     string
	Services map[string]struct {
		Image       string
		Build       struct{ Context, Dockerfile string }
		User        string
		Command     []string
		Volumes     []string
		Tmpfs       []string
		Secrets     []string
		DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
		Ports       []string
		StopGrace   string   `yaml:"stop_grace_period"`
		StopSignal  string   `yaml:"stop_signal"`
		ReadOnly    bool     `yaml:"read_only"`
		CapDrop     []string `yaml:"cap_drop"`
		SecurityOpt []string `yaml:"security_opt"`
		Restart     string
		Healthcheck struct {
			Test              []string
			Interval, Timeout string
			Retries           int
		}
	}
	Volumes map[string]struct {
		Driver     string
		DriverOpts map[string]string `yaml:"driver_opts"`
	}
	Secrets map[string]struct{ File string }
}

func TestComposeLeavesTheSidecarTimeAndNoRights(t *testing.T) {
	t.Parallel()
	var c compose
	decode(t, "docker/compose.yaml", &c)
	s, php := c.Services["sidecar"], c.Services["php"]
	cfg := parsed(t, read(t, "docker/sidecar.toml"))
	stop, err := time.ParseDuration(s.StopGrace)
	if err != nil || stop < cfg.Grace+4*time.Second {
		t.Errorf("it is killed after %s (%v), and grace is %s", s.StopGrace, err, cfg.Grace)
	}
	if longer, err := time.ParseDuration(php.StopGrace); err != nil || longer <= stop {
		t.Errorf("php has %s (%v) to stop, the sidecar %s: its jobs run there", php.StopGrace, err, stop)
	}
	if _, first := s.DependsOn["php"]; !first {
		t.Error("the sidecar does not depend on php: then php may stop first")
	}
	if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") || s.User != "33:33" {
		t.Errorf("it may more than it needs: %+v", s)
	}
	for _, dir := range []string{"/run/fpm", cfg.FPM["default"].BridgeDir} {
		if !mounted(s.Volumes, dir) || !mounted(php.Volumes, dir) {
			t.Errorf("%s is not in both containers", dir)
		}
	}
	for name, service := range c.Services {
		for _, v := range service.Volumes {
			source, _, _ := strings.Cut(v, ":")
			if _, err := os.Stat(filepath.Join("docker", source)); strings.HasPrefix(source, "./") && source != "./app" && err != nil {
				t.Errorf("%s: %v", name, err)
			} else if _, known := c.Volumes[source]; !strings.HasPrefix(source, "./") && !known {
				t.Errorf("%s: no volume %s", name, source)
			}
		}
		for _, secret := range service.Secrets {
			if c.Secrets[secret].File == "" {
				t.Errorf("%s: no secret %s", name, secret)
			}
		}
	}
	if o := c.Volumes["bridge"].DriverOpts["o"]; !strings.Contains(o, "uid=33,gid=33,mode=0755") {
		t.Errorf("bridge begins with %q: want it the sidecar's own, and writable for nobody else", o)
	}
}

func mounted(volumes []string, dir string) bool {
	return slices.ContainsFunc(volumes, func(v string) bool { return slices.Contains(strings.Split(v, ":"), dir) })
}

var secretFile = regexp.MustCompile(`(?m)^(\s*(?:password|token)_file = )"[^"]+"`)

// parsed is a configuration whose secrets lie somewhere else.
func parsed(t *testing.T, text string) *config.Config {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "secret")
	write(t, secret, strings.Repeat("s3cret", 8)+"\n", 0o600)
	cfg, err := config.Parse("sidecar.toml", []byte(secretFile.ReplaceAllString(text, `$1"`+secret+`"`)), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	if w := cfg.Warnings(); len(w) != 0 {
		t.Errorf("warnings: %q", w)
	}
	return cfg
}

// documents are the objects of a YAML file with several.
func documents(t *testing.T, path string) (all []map[string]any) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(read(t, path)))
	for {
		var doc map[string]any
		if err := d.Decode(&doc); err != nil {
			if len(all) == 0 || err.Error() != "EOF" {
				t.Fatalf("%s: %v", path, err)
			}
			return all
		}
		all = append(all, doc)
	}
}

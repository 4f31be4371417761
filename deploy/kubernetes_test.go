package deploy_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// What follows are the fields of Kubernetes's objects that sidecar.yaml uses, and no others: a misspelt one, which the
// API server would leave out, fails here.

type meta struct {
	Name   string
	Labels map[string]string
}

type labelSelector struct {
	MatchLabels map[string]string `yaml:"matchLabels"`
}

type security struct {
	RunAsNonRoot             *bool             `yaml:"runAsNonRoot"`
	RunAsUser                *int              `yaml:"runAsUser"`
	RunAsGroup               *int              `yaml:"runAsGroup"`
	FSGroup                  *int              `yaml:"fsGroup"`
	SeccompProfile           map[string]string `yaml:"seccompProfile"`
	AllowPrivilegeEscalation *bool             `yaml:"allowPrivilegeEscalation"`
	ReadOnlyRootFilesystem   *bool             `yaml:"readOnlyRootFilesystem"`
	Capabilities             struct{ Drop, Add []string }
}

type probe struct {
	HTTPGet             struct{ Path, Port string } `yaml:"httpGet"`
	InitialDelaySeconds int                         `yaml:"initialDelaySeconds"`
	PeriodSeconds       int                         `yaml:"periodSeconds"`
	TimeoutSeconds      int                         `yaml:"timeoutSeconds"`
	FailureThreshold    int                         `yaml:"failureThreshold"`
}

type container struct {
	Name, Image   string
	Command, Args []string
	Lifecycle     struct {
		PreStop struct{ Exec struct{ Command []string } } `yaml:"preStop"`
	}
	Ports []struct {
		Name          string
		ContainerPort int `yaml:"containerPort"`
	}
	LivenessProbe   probe    `yaml:"livenessProbe"`
	ReadinessProbe  probe    `yaml:"readinessProbe"`
	SecurityContext security `yaml:"securityContext"`
	Resources       struct{ Requests, Limits map[string]string }
	VolumeMounts    []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
		SubPath   string `yaml:"subPath"`
		ReadOnly  bool   `yaml:"readOnly"`
	} `yaml:"volumeMounts"`
}

type pod struct {
	TerminationGracePeriodSeconds int         `yaml:"terminationGracePeriodSeconds"`
	ShareProcessNamespace         bool        `yaml:"shareProcessNamespace"`
	AutomountServiceAccountToken  bool        `yaml:"automountServiceAccountToken"`
	SecurityContext               security    `yaml:"securityContext"`
	InitContainers                []container `yaml:"initContainers"`
	Containers                    []container
	Volumes                       []struct {
		Name      string
		ConfigMap struct{ Name string } `yaml:"configMap"`
		Secret    struct {
			SecretName  string `yaml:"secretName"`
			DefaultMode int    `yaml:"defaultMode"`
		}
		EmptyDir *struct {
			Medium    string
			SizeLimit string `yaml:"sizeLimit"`
		} `yaml:"emptyDir"`
	}
}

type object struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   meta
	Data       map[string]string
	Type       string
	StringData map[string]string `yaml:"stringData"`
	Spec       struct {
		Replicas     int
		MinAvailable int `yaml:"minAvailable"`
		Selector     labelSelector
		Strategy     struct {
			Type          string
			RollingUpdate struct {
				MaxUnavailable int `yaml:"maxUnavailable"`
				MaxSurge       int `yaml:"maxSurge"`
			} `yaml:"rollingUpdate"`
		}
		Template struct {
			Metadata meta
			Spec     pod
		}
	}
}

// versions are the APIs in which the kinds are stable.
var versions = map[string]string{"ConfigMap": "v1", "Secret": "v1", "Deployment": "apps/v1", "PodDisruptionBudget": "policy/v1"}

// kubernetes returns the objects of sidecar.yaml by kind.
func kubernetes(t *testing.T) map[string]object {
	t.Helper()
	byKind := map[string]object{}
	d := yaml.NewDecoder(strings.NewReader(read(t, "kubernetes/sidecar.yaml")))
	d.KnownFields(true)
	for range versions {
		var o object
		if err := d.Decode(&o); err != nil {
			t.Fatal(err)
		}
		if versions[o.Kind] == "" || versions[o.Kind] != o.APIVersion {
			t.Errorf("%s in %s: want one of %v", o.Kind, o.APIVersion, versions)
		}
		byKind[o.Kind] = o
	}
	if err := d.Decode(&object{}); err == nil || len(byKind) != len(versions) {
		t.Errorf("%d kinds, and whether there is more: %v", len(byKind), err)
	}
	return byKind
}

func named(t *testing.T, all []container, name string) container {
	t.Helper()
	at := slices.IndexFunc(all, func(c container) bool { return c.Name == name })
	if at < 0 {
		t.Fatalf("no container %s", name)
	}
	return all[at]
}

func TestThePodGivesTheSidecarTimeToStop(t *testing.T) {
	t.Parallel()
	objects := kubernetes(t)
	spec := objects["Deployment"].Spec.Template.Spec
	grace := parsed(t, objects["ConfigMap"].Data["sidecar.toml"]).Grace
	command := named(t, spec.Containers, "php").Lifecycle.PreStop.Exec.Command
	seconds, err := strconv.Atoi(command[len(command)-1])
	if err != nil || command[0] != "sleep" {
		t.Fatalf("php's preStop is %q", command)
	}
	waits, all := time.Duration(seconds)*time.Second, time.Duration(spec.TerminationGracePeriodSeconds)*time.Second
	if waits < grace+4*time.Second || all < waits+10*time.Second {
		t.Errorf("grace %s, php waits %s, the pod has %s: want each well above the one before", grace, waits, all)
	}
}

func TestThePodsObjectsBelongTogether(t *testing.T) {
	t.Parallel()
	objects := kubernetes(t)
	deployment := objects["Deployment"].Spec
	labels := deployment.Template.Metadata.Labels
	for kind, selector := range map[string]labelSelector{"Deployment": deployment.Selector, "PodDisruptionBudget": objects["PodDisruptionBudget"].Spec.Selector} {
		if len(selector.MatchLabels) == 0 || fmt.Sprint(selector.MatchLabels) != fmt.Sprint(labels) {
			t.Errorf("%s selects %v, and the pods have %v", kind, selector.MatchLabels, labels)
		}
	}
	if budget := objects["PodDisruptionBudget"].Spec.MinAvailable; budget < 1 || budget >= deployment.Replicas {
		t.Errorf("%d of %d pods must stay: a node could never be drained, or both go at once", budget, deployment.Replicas)
	}
	volumes := map[string]bool{}
	spec := deployment.Template.Spec
	for _, v := range spec.Volumes {
		volumes[v.Name] = true
		if name := v.ConfigMap.Name + v.Secret.SecretName; name != "" && name != objects["ConfigMap"].Metadata.Name && name != objects["Secret"].Metadata.Name {
			t.Errorf("volume %s is of %s, which is not here", v.Name, name)
		}
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				t.Errorf("%s mounts %s, which is no volume", c.Name, m.Name)
			}
			if m.Name == "config" && objects["ConfigMap"].Data[m.SubPath] == "" {
				t.Errorf("%s mounts %s, which is not in the ConfigMap", c.Name, m.SubPath)
			}
		}
	}
}

func TestTheContainersShareSocketsAndBridgeAndMayNothingElse(t *testing.T) {
	t.Parallel()
	objects := kubernetes(t)
	spec := objects["Deployment"].Spec.Template.Spec
	cfg := parsed(t, objects["ConfigMap"].Data["sidecar.toml"])
	if s := spec.SecurityContext; s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.RunAsUser == nil || *s.RunAsUser == 0 || s.SeccompProfile["type"] != "RuntimeDefault" {
		t.Errorf("the pod: %+v", s)
	}
	for _, name := range []string{"php", "sidecar"} {
		c := named(t, spec.Containers, name)
		s := c.SecurityContext
		if s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []string{"ALL"}) || s.Capabilities.Add != nil || s.RunAsUser != nil {
			t.Errorf("%s: %+v", name, s)
		}
		if c.Resources.Limits["memory"] == "" || c.Resources.Requests["cpu"] == "" {
			t.Errorf("%s: resources %v", name, c.Resources)
		}
		for _, dir := range []string{"/run/fpm", cfg.FPM["default"].BridgeDir} {
			if !strings.Contains(fmt.Sprint(c.VolumeMounts), dir) {
				t.Errorf("%s does not mount %s", name, dir)
			}
		}
	}
	// bridge_dir is refused where others may write, as everybody may in an emptyDir.
	owner := named(t, spec.InitContainers, "own-bridge-dir")
	want := fmt.Sprintf("chmod 0755 %s && chown %d:%d %[1]s", cfg.FPM["default"].BridgeDir, *spec.SecurityContext.RunAsUser, *spec.SecurityContext.RunAsGroup)
	if got := owner.Command[len(owner.Command)-1]; got != want {
		t.Errorf("bridge_dir is made with %q, want %q", got, want)
	}
}

func TestTheProbesAskWhereTheSidecarListens(t *testing.T) {
	t.Parallel()
	objects := kubernetes(t)
	c := named(t, objects["Deployment"].Spec.Template.Spec.Containers, "sidecar")
	listen := parsed(t, objects["ConfigMap"].Data["sidecar.toml"]).Admin.Listen
	if len(c.Ports) != 1 || listen != fmt.Sprintf("0.0.0.0:%d", c.Ports[0].ContainerPort) {
		t.Errorf("it listens at %s, and the ports are %v", listen, c.Ports)
	}
	for path, p := range map[string]probe{"/healthz": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
		if p.HTTPGet.Path != path || p.HTTPGet.Port != c.Ports[0].Name || p.PeriodSeconds == 0 || p.TimeoutSeconds < 3 {
			t.Errorf("%s: %+v", path, p)
		}
	}
	if c.LivenessProbe.PeriodSeconds*c.LivenessProbe.FailureThreshold < 60 {
		t.Error("it is killed within a minute of silence, which a busy node can cost it")
	}
	for _, doc := range documents(t, "kubernetes/podmonitor.yaml") {
		if text := fmt.Sprint(doc); doc["kind"] != "PodMonitor" || !strings.Contains(text, "port:"+c.Ports[0].Name) || !strings.Contains(text, "key:admin-token") {
			t.Errorf("got %s", text)
		}
	}
}

package phpclient_test

import (
	"bytes"
	"os"
	"testing"

	phpclient "sidecar/php-client"
)

func TestBridgeIsTheFileBesideIt(t *testing.T) {
	want, err := os.ReadFile("bridge.php")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(phpclient.Bridge, want) {
		t.Error("Bridge differs from bridge.php")
	}
}

// A byte before the opening tag, a byte order mark for one, would be the first output of every job.
func TestBridgeBeginsWithItsOpeningTag(t *testing.T) {
	if !bytes.HasPrefix(phpclient.Bridge, []byte("<?php\n")) {
		t.Errorf("bridge.php begins with %q", phpclient.Bridge[:min(8, len(phpclient.Bridge))])
	}
	if bytes.Contains(phpclient.Bridge, []byte("?>")) {
		t.Error("bridge.php has a closing tag, after which any byte is output")
	}
}

func TestSpoolIsTheFileBesideIt(t *testing.T) {
	want, err := os.ReadFile("spool.php")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(phpclient.Spool, want) || !bytes.HasPrefix(want, []byte("<?php\n")) {
		t.Error("Spool differs from spool.php, or would print something before it runs")
	}
}

func TestDoctorIsTheFileBesideIt(t *testing.T) {
	want, err := os.ReadFile("doctor.php")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(phpclient.Doctor, want) || !bytes.HasPrefix(want, []byte("<?php\n")) {
		t.Error("Doctor differs from doctor.php, or would print something before it runs")
	}
}

package faults

import (
	"os"
	"testing"

	"sidecar/internal/testenv"
)

// binary is the sidecar under test, built once by TestMain.
var binary string

func TestMain(m *testing.M) {
	testenv.MoreAtOnce()
	os.Exit(testenv.RunWithSidecar(m, &binary))
}

package fastcgi

import (
	"os"
	"testing"

	"sidecar/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.MoreAtOnce()
	os.Exit(m.Run())
}

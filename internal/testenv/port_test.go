package testenv_test

import (
	"net"
	"testing"

	"sidecar/internal/testenv"
)

func TestNoAddressIsGivenTwiceWhileItsTestRuns(t *testing.T) {
	t.Parallel()
	given := map[string]bool{}
	for range 600 { // of 22,000: by luck alone some would be the same
		addr := testenv.FreeAddr(t)
		if given[addr] {
			t.Fatalf("%s is given once more", addr)
		}
		given[addr] = true
	}
	for addr := range given {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		break
	}
}

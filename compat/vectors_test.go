package compat_test

import (
	"testing"

	"sidecar/internal/testenv/wire"
)

// vectors returns the vectors of a committed group.
func vectors(t testing.TB, group string) []wire.Vector {
	t.Helper()
	return wire.Vectors(t, "../testdata/wire", group)
}

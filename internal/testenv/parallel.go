package testenv

import (
	"flag"
	"runtime"
	"strconv"
)

// MoreAtOnce has twice as many tests run at once as there are cores, unless another number was given: for packages whose
// tests wait for other programs more than they compute. TestMain calls it first.
func MoreAtOnce() {
	flag.Parse()
	parallel := flag.Lookup("test.parallel")
	if parallel.Value.String() == parallel.DefValue {
		_ = parallel.Value.Set(strconv.Itoa(2 * runtime.GOMAXPROCS(0))) // a number is taken
	}
}

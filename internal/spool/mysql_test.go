package spool_test

import (
	"bufio"
	"io"
	"os/exec"
	"strings"
	"testing"

	"sidecar/internal/spool"
	"sidecar/internal/testenv"
)

// newMySQLRig is a shop whose spool is in MariaDB.
func newMySQLRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.opts.DSN, r.opts.Username, r.opts.Password = testenv.MariaDB(t).DSN, testenv.MariaDBUser, testenv.MariaDBPassword
	return r
}

func TestASpoolInMySQL(t *testing.T) {
	r := newMySQLRig(t)
	t.Run("nothing was ever stored", func(t *testing.T) { wantDrained(t, r.drainer(), spool.Progress{}, 0) })
	t.Run("every byte comes in", func(t *testing.T) {
		due := int64(4102444800000)
		bytes := "\x00\xff'\"\\ äöü\x1a\xe4\xb8"
		r.store(texts(smsList, "a", bytes)...)
		r.store(job{Key: "delay:pool:mail", Text: bytes, DueMS: &due})
		if s, err := r.table().Status(t.Context()); err != nil || s.Rows != 3 || len(s.Keys) != 2 || s.Keys[0] != (spool.KeyRows{Key: smsList, Rows: 2}) {
			t.Errorf("got %+v, %v", s, err)
		}
		wantDrained(t, r.drainer(), spool.Progress{Added: 3}, 0)
		r.wantList(smsList, "a", bytes)
		if score := r.rdb.ZScore(t.Context(), "delay:pool:mail", bytes).Val(); score != float64(due) {
			t.Errorf("due at %f", score)
		}
	})
	t.Run("a row that appears late", r.testLateRow)
	t.Run("a row that appears late, and a kill", r.testLateRowAndAKill)
	t.Run("a wrong password is not shown", r.testWrongPassword)
}

// twoRequests starts two web requests, of which the first one's job has the lower id and is committed when end is called.
func (r *rig) twoRequests(t *testing.T, key string) (end func()) {
	t.Helper()
	cmd := exec.Command("php", "testdata/two.php", r.opts.DSN, r.opts.Username, string(r.opts.Password), key)
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if inErr != nil || outErr != nil {
		t.Fatal(inErr, outErr)
	}
	done, err := testenv.StartChild(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); <-done })
	lines := bufio.NewReader(out)
	expect := func(want string) {
		t.Helper()
		if line, err := lines.ReadString('\n'); err != nil || line != want+"\n" {
			t.Fatalf("got %q, %v; want %s", line, err, want)
		}
	}
	expect("second")
	return func() {
		_, _ = io.WriteString(in, "\n")
		expect("first")
	}
}

func (r *rig) testLateRow(t *testing.T) {
	const key = "queue:late"
	end := r.twoRequests(t, key)
	wantDrained(t, r.drainer(), spool.Progress{Added: 2}, 0)
	r.wantList(key, "before both", "second")
	end()
	wantDrained(t, r.drainer(), spool.Progress{Added: 1}, 0)
	r.wantList(key, "before both", "second", "first")
}

// The one with the higher id is in and not deleted when the other one comes before it.
func (r *rig) testLateRowAndAKill(t *testing.T) {
	const key = "queue:late-and-killed"
	end := r.twoRequests(t, key)
	pass := r.drainer().Begin(0, 0)
	if _, err := pass.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	end() // nobody has called Finish
	r.opts.Batch = 1
	defer func() { r.opts.Batch = 100 }()
	wantDrained(t, r.drainer(), spool.Progress{Added: 1, Before: 2}, 0)
	r.wantList(key, "before both", "second", "first")
}

func (r *rig) testWrongPassword(t *testing.T) {
	wrong := r.opts
	wrong.Password = "hunter2"
	_, err := spool.NewTable(wrong, r.asker()).Status(t.Context())
	if err == nil || !strings.Contains(err.Error(), "Access denied") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
	if strings.Contains(r.fpm.Log(), "hunter2") || strings.Contains(r.fpm.Log(), string(r.opts.Password)) {
		t.Error("php-fpm's log shows a password")
	}
}

package testenv

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// The account that a private MariaDB has. Everything in its password breaks something.
const (
	MariaDBUser     = "shop"
	MariaDBPassword = `p@ss'w/rd#"%`
	mariaDBSetUp    = `CREATE DATABASE shop;
CREATE USER 'shop'@'localhost' IDENTIFIED BY 'p@ss\'w/rd#"%';
GRANT ALL ON shop.* TO 'shop'@'localhost';
`
)

// MariaDBServer is a private mariadbd in a directory of its own. It ends with the test.
type MariaDBServer struct {
	Socket string // where it listens, and nowhere else
	DSN    string // of its database shop, as PDO takes it
}

// MariaDB starts a mariadbd with an empty database named shop and waits until it answers.
func MariaDB(t testing.TB) *MariaDBServer {
	t.Helper()
	dir, err := os.MkdirTemp("", "mariadb") // not t.TempDir: a socket's path has 108 bytes at most
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // PHP-FPM's children are other users
		t.Fatal(err)
	}
	setUp := filepath.Join(dir, "set-up.sql")
	if err := os.WriteFile(setUp, []byte(mariaDBSetUp), 0o600); err != nil {
		t.Fatal(err)
	}
	common := []string{"--no-defaults", "--datadir=" + filepath.Join(dir, "data"), "--innodb-log-file-size=4M", "--innodb-buffer-pool-size=16M"}
	if os.Geteuid() == 0 {
		common = append(common, "--user=root")
	}
	install := exec.Command("mariadb-install-db", append(common, "--auth-root-authentication-method=normal", "--skip-test-db")...)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("mariadb-install-db: %v\n%s", err, out)
	}
	s := &MariaDBServer{Socket: filepath.Join(dir, "s")}
	s.DSN = "mysql:unix_socket=" + s.Socket + ";dbname=shop"
	s.start(t, append(common, "--socket="+s.Socket, "--pid-file="+filepath.Join(dir, "pid"), "--skip-networking", "--init-file="+setUp))
	return s
}

func (s *MariaDBServer) start(t testing.TB, args []string) {
	t.Helper()
	cmd := exec.Command("/usr/sbin/mariadbd", args...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	done, err := StartChild(cmd)
	if err != nil {
		t.Fatalf("start mariadbd: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		<-done
	})
	Poll(t, time.Minute, "mariadbd to answer", func() bool {
		select {
		case <-done:
			t.Fatalf("mariadbd ended at its start: %s", said.String())
		default:
		}
		ask := exec.Command("php", "-r", `try { new PDO($argv[1], $argv[2], $argv[3]); } catch (PDOException $e) { exit(1); }`,
			"--", s.DSN, MariaDBUser, MariaDBPassword)
		return ask.Run() == nil
	})
}

package queue_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sidecar/internal/testenv"
	"sidecar/queue"
)

func TestOpenWithTLS(t *testing.T) {
	dir := t.TempDir()
	ca, cert, key := certificates(t, dir)
	_, port, _ := net.SplitHostPort(testenv.FreeAddr(t))
	testenv.Redis(t, "tls-port "+port, "tls-cert-file "+cert, "tls-key-file "+key, "tls-ca-cert-file "+ca, "tls-auth-clients yes")
	at := "rediss://127.0.0.1:" + port
	wantPing(t, open(t, queue.RedisOptions{URL: at, TLS: queue.TLSOptions{CAFile: ca, CertFile: cert, KeyFile: key}}))
	wantPing(t, open(t, queue.RedisOptions{URL: at, TLS: queue.TLSOptions{Insecure: true, CertFile: cert, KeyFile: key}}))

	stranger := open(t, queue.RedisOptions{URL: at, TLS: queue.TLSOptions{CertFile: cert, KeyFile: key}})
	if err := stranger.Ping(t.Context()).Err(); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without the CA: %v, want a certificate error", err)
	}
	named := open(t, queue.RedisOptions{URL: at, TLS: queue.TLSOptions{CAFile: ca, CertFile: cert, KeyFile: key, ServerName: "elsewhere"}})
	if err := named.Ping(t.Context()).Err(); err == nil {
		t.Error("a certificate for another name was accepted")
	}
}

func TestOpenReportsEveryBadTLSFile(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := queue.Open(queue.RedisOptions{URL: "rediss://h", Protocol: 3, TLS: queue.TLSOptions{CAFile: empty, CertFile: empty, KeyFile: filepath.Join(dir, "none")}}, nil)
	if err == nil || !strings.Contains(err.Error(), "ca_file") || !strings.Contains(err.Error(), "key_file") {
		t.Errorf("got %v, want both files named", err)
	}
}

// certificates writes a CA and a certificate for 127.0.0.1, good for both sides.
func certificates(t *testing.T, dir string) (ca, cert, key string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		must(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, template, template, &caKey.PublicKey, caKey)
	must(err)
	ownKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	own := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "redis"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: template.NotBefore, NotAfter: template.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, own, template, &ownKey.PublicKey, caKey)
	must(err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(ownKey)
	must(err)
	return write("ca.pem", "CERTIFICATE", caDER), write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", keyDER)
}

//go:build unix

package yarn

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
)

// Realm is the one of the tests' KDC.
const Realm = "ZETA.TEST"

// KDC is a running key distribution center of MIT Kerberos.
type KDC struct {
	// Config is its krb5.conf.
	Config  string
	Process *harness.Process

	dir string
	env []string
}

// StartKDC starts one on loopback. It skips the test where MIT Kerberos is not
// installed (Debian: krb5-kdc krb5-admin-server krb5-user).
func StartKDC(t testing.TB, lab *harness.Lab) *KDC {
	t.Helper()
	server := program(t, "krb5kdc")
	dir, err := os.MkdirTemp(lab.Dir, "kdc-")
	if err != nil {
		t.Fatalf("making the KDC's folder: %v", err)
	}
	address := harness.Loopback(harness.FreePorts(t, 1))
	k := &KDC{Config: filepath.Join(dir, "krb5.conf"), dir: dir}
	k.env = []string{"KRB5_CONFIG=" + k.Config, "KRB5_KDC_PROFILE=" + filepath.Join(dir, "kdc.conf")}
	write(t, k.Config, fmt.Sprintf(`[libdefaults]
 default_realm = %[1]s
 dns_lookup_kdc = false
 dns_lookup_realm = false
 rdns = false
 udp_preference_limit = 1
[realms]
 %[1]s = {
  kdc = %[2]s
 }
[domain_realm]
 localhost = %[1]s
`, Realm, address))
	write(t, filepath.Join(dir, "kdc.conf"), fmt.Sprintf(`[kdcdefaults]
 kdc_listen = %[2]s
 kdc_tcp_listen = %[2]s
[realms]
 %[1]s = {
  database_name = %[3]s/principal
  key_stash_file = %[3]s/stash
  acl_file = %[3]s/acl
  max_life = 1h
 }
`, Realm, address, dir))
	k.run(t, program(t, "kdb5_util"), "-r", Realm, "create", "-s", "-P", "of the tests")
	k.Process = lab.Start(t, harness.Command{Name: "kdc-" + filepath.Base(dir), Path: server, Args: []string{"-n", "-r", Realm}, Dir: dir, Env: k.env})
	harness.Wait(t, time.Minute, "the KDC listens", func(ctx context.Context) error {
		if err := k.Process.Err(); err != nil {
			return err
		}
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err
	})
	return k
}

// Keytab makes a principal and returns the file with its keys.
func (k *KDC) Keytab(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(k.dir, fmt.Sprintf("%x.keytab", name))
	admin := program(t, "kadmin.local")
	k.run(t, admin, "-r", Realm, "-q", "addprinc -randkey "+name)
	k.run(t, admin, "-r", Realm, "-q", "ktadd -k "+path+" "+name)
	return path
}

// Cache makes a ticket cache with the keys of a principal.
func (k *KDC) Cache(t testing.TB, name, keytab string) string {
	t.Helper()
	path := filepath.Join(k.dir, fmt.Sprintf("%x.cache", name))
	k.run(t, program(t, "kinit"), "-c", "FILE:"+path, "-k", "-t", keytab, name)
	return path
}

func (k *KDC) run(t testing.TB, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), k.env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// program finds one that Debian keeps out of a user's PATH.
func program(t testing.TB, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	path := filepath.Join("/usr/sbin", name)
	if _, err := os.Stat(path); err != nil {
		harness.Unavailable(t, "no %s: MIT Kerberos is not installed", name)
	}
	return path
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatalf("writing %s: %v", path, err)
	}
}

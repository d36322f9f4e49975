//go:build unix

package harness

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
)

// Ports are looked for below the range from which the kernel takes the ports
// of outgoing connections, so that none of those can come in between.
const (
	firstPort = 20000
	lastPort  = 32000
	// blockPorts is how many ports in a row a test binary takes for itself at once.
	blockPorts = 600
	portTries  = 200
)

// given are the ports that were handed out: whoever got one may not listen on
// it yet, and then it looks free. For the same reason other test binaries that
// run at the same time have blocks of their own.
var given struct {
	sync.Mutex
	ports map[int]bool
	// blocks are ours, by their first port, as long as their files are open.
	blocks map[int]*os.File
}

// FreePorts returns the first of n ports in a row that are free on loopback. No
// port is handed out twice, to this test binary or another one of the same user.
func FreePorts(t testing.TB, n int) int {
	t.Helper()
	given.Lock()
	defer given.Unlock()
	for {
		for block := range given.blocks {
			for range portTries {
				base := block + rand.IntN(blockPorts-n)
				if allFree(base, n) {
					give(base, n)
					return base
				}
			}
		}
		if err := takeBlock(); err != nil {
			t.Fatalf("no %d free ports in a row between %d and %d: %v", n, firstPort, lastPort, err)
		}
	}
}

// takeBlock takes a block of ports that no other test binary has. It has it until
// it ends, however it does.
func takeBlock() error {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("zeta-scaler-e2e-ports-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("taking ports: %w", err)
	}
	const blocks = (lastPort - firstPort) / blockPorts
	for _, i := range rand.Perm(blocks) {
		base := firstPort + i*blockPorts
		if given.blocks[base] != nil {
			continue
		}
		f, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(base)), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return fmt.Errorf("taking ports: %w", err)
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			_ = f.Close() // somebody else's
			continue
		}
		if given.blocks == nil {
			given.blocks, given.ports = map[int]*os.File{}, map[int]bool{}
		}
		given.blocks[base] = f
		return nil
	}
	return errors.New("test binaries that run have all of them")
}

func allFree(base, n int) bool {
	for p := base; p < base+n; p++ {
		if given.ports[p] {
			return false
		}
		l, err := net.Listen("tcp", Loopback(p)) //nolint:noctx // listening on loopback does not block
		if err != nil {
			return false
		}
		_ = l.Close()
	}
	return true
}

func give(base, n int) {
	for p := base; p < base+n; p++ {
		given.ports[p] = true
	}
}

// FreeAddress returns a free loopback address, host:port.
func FreeAddress(t testing.TB) string {
	t.Helper()
	return Loopback(FreePorts(t, 1))
}

// Loopback is the address of a port on loopback, host:port.
func Loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// URL is the base URL of an address.
func URL(address string) string { return fmt.Sprintf("http://%s", address) }

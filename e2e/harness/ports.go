package harness

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// Ports are looked for below the range from which the kernel takes the ports
// of outgoing connections, so that none of those can come in between.
const (
	firstPort = 20000
	lastPort  = 32000
	portTries = 200
)

// given are the ports that were handed out: whoever got one may not listen on
// it yet, and then it looks free.
var given struct {
	sync.Mutex
	ports map[int]bool
}

// FreePorts returns the first of n ports in a row that are free on loopback. No
// port is handed out twice.
func FreePorts(t testing.TB, n int) int {
	t.Helper()
	given.Lock()
	defer given.Unlock()
	for range portTries {
		base := firstPort + rand.IntN(lastPort-firstPort-n)
		if allFree(base, n) {
			give(base, n)
			return base
		}
	}
	t.Fatalf("no %d free ports in a row between %d and %d", n, firstPort, lastPort)
	return 0
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
	if given.ports == nil {
		given.ports = map[int]bool{}
	}
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

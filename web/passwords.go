package web

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// A comparison with a bcrypt hash takes as long as a hundred requests, and so
// do guesses. These bounds keep guessing from taking the processor, or from
// keeping those waiting who know their password.
const (
	// maxVerdicts bounds how many compared passwords of each kind, right and
	// wrong, are remembered.
	maxVerdicts = 256
	// maxWaiting bounds how many comparisons wait for each of the two places.
	maxWaiting = 32
	// maxSame bounds how many wait for a comparison of the same password that is
	// running, so that they do not take up all connections.
	maxSame = 64
	// maxSuspects bounds how many sources of wrong guesses are remembered.
	maxSuspects = 4096
	// suspicion is how long a source is remembered after a wrong guess.
	suspicion = time.Minute
)

// errBusy is that too many comparisons wait already.
var errBusy = errors.New("too many passwords are being compared; try again")

// passwords compares passwords with hashes. Every guess costs the same, whether
// or not there is such a user; what was compared before is remembered. It is safe
// for concurrent use.
type passwords struct {
	compare func(hash, password []byte) error
	now     func() time.Time
	// key makes the digests below useless outside of this process.
	key [sha256.Size]byte
	// One comparison at a time runs for everybody, and one more for sources that
	// have not guessed wrong of late.
	everybody, unsuspected *place
	// same has a token for each of those who wait for the same comparison.
	same chan struct{}

	mu           sync.Mutex
	right, wrong verdicts
	running      map[digest]chan struct{} // closed when the comparison has ended
	suspects     map[string]time.Time     // when a source guessed wrong last
	asking       map[string]bool          // sources that are being judged
}

func newPasswords() *passwords {
	p := &passwords{
		compare: bcrypt.CompareHashAndPassword, now: time.Now, everybody: newPlace(), unsuspected: newPlace(),
		same:  make(chan struct{}, maxSame),
		right: verdicts{}, wrong: verdicts{},
		running: map[digest]chan struct{}{}, suspects: map[string]time.Time{}, asking: map[string]bool{},
	}
	_, _ = rand.Read(p.key[:]) // never fails
	return p
}

// digest stands for a user, a hash and a password.
type digest [sha256.Size]byte

// verdicts are passwords that were compared.
type verdicts map[digest]struct{}

// add forgets everything when there is too much. Right and wrong ones are kept
// apart, so that guesses do not make others slow.
func (v verdicts) add(key digest) {
	if len(v) >= maxVerdicts {
		clear(v)
	}
	v[key] = struct{}{}
}

// match reports whether a password is that of a user. source is who asks, as far
// as that can be told. The error is errBusy, or that ctx has ended.
func (p *passwords) match(ctx context.Context, source string, users map[string]string, user, password string) (bool, error) {
	hash, exists := users[user]
	cost := greatestCost(users)
	if !exists {
		hash = nobody(cost)
	}
	key := p.digest(user, hash, password)
	for {
		ok, known, running := p.begin(key)
		switch {
		case known:
			return ok, nil
		case running == nil:
			return p.compareOnce(ctx, key, source, hash, cost, password, exists)
		}
		// The same one is being compared: a page asks for many things at once.
		if err := p.join(ctx, running); err != nil {
			return false, err
		}
	}
}

// join waits until a comparison that is running has ended.
func (p *passwords) join(ctx context.Context, running <-chan struct{}) error {
	select {
	case p.same <- struct{}{}:
		defer func() { <-p.same }()
	default:
		return errBusy
	}
	select {
	case <-running:
		return nil
	case <-ctx.Done():
		return waited(ctx)
	}
}

func waited(ctx context.Context) error {
	return fmt.Errorf("waiting to compare a password: %w", ctx.Err())
}

// begin returns the verdict about a digest, or what ends when the comparison
// does that is running; neither makes the caller the one who compares.
func (p *passwords) begin(key digest) (ok, known bool, running <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok = p.right[key]; ok {
		return true, true, nil
	}
	if _, known = p.wrong[key]; known {
		return false, true, nil
	}
	if c, ok := p.running[key]; ok {
		return false, false, c
	}
	p.running[key] = make(chan struct{})
	return false, false, nil
}

// compareOnce waits for a place, compares and remembers.
func (p *passwords) compareOnce(ctx context.Context, key digest, source, hash string, cost int, password string, exists bool) (ok bool, err error) {
	suspect := p.suspect(source)
	compared := false
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		close(p.running[key])
		delete(p.running, key)
		if !suspect {
			delete(p.asking, source)
		}
		if compared {
			p.remember(key, source, ok)
		}
	}()
	leave, err := p.enter(ctx, suspect)
	if err != nil {
		return false, err
	}
	defer leave()
	ok = p.compare([]byte(hash), []byte(password)) == nil && exists
	p.pad(hash, cost, password)
	compared = true
	return ok, nil
}

// suspect reports whether a source has guessed wrong of late, or is being
// judged already; else it is being judged now.
func (p *passwords) suspect(source string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	since, guessed := p.suspects[source]
	if guessed && p.now().Sub(since) < suspicion || p.asking[source] {
		return true
	}
	p.asking[source] = true
	return false
}

func (p *passwords) remember(key digest, source string, ok bool) {
	if ok {
		p.right.add(key)
		delete(p.suspects, source)
		return
	}
	p.wrong.add(key)
	if len(p.suspects) >= maxSuspects {
		clear(p.suspects)
	}
	p.suspects[source] = p.now()
}

func (p *passwords) digest(user, hash, password string) (out digest) {
	mac := hmac.New(sha256.New, p.key[:])
	fmt.Fprintf(mac, "%q %q %q", user, hash, password)
	mac.Sum(out[:0])
	return out
}

// pad does the work that a hash of a lower cost has saved, so that the time of
// an answer does not tell whose password was guessed at.
func (p *passwords) pad(hash string, cost int, password string) {
	own, err := bcrypt.Cost([]byte(hash))
	for ; err == nil && own < cost; own++ { // each is twice the one before
		_ = p.compare([]byte(nobody(own)), []byte(password))
	}
}

// nobody is a hash of some cost that no password has.
func nobody(cost int) string {
	return fmt.Sprintf("$2y$%02d$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi", cost)
}

// greatestCost is that of the users' hashes.
func greatestCost(users map[string]string) int {
	greatest := bcrypt.MinCost
	for _, hash := range users {
		if cost, err := bcrypt.Cost([]byte(hash)); err == nil {
			greatest = max(greatest, cost)
		}
	}
	return greatest
}

// enter waits for a place to compare at.
func (p *passwords) enter(ctx context.Context, suspect bool) (leave func(), err error) {
	reserved := p.unsuspected.taken
	queue := p.unsuspected
	if suspect {
		reserved, queue = nil, p.everybody
	}
	select {
	case queue.waiting <- struct{}{}:
		defer func() { <-queue.waiting }()
	default:
		return nil, errBusy
	}
	select {
	case reserved <- struct{}{}:
		return func() { <-reserved }, nil
	case p.everybody.taken <- struct{}{}:
		return func() { <-p.everybody.taken }, nil
	case <-ctx.Done():
		return nil, waited(ctx)
	}
}

// place is where one comparison runs and some wait.
type place struct{ taken, waiting chan struct{} }

func newPlace() *place {
	return &place{taken: make(chan struct{}, 1), waiting: make(chan struct{}, maxWaiting)}
}

// source is who asks: the address, of IPv6 the network, which one host may have
// all of.
func source(remote string) string {
	addr, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote
	}
	ip := addr.Addr().Unmap()
	if ip.Is4() {
		return ip.String()
	}
	network, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return ip.String()
	}
	return network.String()
}

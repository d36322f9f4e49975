package postgres

import "time"

// row is the lease as a server shows it. Times of the database are compared with
// each other only, and by the database.
type row struct {
	// turn rises with every write.
	turn int64
	// holder is empty while nobody has it, once a leader has given the lease up.
	holder string
	// duration is how long the holder said that it lasts.
	duration time.Duration
	// over says that it has ended by the database's clock.
	over bool
	// server is the run of the server that shows it: when it was started. own says
	// that the same run has written it: its clock can be believed, and no later
	// write was lost in a failover.
	server time.Time
	own    bool
	// millis is the database's time, in Unix milliseconds.
	millis int64
}

// observed is the lease as it was read or written last, and when our own clock
// first saw it say so.
type observed struct {
	row
	since time.Time
	// looked is when it was read last; zero: never.
	looked time.Time
	// ended says that the lease was over when we first saw it.
	ended bool
	// wrote is the turn that we wrote last, by a request made right after at; 0:
	// none.
	wrote int64
	at    time.Time
}

// see takes over what was read just before now. After a failover nothing that was
// seen before counts: the new server may have missed renewals, and its clock is
// another.
func (o observed) see(r row, now time.Time, duration time.Duration) observed {
	away := o.looked.IsZero() || now.Sub(o.looked) >= duration
	if o.looked.IsZero() || r.turn != o.turn || r.holder != o.holder || !r.server.Equal(o.server) {
		o.since, o.ended = now, false
	}
	// Who has just begun, or was away for a while, has seen nothing with its own
	// clock, and believes that of the database.
	if away && r.over && r.own {
		o.ended = true
	}
	o.row, o.looked = r, now
	return o
}

// elector decides about the lease for one candidate.
type elector struct {
	identity string
	// duration is how long the others wait, deadline how long a leader acts.
	duration, deadline time.Duration
}

// ends is when the lease that was observed has ended for us, the zero time if it
// may be taken now. It is as long after the last renewal that we saw as its
// holder says, and at least as long as ours would be.
func (e elector) ends(o observed, now time.Time) time.Time {
	switch {
	case o.ended:
	case o.own && (o.holder == "" || o.holder == e.identity):
	// It is as we wrote it, and as long as we may act nobody else can have had it
	// meanwhile.
	case o.holder == e.identity && o.turn == o.wrote && now.Sub(o.at) < e.deadline:
	default:
		return o.since.Add(max(e.duration, o.duration))
	}
	return time.Time{}
}

// may reports whether the candidate may take the lease, or go on holding it.
func (e elector) may(o observed, now time.Time) bool { return !now.Before(e.ends(o, now)) }

package evaluator

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// savedReplay is a replay between two ticks, as it is written to a file.
type savedReplay struct {
	Next   int64        `json:"next"`
	Scopes []savedScope `json:"scopes"`
}

type savedScope struct {
	Labels   []scaling.Label `json:"labels"`
	First    int64           `json:"first"`
	LastSeen int64           `json:"lastSeen"`
	Unseen   int64           `json:"unseen"`
	Tracks   []savedState    `json:"tracks"`
	Last     savedPublished  `json:"last"`
}

type savedState struct {
	At       int64            `json:"at"`
	Origin   int64            `json:"origin"`
	Started  bool             `json:"started"`
	Restored bool             `json:"restored"`
	Out      []savedRun       `json:"out"`
	In       []savedQuiet     `json:"in"`
	Demand   savedRun         `json:"demand"`
	Floor    savedQuiet       `json:"floor"`
	Ramp     Ramp             `json:"ramp"`
	Master   string           `json:"master"`
	Mode     scaling.SlotMode `json:"mode"`
}

type savedRun struct {
	On      bool  `json:"on"`
	Full    bool  `json:"full"`
	First   int64 `json:"first"`
	Last    int64 `json:"last"`
	Whole   bool  `json:"whole"`
	Keeping bool  `json:"keeping"`
	FalseAt int64 `json:"falseAt"`
}

type savedQuiet struct {
	On    bool  `json:"on"`
	First int64 `json:"first"`
}

type savedPublished struct {
	Generation   uint64         `json:"generation"`
	Intent       scaling.Intent `json:"intent"`
	Since        time.Time      `json:"since"`
	Row          scaling.RowID  `json:"row"`
	Blockers     Blocker        `json:"blockers"`
	Signals      uint64         `json:"signals"`
	UnknownTicks int            `json:"unknownTicks"`
	Master       string         `json:"master"`
}

// Save writes down where the replay is, so that Resume goes on with the next
// tick as if it had not been interrupted.
func (r *Replayer) Save() (json.RawMessage, error) {
	out := savedReplay{Next: r.next}
	for _, s := range r.g.scopes.sorted {
		p := &s.published
		saved := savedScope{
			Labels: s.Labels, First: s.first, LastSeen: s.lastSeen, Unseen: s.unseen,
			Last: savedPublished{
				Generation: p.generation, Intent: p.intent, Since: p.since, Row: p.row, Blockers: p.blockers,
				Signals: p.signals, UnknownTicks: p.unknownTicks, Master: p.master,
			},
		}
		for i := range s.tracks {
			saved.Tracks = append(saved.Tracks, s.tracks[i].kept.saved())
		}
		out.Scopes = append(out.Scopes, saved)
	}
	return json.Marshal(out)
}

// Resume goes on where Save was called, in a replay of the same options that
// has not begun.
func (r *Replayer) Resume(data json.RawMessage) error {
	var in savedReplay
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("reading a saved replay: %w", err)
	}
	for i := range in.Scopes {
		saved := &in.Scopes[i]
		if len(saved.Labels) != len(r.g.scopes.by) {
			return fmt.Errorf("a saved scope has %d labels, expected those of scope_by %v", len(saved.Labels), r.g.scopes.by)
		}
		s := r.g.newScope(saved.Labels, nil, r.g.shadows, saved.First)
		if len(saved.Tracks) != len(s.tracks) {
			return fmt.Errorf("a saved scope has %d rule sets, expected %d", len(saved.Tracks), len(s.tracks))
		}
		s.lastSeen, s.unseen = saved.LastSeen, saved.Unseen
		p := &saved.Last
		s.published = published{
			generation: p.Generation, intent: p.Intent, since: p.Since, row: p.Row, blockers: p.Blockers,
			signals: p.Signals, unknownTicks: p.UnknownTicks, master: p.Master,
		}
		for j := range s.tracks {
			if err := s.tracks[j].kept.restore(&saved.Tracks[j]); err != nil {
				return err
			}
		}
	}
	r.next = in.Next
	r.read = in.Next - r.g.interval.Milliseconds()
	r.g.keptAt, r.g.hasKept = r.read, true
	return nil
}

func (s *State) saved() savedState {
	out := savedState{
		At: s.At, Origin: s.Origin, Started: s.Started, Restored: s.Restored,
		Demand: s.demand.saved(), Floor: savedQuiet{s.floor.on, s.floor.first}, Ramp: s.Ramp, Master: s.master, Mode: s.mode,
	}
	for _, r := range s.out {
		out.Out = append(out.Out, r.saved())
	}
	for _, q := range s.in {
		out.In = append(out.In, savedQuiet{q.on, q.first})
	}
	return out
}

func (s *State) restore(in *savedState) error {
	if len(in.Out) != len(s.out) || len(in.In) != len(s.in) {
		return fmt.Errorf("a saved scope has the windows of %d signals, expected %d", len(in.Out), len(s.out))
	}
	s.At, s.Origin, s.Started, s.Restored = in.At, in.Origin, in.Started, in.Restored
	s.demand, s.floor = in.Demand.run(), quiet{in.Floor.On, in.Floor.First}
	s.Ramp, s.master, s.mode = in.Ramp, in.Master, in.Mode
	for i := range in.Out {
		s.out[i] = in.Out[i].run()
		s.in[i] = quiet{in.In[i].On, in.In[i].First}
	}
	return nil
}

func (r run) saved() savedRun {
	return savedRun{On: r.on, Full: r.full, First: r.first, Last: r.last, Whole: r.whole, Keeping: r.keeping, FalseAt: r.falseAt}
}

func (s savedRun) run() run {
	return run{on: s.On, full: s.Full, first: s.First, last: s.Last, whole: s.Whole, keeping: s.Keeping, falseAt: s.FalseAt}
}

package zeta

import (
	"strconv"
	"strings"
)

// Version is a release of Zeta as /overview names it in projectVersion.
type Version struct {
	Major, Minor, Patch int
	// Pre is true for development states ("2.3.9-SNAPSHOT"), which may lack
	// what their release has.
	Pre bool
	// Known is false when the text was no version; nothing may be concluded
	// from it then.
	Known bool
}

// ParseVersion reads "2.3.13", "3.0.0-SNAPSHOT", "3.1". What it cannot read
// gives a Version that is not Known.
func ParseVersion(text string) Version {
	text = strings.TrimPrefix(strings.TrimSpace(text), "v")
	core, pre, hasPre := strings.Cut(text, "-")
	parts := strings.Split(core, ".")
	if len(parts) < 2 || len(parts) > 3 {
		return Version{}
	}
	var n [3]int
	for i, p := range parts {
		v, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return Version{}
		}
		n[i] = int(v)
	}
	return Version{Major: n[0], Minor: n[1], Patch: n[2], Pre: hasPre && pre != "", Known: true}
}

// Before reports whether v is known and older than major.minor.patch. A
// development state counts as the release it leads to.
func (v Version) Before(major, minor, patch int) bool {
	if !v.Known {
		return false
	}
	if v.Major != major {
		return v.Major < major
	}
	if v.Minor != minor {
		return v.Minor < minor
	}
	return v.Patch < patch
}

// support says what a version lets us expect of an endpoint.
type support int

const (
	// mayExist: ask; "not found" is an answer.
	mayExist support = iota
	// mustExist: "not found" is a failure like any other.
	mustExist
	// neverExists: do not ask. On REST v1 an unknown path is not only useless:
	// /maps/resource/workers would create a map of that name in the cluster.
	neverExists
)

// HasQueue reports whether the version can hold a job back. Before 2.3.9 a job
// runs or fails, so an answering /overview proves an empty queue.
func (v Version) HasQueue() bool { return !v.Before(2, 3, 9) }

func (v Version) pendingJobs(d dialect) support {
	switch {
	case v.Before(2, 3, 9):
		return neverExists
	case d == restV1 || !v.Known || v.Pre || v.Before(2, 3, 13):
		return mayExist
	}
	return mustExist
}

func (v Version) resourceWorkers(d dialect) support {
	switch {
	case v.Before(3, 0, 0), d == restV1 && !v.Known:
		return neverExists
	case d == restV1 || !v.Known || v.Pre:
		return mayExist
	}
	return mustExist
}

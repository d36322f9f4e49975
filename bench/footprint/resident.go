package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// resident is the memory of a process as the kernel counts it, in bytes: now,
// the part of it that is mapped from files (the program itself), and the most
// that it ever was.
type resident struct{ now, mapped, peak float64 }

// residentOf reads /proc/PID/status; pid may be "self".
func residentOf(pid string) (resident, error) {
	b, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return resident{}, fmt.Errorf("reading resident memory: %w", err)
	}
	var r resident
	fields := map[string]*float64{"VmRSS:": &r.now, "RssFile:": &r.mapped, "VmHWM:": &r.peak}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 2 || fields[f[0]] == nil {
			continue
		}
		kib, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			return resident{}, fmt.Errorf("reading resident memory: %q: %w", line, err)
		}
		*fields[f[0]] = kib * 1024
	}
	if r.now == 0 {
		return resident{}, fmt.Errorf("process %s has no resident memory: it has ended", pid)
	}
	return r, nil
}

// report writes one line of benchmark format.
func report(name string, scopes int, figures ...figure) {
	fmt.Printf("Benchmark%s/scopes=%d\t1", name, scopes)
	for _, f := range figures {
		fmt.Printf("\t%.1f MB-%s", f.bytes/1e6, f.name)
	}
	fmt.Println()
}

type figure struct {
	name  string
	bytes float64
}

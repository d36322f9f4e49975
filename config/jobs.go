package config

import (
	"fmt"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/jobs"
)

// Keys reads the keys that seal submitted configs, anew at every call; nil with
// no error if none are configured.
func (j *Jobs) Keys() (*jobs.Keys, error) {
	text := string(j.Key)
	if j.KeyFile != "" {
		b, err := document.ReadFile(j.KeyFile, maxFileBytes)
		if err != nil {
			return nil, fmt.Errorf("reading jobs.key_file: %w", err)
		}
		text = string(b)
	}
	if text == "" {
		return nil, nil
	}
	return jobs.ParseKeys(text)
}

// Sealed reports whether submitted configs are kept.
func (j *Jobs) Sealed() bool { return j.Key != "" || j.KeyFile != "" }

// checkKeys reports keys that seal nothing.
func (c *Config) checkKeys(r *report) {
	if c.Jobs.Key != "" && c.Jobs.KeyFile != "" {
		r.fail("jobs.key_file", document.CheckValue, "remove one of the two", "both jobs.key (set by %s) and jobs.key_file, expected one", r.at("jobs.key").String())
		return
	}
	if _, err := c.Jobs.Keys(); err != nil {
		path := "jobs.key"
		if c.Jobs.KeyFile != "" {
			path = "jobs.key_file"
		}
		r.fail(path, document.CheckValue, "", "%s: %v", path, err)
	}
}

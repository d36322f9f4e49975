package rules

import "strings"

// packFile begins the File of a rule set that is part of the binary.
const packFile = "pack:"

// Source is the file that the set was read from; of a pack with changes, the file
// that would be the same.
func (rs *RuleSet) Source() []byte { return []byte(rs.text.String()) }

// Origin says in words where a rule set was read from. What has the name of a
// pack and is not the pack never looks like it.
func (rs *RuleSet) Origin() string {
	switch {
	case len(rs.Set) > 0:
		return "pack with set " + strings.Join(rs.Set, ", ")
	case strings.HasPrefix(rs.File, packFile):
		return "pack"
	}
	pack, _, err := Pack(rs.Name)
	switch {
	case err != nil:
		return rs.File
	case pack.Digest == rs.Digest:
		return rs.File + ", the same as the pack"
	default:
		return rs.File + ", which is not the pack of this name"
	}
}

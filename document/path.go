package document

import "strconv"

// Path is where a value stands in a document, and what messages call it.
type Path struct {
	// Full leads from the root, such as scopes[0].mode.
	Full string
	// Subject begins messages: Full, unless a section around it has a title.
	Subject string

	// within is what subjects of the keys below begin with.
	within string
}

// rootPath is the path of a whole document, which messages call by a title such
// as "the rule set".
func rootPath(title string) Path { return Path{Subject: title} }

// At is a path whose subject is the path itself.
func At(full string) Path { return Path{Full: full, Subject: full, within: full} }

// Key is the path of a key below.
func (p Path) Key(name string) Path {
	subject := Join(p.within, name)
	return Path{Full: Join(p.Full, name), Subject: subject, within: subject}
}

// Item is the path of an element of a list.
func (p Path) Item(i int) Path {
	subject := Index(p.Subject, i)
	return Path{Full: Index(p.Full, i), Subject: subject, within: subject}
}

// titled is the path with the title that a tag gives, if it gives one.
func (p Path) titled(c Checks) Path {
	if title := c["title"]; title != "" {
		p.Subject, p.within = title, ""
	}
	return p
}

// Join appends a key to a path.
func Join(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "." + name
}

// Index appends an index to the path of a list.
func Index(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// Places are where the keys of a document stand, by their full paths: the value
// where it is a scalar, else the key.
type Places map[string]Position

// Place is embedded by structs that know where they stand.
type Place struct{ Pos Position }

func (p *Place) setPlace(at Position) { p.Pos = at }

type placed interface{ setPlace(Position) }

// Package document reads YAML files that people write: rule sets, rule tests,
// the configuration and web files.
//
// Parse gives the root of the only document of a file. A Decoder turns it into
// structs by their tags, strictly, and reports everything that is wrong at once,
// each with its place (file:line:column), a caret below the line, what was
// expected and a hint. Values that may be secrets are never quoted.
//
// The tag yaml names a key; the tag check says what its value must be, in words
// separated by commas:
//
//	required       the key must be there unless it has a default, and a text must
//	               not be empty
//	oneof=a|b      the text must be one of these
//	least=1s       a number, duration or size must not be less
//	most=1d        or more
//	title=a test   what messages call the section, or each element of the list;
//	               the keys below it are then called by their own names
//
// A package adds words of its own in Schema.Words, and types of its own in
// Schema.Types. A struct with SetDefaults is filled in by it before it is
// decoded; one that embeds Place knows where it stands.
//
// # Sections that are not known at compile time
//
// A package whose kinds bring their own options (actuators, stores) does not
// have to be known by name. Schema.Kinds has, for every kind, its name and a
// function that gives a new options struct, which has tags, defaults and
// embedded places as any other:
//
//	schema.Kinds["actuator"] = document.Kinds{
//		{Name: "exec", New: func() any { return new(exec.Options) }},
//	}
//
// A field of type Sections is then a section with a key for every kind, as in
// "actuator: {exec: {…}}"; the tag names the entry of Schema.Kinds:
//
//	Actuator document.Sections `yaml:"actuator" check:"kinds=actuator"`
//
// After decoding, Actuator["exec"] is an *exec.Options, or nil if the section is
// not there. Where the tag yaml has the word inline, the keys stand beside those
// of the other fields, after the prefix of the tag, and only for the kinds that
// have options, as in "event_webhook: {…}":
//
//	Options document.Sections `yaml:",inline" check:"kinds=events,prefix=event_"`
//
// A field of type Choice is for sections whose key type names the
// kind, with its options beside it, as in "state: {type: file, path: …}".
package document

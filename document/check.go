package document

// Names of the checks that every kind of file has, as in Diagnostic.Check.
const (
	CheckYAML         = "yaml-syntax"
	CheckDocuments    = "several-documents"
	CheckAlias        = "yaml-alias"
	CheckTooLarge     = "too-large"
	CheckUnknownKey   = "unknown-key"
	CheckDuplicateKey = "duplicate-key"
	CheckMissingKey   = "missing-key"
	CheckType         = "wrong-type"
	CheckValue        = "bad-value"
	CheckDuration     = "bad-duration"
	CheckFinite       = "not-finite"
)

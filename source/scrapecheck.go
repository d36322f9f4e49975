package source

// Validate reports whether the options can be used, without opening anything.
func (o *ScrapeOptions) Validate() error {
	_, err := o.plan()
	return err
}

//go:build !linux

package boltstore

// readAhead leaves it to the system to see that the file is read in order.
func (f *file) readAhead() (stop func()) { return func() {} }

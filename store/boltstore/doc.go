// Package boltstore keeps the gate's records in one file: a bbolt database that
// this process has locked for itself. One goroutine writes: it takes everything
// that waits, checks each Apply in order and commits them together, so that the
// cost of a durable commit is shared by all who wait for one. Reads see the last
// commit and never wait for the writer.
//
//	store.go      Open, Close and the reads of single records
//	layout.go     what is where in the file
//	file.go       opening the file; making sure of what is in it
//	committer.go  the queue and the writer
//	doubt.go      what a failed commit means, and the way back
//	batch.go      one transaction of the writer
//	apply.go      the compare-and-swap
//	scan.go       pages of records
//	due.go        deadlines and retention
//	stats.go      counts
//	check.go      the mark of a clean stop; looking at a file
//	backup.go     a copy while serving
//	compact.go    the file without unused room
//	place*.go     where the file lies, and who else has it
//	errors.go     errors, and panics that become errors
//	unlock_*.go   giving the lock up without bbolt
package boltstore

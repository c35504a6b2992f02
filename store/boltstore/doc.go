// Package boltstore keeps the gate's records in one file: a bbolt database that
// this process has locked for itself. One goroutine writes: it takes everything
// that waits, checks each Apply in order and commits them together, so that the
// cost of a durable commit is shared by all who wait for one. Reads see the last
// commit and never wait for the writer.
//
// # Why records stand in the order of their arrival
//
// A commit costs what its pages cost, one by one: on a disk where the flush alone
// takes 0.04 ms, each page that does not lie beside another takes 0.09 ms. By name
// or by hash, every claim and every receipt changes a page of its own. Such a
// bucket fell from 5,762 deliveries a second with 10,000 records to 2,634 with five
// million (64 at once, two commits each), and wrote 20 KB for each. In the order of
// arrival the records of one commit stand side by side at the end, where those
// before them stood a moment ago: 19,134 and 15,808 a second, and 2.5 KB each.
//
// So a record's key is its place (layout.go): the day that it is planned to stay
// through, and the number of its first version. The receipt is written where the
// claim was. What has expired stands in front and is deleted as a range, a leaf at
// a time: 485,000 records a second, where deletions all over a bucket of hashes made
// 12,000 and held each delivery up for 82 ms. What may not go on its day, as it is
// not completed or was late, is carried forward to another (expire.go).
//
// Names and aliases are looked up in memory (index.go), in a table of hashes and
// places that is made from the records at Open: 35 to 41 bytes for a record with
// its name and one token. No page is written for it, and nothing that it says is
// believed before the record itself has confirmed it.
//
// Those who are not completed, few at any time, stand in a bucket of their own, so
// that deadlines, orphans and the lists of the desk never read the completed.
//
//	store.go      Open, Close and the reads of single records
//	layout.go     what is where in the file
//	file.go       opening the file; making sure of what is in it
//	index.go      from names and aliases to places, in memory
//	rebuild.go    making it, at Open
//	changes.go    what a transaction does to it
//	snapshot.go   reading by name, in one snapshot
//	committer.go  the queue and the writer
//	doubt.go      what a failed commit means, and the way back
//	batch.go      one transaction of the writer
//	apply.go      the compare-and-swap
//	scan.go       pages of records
//	due.go        deadlines
//	expire.go     retention
//	clock.go      leaps of the clock
//	stats.go      counts
//	check.go      the mark of a clean stop; looking at a file
//	backup.go     a copy while serving
//	compact.go    the file without unused room
//	place*.go     where the file lies, and who else has it
//	errors.go     errors, and panics that become errors
//	unlock_*.go   giving the lock up without bbolt
package boltstore

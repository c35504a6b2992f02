// Package work is the work that every store in the benchmark does, and the way in
// which it is told to: deliveries shaped as the gate makes them, clients in a closed
// loop, and a process that takes commands and answers with what it measured.
//
//	delivery.go  what one delivery stores
//	loop.go      clients that deliver one after the other, and what that took
//	serve.go     one store in a process of its own
package work

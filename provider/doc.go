// Package provider knows the senders: for each a preset, as data, of how it
// proves who it is, what names its events, which challenges it poses and how it
// behaves when it is refused. Every fact has its source beside it, and what could
// not be confirmed says so and has the default that is safe either way.
//
// A preset is made ready with the user's settings by Configure; its documentation
// comes from the same data.
//
//go:generate go test -run TestDocumentationIsUpToDate -update .
package provider

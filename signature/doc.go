// Package signature decides whether a request comes from its sender: raw bytes,
// headers and the time in, authentic or not out. It knows neither Caddy nor presets: a
// Config is data, and a Verifier is a Config with secrets.
//
// What all of it keeps: only raw bytes are looked at; secrets are compared in constant
// time; a header's length and the number of signatures in it bound the work; what stands
// twice is refused, since another reader might take the other one; reasons say nothing of
// what was sent.
package signature

// Package keyextract turns a raw request into its event key: the parts that
// name what happened at the source, typed, injective and bounded. Two
// deliveries of one event must give one key, and two events never the same,
// so everything that could be read in two ways is refused, and no key is ever
// invented.
package keyextract

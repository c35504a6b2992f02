// Package n8n knows how n8n reads the path of a webhook and what its answers
// mean. It holds no state and speaks to nobody.
package n8n

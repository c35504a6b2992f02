package n8n

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// methodNames are the methods under which n8n starts a webhook, sorted. OPTIONS
// it answers itself, others it refuses.
//
// Source: n8n 2.40.7, dist/webhooks/webhook-request-handler.js.
var methodNames = [...]string{
	http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodPatch, http.MethodPost, http.MethodPut,
}

// methodSet is a set of them: bit i is methodNames[i].
type methodSet uint8

// methodBit gives method's place in methodNames, -1 if n8n does not know it.
// Upper and lower case differ, as they do in HTTP.
func methodBit(method string) int { return slices.Index(methodNames[:], method) }

// parseMethods reads a route's methods. None is POST.
func parseMethods(methods []string) (methodSet, error) {
	if len(methods) == 0 {
		methods = []string{http.MethodPost}
	}
	var set methodSet
	for _, method := range methods {
		bit := methodBit(method)
		switch {
		case bit < 0 && methodBit(strings.ToUpper(method)) >= 0:
			return 0, fmt.Errorf("method %q: it is written in upper case: %q", method, strings.ToUpper(method))
		case bit < 0:
			return 0, fmt.Errorf("method %q: n8n starts webhooks for %s only", method, strings.Join(methodNames[:], ", "))
		case set&(1<<bit) != 0:
			return 0, fmt.Errorf("method %q: it is there twice", method)
		}
		set |= 1 << bit
	}
	return set, nil
}

// names lists the set, sorted. It is nil for the empty set.
func (s methodSet) names() []string {
	var names []string
	for bit, name := range methodNames {
		if s&(1<<bit) != 0 {
			names = append(names, name)
		}
	}
	return names
}

func (s methodSet) String() string { return strings.Join(s.names(), ", ") }

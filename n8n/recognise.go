package n8n

import "strconv"

// Class is what one of n8n's own answers says about the request.
type Class uint8

const (
	// Refused: n8n answered before any execution, for its own reasons; the
	// request may be repeated as it is.
	Refused Class = iota + 1
	// Rejected: n8n answered before any execution, because of this request or of
	// how the webhook is set up; repeated as it is it meets the same until
	// somebody changes something.
	Rejected
	// Filtered: n8n took the request and, as it is set up to, started nothing.
	Filtered
	// NoData: the execution ended well and had nothing to answer.
	NoData
	// Doubtful: n8n's own words, which it also uses once an execution has begun.
	Doubtful
)

func (c Class) String() string {
	switch c {
	case Refused:
		return "refused"
	case Rejected:
		return "rejected"
	case Filtered:
		return "filtered"
	case NoData:
		return "no_data"
	case Doubtful:
		return "doubtful"
	}
	return "class " + strconv.Itoa(int(c))
}

// Row is one of the answers that n8n gives itself.
type Row struct {
	// Name is for logs: it says which answer it was.
	Name  string
	Class Class
	// Seen are the n8n releases in which the source was read: the first that had
	// the answer, and the last. Not every release between the two was.
	Seen string
	// Source is where n8n writes the answer, below dist of the package n8n
	// unless another package is named, and why the class follows.
	Source string

	match matcher
}

// ReadFrom is the newest n8n release of which the rows were read.
const ReadFrom = "2.40.7"

// maxOwnAnswer bounds what is looked at. The longest of n8n's own answers repeat
// the path, which fills a request line at most, or hold a stack trace.
const maxOwnAnswer = 64 << 10

// Recognise finds the row that an answer is, if n8n gave it itself: it is
// compared as a whole, the first row that matches wins, and nothing with a
// sandbox CSP matches. What it finds is proof only of an n8n that would have
// marked a workflow's answer (ShowsSandbox); a workflow can write any of these
// words.
func Recognise(e Exchange) (Row, bool) {
	if len(e.Body) > maxOwnAnswer || sandboxed(e.Header) || !hasNone(e.Header, "Content-Encoding") {
		return Row{}, false
	}
	for _, row := range rows {
		if row.match(&e) {
			return row, true
		}
	}
	return Row{}, false
}

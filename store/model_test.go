package store_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	. "github.com/n8n-gate/n8n-gate/store"
)

// table is section 3 of the contract: what each move may do to a state.
var table = map[string][][2]State{
	"claim":    {{Gone, Processing}, {FailedRetryable, Processing}, {FailedRetryable, Ambiguous}},
	"await":    {{Processing, Processing}},
	"bind":     {{Processing, Processing}, {Completed, Processing}},
	"undo":     {{Processing, Gone}, {Processing, FailedRetryable}},
	"lapse":    {{Processing, Ambiguous}, {FailedRetryable, Ambiguous}},
	"resolve":  {{Ambiguous, Completed}, {Ambiguous, FailedRetryable}},
	"rerun":    {{Completed, FailedRetryable}, {FailedRetryable, FailedRetryable}},
	"distrust": {{FailedRetryable, Ambiguous}, {Processing, Processing}},
	"settle": {
		{Processing, Completed}, {Processing, FailedRetryable}, {Processing, Ambiguous},
		{FailedRetryable, Completed}, {Completed, Completed}, {Completed, Ambiguous},
		{Ambiguous, Completed}, {Ambiguous, FailedRetryable},
	},
}

// The promises that every single move keeps. They name what was broken.
const (
	onlyTable   = "only the moves of the table"
	attempts    = "attempt: one more by a claim, one less by an undo, else the same"
	generations = "generation: one more by a rerun, else the same"
	deadlines   = "a deadline iff processing, an expiry iff completed, a prior only if processing"
	histories   = "history: one line more, the gate's own lines and the tokens bounded"
	identities  = "id, first sight and version stay; the idempotency key changes with the generation only"
)

// brokenBy names the promises that one successful move did not keep.
func brokenBy(move string, was, is Record, now time.Time) (broken []string) {
	check := func(ok bool, promise string) {
		if !ok {
			broken = append(broken, promise)
		}
	}
	check(slices.Contains(table[move], [2]State{was.State, is.State}), onlyTable)
	check(is.Attempt == was.Attempt+map[string]int{"claim": 1, "undo": -1}[move] || is.State == Ambiguous && is.Attempt == was.Attempt, attempts)
	if was.State != Gone && is.State != Gone {
		check(is.Generation == was.Generation+map[string]int{"rerun": 1}[move], generations)
		check(is.ID == was.ID && is.FirstSeenAt.Equal(was.FirstSeenAt) && is.Version == was.Version &&
			(is.IdempotencyKey() == was.IdempotencyKey()) == (is.Generation == was.Generation), identities)
	}
	check(is.Deadline.IsZero() == (is.State != Processing) && is.ExpiresAt.IsZero() == (is.State != Completed) &&
		(is.Prior == nil || is.State == Processing), deadlines)

	own, tokens, last := 0, 0, is.LastMove()
	for _, m := range is.History {
		if m.By == "" {
			own++
		}
	}
	for _, a := range is.Aliases {
		if a.Kind == AliasToken {
			tokens++
		}
	}
	// An undone claim may leave a line or none: what it must not do is push out another.
	check(own <= HistoryLimit && tokens <= TokenLimit && (move == "undo" || last.At.Equal(now) &&
		last.From == was.State && last.To == is.State && last.Attempt == is.Attempt && last.Reason == is.Reason), histories)
	return broken
}

// notUndone says what an undone claim left behind. Holder and Incarnation mean
// nothing outside processing; the history may grow, but must lose nothing.
func notUndone(was, is Record) (broken []string) {
	lines := is.History
	for _, m := range was.History {
		if i := slices.Index(lines, m); i >= 0 {
			lines = lines[i+1:]
		} else {
			broken = append(broken, fmt.Sprintf("history lost: %v → %v (%s)", m.From, m.To, m.Reason))
		}
	}
	a, b := reflect.ValueOf(deepCopy(was)), reflect.ValueOf(deepCopy(is)) // no nil slices
	for i := range a.NumField() {
		name := a.Type().Field(i).Name
		if slices.Contains([]string{"Version", "Holder", "Incarnation", "History"}, name) {
			continue
		}
		if a.Type().Field(i).IsExported() && !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			broken = append(broken, name+" is not as it was before the claim")
		}
	}
	return broken
}

// guarded returns a deep copy of r whose slices have room to spare, and a
// function that tells whether anything in it, the spare room included, is untouched.
func guarded(r Record) (in Record, untouched func() bool) {
	in = deepCopy(r)
	before := deepCopy(in)
	return in, func() bool { return reflect.DeepEqual(roomOf(in), roomOf(before)) }
}

func deepCopy(r Record) Record {
	r.Aliases = append(slices.Clone(r.Aliases), Alias{})[:len(r.Aliases)]
	r.History = append(slices.Clone(r.History), Move{})[:len(r.History)]
	if r.Receipt != nil {
		c := *r.Receipt
		c.Header, c.Body, c.Result = slices.Clone(c.Header), slices.Clone(c.Body), slices.Clone(c.Result)
		r.Receipt = &c
	}
	if r.Prior != nil {
		c := deepCopy(*r.Prior)
		r.Prior = &c
	}
	return r
}

func roomOf(r Record) Record {
	r.Aliases, r.History = r.Aliases[:len(r.Aliases)+1], r.History[:len(r.History)+1]
	return r
}

// The promises that only a whole life shows.
const (
	oneAction   = "a second action needs a proof of the first one's failure, a person, or a downstream that still knows the key"
	inTime      = "what is tried again in doubt ends while the downstream knows the key, counted from its first use"
	noDoubtLost = "what may have acted, and is tried again, is known to be in doubt"
	restored    = "what a restored store does not know, only a person decides"
	oneOwner    = "one owner while processing, at most one ever"
	needsToken  = "attempts are moved by their own tokens, ambiguous ones by the owner's or a person"
	persons     = "a person's moves are never evicted"
	budgets     = "the budget of reported failures: kept, and renewed by a person only"
	idempotent  = "the same settlement again changes nothing"
	burnsNone   = "an undone claim leaves all as it was"
	pure        = "the record that is given is never changed; a refusal gives it back"
	reachStates = "the walk reaches every state from every state that the table names"
)

// world is one event's record in a random world, and what an observer knows of it.
type world struct {
	rng     *rand.Rand
	r       Record
	now     time.Time
	version uint64
	serial  int
	keep    int // one in so many chances to expire is taken

	issued  []Hash       // every token that ever was, of former lives too
	attempt map[Hash]int // whose attempt a token is: the serial of its claim
	open    map[int]bool // attempts that may have acted, or say that they have
	keyed   time.Time    // first use of the generation's key; zero: none yet, or nobody knows
	unknown bool         // nobody knows when the key was first used: the store was restored
	blind   bool         // a restored store cannot know
	persons []Move
	before  Record // the present claim
	broken  map[string]string
	seen    map[string]bool
	seed    uint64
	step    int
}

func (w *world) breaks(promise string, detail ...any) {
	if _, known := w.broken[promise]; !known {
		w.broken[promise] = fmt.Sprintf("seed %d, step %d: %s", w.seed, w.step, fmt.Sprint(detail...))
	}
}

func (w *world) issue(attempt int) Hash {
	h := HashToken(fmt.Sprint(w.seed, "/", len(w.issued)))
	w.issued = append(w.issued, h)
	w.attempt[h] = attempt
	return h
}

// token picks the owner's more often than not, sometimes none at all.
func (w *world) token() Hash {
	switch n := len(w.issued); {
	case w.rng.IntN(50) == 0:
		return Hash{}
	case n == 0 || w.rng.IntN(20) == 0:
		return HashToken("stranger")
	case w.rng.IntN(2) == 0:
		return w.r.TokenHash
	case w.rng.IntN(3) == 0:
		return w.r.HeaderHash
	default:
		return w.issued[max(0, n-1-w.rng.IntN(6))]
	}
}

// do carries out one move, if the record allows it, and checks what one move shows.
func (w *world) do(move string, f func(Record) (Record, error)) (was Record, ok bool) {
	in, untouched := guarded(w.r)
	next, err := f(in)
	if !untouched() || err != nil && !reflect.DeepEqual(next, in) {
		w.breaks(pure, move, " from ", in.State)
	}
	if err != nil {
		return w.r, false
	}
	was = w.r
	for _, promise := range brokenBy(move, was, next, w.now) {
		w.breaks(promise, move, ": ", was.State, " (", was.Reason, ") → ", next.State, " (", next.Reason, ")")
	}
	w.seen[fmt.Sprint(move, " ", was.State, " → ", next.State)] = true
	w.version++
	next.Version = w.version
	w.r = next
	return was, true
}

func (w *world) random() {
	rng, r := w.rng, w.r
	w.now = w.now.Add(time.Duration(rng.IntN(20)) * time.Second)
	switch rng.IntN(13) {
	case 0, 1:
		w.claim(Claimed{
			Token: w.issue(w.serial + 1), Incarnation: "inc", Holder: HolderForward, Lasts: time.Minute,
			Retention: time.Minute, MaxAttempts: 3, Fingerprint: HashToken(fmt.Sprint(rng.IntN(2))),
			RepeatSafe: []time.Duration{0, 90 * time.Second, 4 * time.Minute, 4 * time.Minute, 4 * time.Minute}[rng.IntN(5)],
		})
	case 2, 3, 4, 5:
		s := settlement(nobody, Completed+State(rng.IntN(3)), ByResponse+Evidence(rng.IntN(2)), rng.IntN(2) == 0)
		s.Token = w.token()
		s.OnTheWay = s.To == Ambiguous && s.Evidence == ByResponse && rng.IntN(4) > 0
		w.settle(s)
	case 6:
		token := w.token()
		was, ok := w.do("await", func(r Record) (Record, error) { return Await(r, token, response, time.Minute, w.now) })
		if ok && !was.Owned(token) && (token == Hash{} || was.HeaderHash != token) {
			w.breaks(needsToken, "await by a token that is none of the attempt's")
		}
	case 7:
		token := w.token()
		fresh := w.issue(w.attempt[token])
		was, ok := w.do("bind", func(r Record) (Record, error) {
			return Bind(r, token, fresh, executed(fmt.Sprint(len(w.issued))), time.Minute, w.now)
		})
		if ok && (!was.Owned(token) || was.Execution != "") {
			w.breaks(needsToken, "bound by a token that does not own the attempt, or twice")
		}
	case 8:
		token := w.token()
		if was, ok := w.do("undo", func(r Record) (Record, error) { return Undo(r, token, w.now) }); ok {
			if !was.Owned(token) {
				w.breaks(needsToken, "undone by a token that does not own the attempt")
			}
			delete(w.open, w.serial)
			if w.r.State == Gone {
				w.forget()
			} else if left := notUndone(w.before, w.r); len(left) > 0 {
				w.breaks(burnsNone, left)
			}
		}
	case 9:
		if rng.IntN(2) == 0 {
			w.now = w.now.Add(time.Minute)
		}
		w.do("lapse", func(r Record) (Record, error) { return Lapse(r, rng.IntN(4) > 0, w.now) })
	case 10:
		w.person("resolve", Resolve)
	case 11:
		if rng.IntN(4) == 0 {
			w.person("rerun", Rerun)
		} else if rng.IntN(8) == 0 {
			w.person("distrust", Distrust)
		}
	case 12:
		if r.State == Completed && !w.now.Before(r.ExpiresAt) && rng.IntN(w.keep) == 0 {
			w.seen["expire"] = true
			w.forget()
		}
	}
}

// claim lets an attempt begin. From now to its deadline it may reach the downstream,
// which carries out what has a key that it does not know: one that was used before is
// known for c.RepeatSafe, from its first use on.
func (w *world) claim(c Claimed) {
	first := w.r.State == Gone || w.r.Reason == ReasonRerun
	was, ok := w.do("claim", func(r Record) (Record, error) { return Claim(r, c, w.now) })
	if !ok {
		return
	}
	if first && !w.unknown {
		w.keyed = w.now
	}
	if w.r.State != Processing { // it was too late
		return
	}
	if len(w.open) > 0 {
		switch open := slices.Collect(maps.Keys(w.open)); {
		case c.RepeatSafe == 0 || w.keyed.IsZero():
			w.breaks(oneAction, "attempt ", w.serial+1, " claimed while these may have acted: ", open)
		case w.r.Deadline.After(w.keyed.Add(c.RepeatSafe)):
			w.breaks(inTime, "attempt ", w.serial+1, " may act ", w.r.Deadline.Sub(w.keyed), " after the key was first used, these may have acted: ", open)
		}
		w.seen["repeat"] = true
	}
	if w.blind {
		w.breaks(restored, "attempt ", w.serial+1, " claimed")
	}
	w.serial++
	w.open[w.serial] = true
	w.blind, w.before = false, was
}

func (w *world) settle(s Settlement) {
	was, ok := w.do("settle", func(r Record) (Record, error) { return Settle(r, s, w.now) })
	if !ok {
		return
	}
	if !was.Knows(s.Token) || was.State == Ambiguous && !was.Owned(s.Token) {
		w.breaks(needsToken, "settled ", was.State, " by a token that may not")
	}
	if s.To == Completed {
		w.open[w.attempt[s.Token]] = true
		w.blind = w.blind && w.r.State != Completed
	}
	if s.To == FailedRetryable && was.State != Completed { // a proof, of this attempt alone
		delete(w.open, w.attempt[s.Token])
	}
	if again, err := Settle(deepCopy(w.r), s, w.now); err == nil {
		w.breaks(idempotent, was.State, " → ", w.r.State, " (", w.r.Reason, ") → ", again.State, " (", again.Reason, ")")
	}
}

func (w *world) person(move string, f func(Record, Verdict, time.Time) (Record, error)) {
	v := Verdict{To: Completed + State(w.rng.IntN(2)), By: "ann", Note: "reason"}
	if w.rng.IntN(8) == 0 {
		v.Note = ""
	}
	if _, ok := w.do(move, func(r Record) (Record, error) { return f(r, v, w.now) }); !ok {
		return
	}
	if v.Note == "" {
		w.breaks(needsToken, move, " without a reason")
	}
	w.persons = append(w.persons, w.r.LastMove())
	if move == "rerun" { // another key
		w.keyed, w.unknown = time.Time{}, false
	}
	if w.blind = move == "distrust"; !w.blind {
		w.open = map[int]bool{}
	} else {
		w.keyed, w.unknown = time.Time{}, true
	}
}

// forget is the end of a record: retention, or an undone first claim.
func (w *world) forget() {
	w.r, w.open, w.blind, w.persons = Record{ID: event}, map[int]bool{}, false, nil
	w.keyed, w.unknown = time.Time{}, false
}

// check looks at the record as it stands after a step.
func (w *world) check(was Record) {
	if w.r.State != Gone {
		if err := w.r.Validate(); err != nil {
			w.breaks(onlyTable, "a record that cannot be: ", err)
		}
	}
	owners := 0
	for _, h := range w.issued[max(0, len(w.issued)-3*TokenLimit):] {
		if w.r.Owned(h) {
			owners++
		}
	}
	if owners > 1 || w.r.State == Processing && owners != 1 {
		w.breaks(oneOwner, owners, " owners of a record that is ", w.r.State)
	}
	kept := slices.DeleteFunc(slices.Clone(w.r.History), func(m Move) bool { return m.By == "" })
	if !slices.Equal(kept, w.persons) {
		w.breaks(persons, len(kept), " of ", len(w.persons), " kept")
	}
	if w.r.State == FailedRetryable && len(w.open) > 0 && !w.r.Doubt {
		w.breaks(noDoubtLost, "failed_retryable (", w.r.Reason, ") without a doubt, while these may have acted: ", slices.Collect(maps.Keys(w.open)))
	}
	last := w.r.LastMove().Reason
	renewed := last == ReasonRerun || last == ReasonResolved || w.r.State == Gone
	if w.r.Reported < was.Reported && !renewed || w.r.Reported > 3 || w.r.State == FailedRetryable && w.r.Reported >= 3 {
		w.breaks(budgets, w.r.State, " with ", w.r.Reported, " of 3 reported, before ", was.Reported)
	}
}

// Every promise is a subtest of its own, so that one that is broken hides no other.
func TestRandomLives(t *testing.T) {
	broken, seen := map[string]string{}, map[string]bool{}
	for seed := range uint64(64) {
		w := &world{
			rng: rand.New(rand.NewPCG(seed, 1)), now: epoch, keep: 1 + int(seed%4), seed: seed,
			attempt: map[Hash]int{}, broken: broken, seen: seen,
		}
		w.forget()
		for w.step = range 2000 {
			was := w.r
			w.random()
			w.check(was)
		}
	}
	for move, changes := range table {
		for _, c := range changes {
			if name := fmt.Sprint(move, " ", c[0], " → ", c[1]); !seen[name] {
				broken[reachStates] += name + "; "
			}
		}
	}
	for _, rare := range []string{"expire", "repeat"} {
		if !seen[rare] {
			broken[reachStates] += rare + "; "
		}
	}
	for _, promise := range []string{
		onlyTable, attempts, generations, deadlines, histories, identities, oneAction, inTime, noDoubtLost, restored, oneOwner,
		needsToken, persons, budgets, idempotent, burnsNone, pure, reachStates,
	} {
		t.Run(promise, func(t *testing.T) {
			if detail, ok := broken[promise]; ok {
				t.Error(detail)
			}
		})
	}
}

package store

import (
	"bytes"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// fullRecord has something else in every field.
func fullRecord() Record {
	full, prior := firstRecord(), firstRecord()
	prior.State, prior.Attempt, prior.Reason, prior.History = FailedRetryable, 3, "refused", prior.History[:1]
	full.Prior = &prior
	return full
}

// firstRecord is a record without a prior.
func firstRecord() Record {
	at := func(s int64) time.Time { return time.Unix(1_780_000_000+s, 123_456_789).UTC() }
	return Record{
		ID: ID{Operation: "create_invoice", EventKey: "evt_1:created"}, State: Completed, Version: 300,
		Holder: HolderReceipt, Incarnation: "0f", Attempt: 4, Refused: 1, Reported: 2, Generation: 3,
		MaxAttempts: 10, Retention: 30 * 24 * time.Hour,
		FirstSeenAt: at(0), ClaimedAt: at(1), SettledAt: at(2), Deadline: at(3), ExpiresAt: at(4),
		KeyedAt: at(5), RepeatUntil: at(6),
		Fingerprint: Hash{1, 31: 2}, TokenHash: Hash{3, 31: 4}, HeaderHash: Hash{7, 31: 8}, Execution: "main/4711",
		Aliases: []Alias{{AliasToken, "\x00\xff"}, {AliasExecution, "main/4711"}},
		Reason:  "timeout", Evidence: ByReceipt, ActionID: "inv_456",
		Receipt: &Receipt{
			Status: 201, Header: []Field{{"Content-Type", "text/plain"}, {"Location", ""}},
			Body: []byte("done"), BodyDropped: true, Result: []byte(`{}`),
		},
		Doubt: true, Covers: "orders", Unproven: "evt_1",
		History: []Move{
			{At: at(7), From: Gone, To: Processing, Attempt: 1, Reason: "claim", By: "ada", Note: "a note"},
			{},
		},
	}
}

// goldenRecord is fullRecord as it must always be read: changing these bytes
// makes the files unreadable that are out there.
const goldenRecord = `
	0a0e6372656174655f696e766f696365120d6576745f313a63726561746564180220ac02280232023066380440014802
	5003580a60808088ba90adcd046915cd8dbb91d4b31871159728f791d4b318791561c33292d4b3188101152b5e6e92d4
	b318890115f5f8a992d4b31892012001000000000000000000000000000000000000000000000000000000000000029a
	01200300000000000000000000000000000000000000000000000000000000000004a201096d61696e2f34373131aa01
	060801120200ffaa010d080212096d61696e2f34373131b2010774696d656f7574b80102c20107696e765f343536ca01
	3708c901121a0a0c436f6e74656e742d54797065120a746578742f706c61696e120a0a084c6f636174696f6e1a04646f
	6e6520012a027b7dd20197030a0e6372656174655f696e766f696365120d6576745f313a63726561746564180320ac02
	2802320230663803400148025003580a60808088ba90adcd046915cd8dbb91d4b31871159728f791d4b318791561c332
	92d4b3188101152b5e6e92d4b318890115f5f8a992d4b318920120010000000000000000000000000000000000000000
	00000000000000000000029a01200300000000000000000000000000000000000000000000000000000000000004a201
	096d61696e2f34373131aa01060801120200ffaa010d080212096d61696e2f34373131b2010772656675736564b80102
	c20107696e765f343536ca013708c901121a0a0c436f6e74656e742d54797065120a746578742f706c61696e120a0a08
	4c6f636174696f6e1a04646f6e6520012a027b7dda0121091553c95c93d4b318180120012a05636c61696d3203616461
	3a0661206e6f7465e201200700000000000000000000000000000000000000000000000000000000000008e80101f201
	066f7264657273f90115bf93e592d4b318810215892e2193d4b3188a02056576745f31da0121091553c95c93d4b31818
	0120012a05636c61696d32036164613a0661206e6f7465da0100e2012007000000000000000000000000000000000000
	00000000000000000000000008e80101f201066f7264657273f90115bf93e592d4b318810215892e2193d4b3188a0205
	6576745f31
`

func TestEncodingIsPinned(t *testing.T) {
	got := AppendRecord(nil, fullRecord())
	golden := strings.Join(strings.Fields(goldenRecord), "")
	if hex.EncodeToString(got) != golden {
		t.Errorf("the stored form of a record has changed:\n%s", hex.Dump(got))
	}
	stored, err := hex.DecodeString(golden)
	if err != nil {
		t.Fatal(err)
	}
	r, err := DecodeRecord(stored)
	if err != nil || !reflect.DeepEqual(r, fullRecord()) {
		t.Errorf("read back: %v\ngot  %+v\nwant %+v", err, r, fullRecord())
	}
}

// TestFullRecordIsFull keeps the golden test honest when a field is added.
func TestFullRecordIsFull(t *testing.T) {
	full := firstRecord()
	full.Prior = new(firstRecord())
	full.History = full.History[:1]
	full.Receipt.Header = full.Receipt.Header[:1]
	full.History[0].From = Processing
	var walk func(path string, v reflect.Value)
	walk = func(path string, v reflect.Value) {
		if v.IsZero() {
			t.Errorf("%s is zero", path)
		}
		switch {
		case v.Type() == reflect.TypeFor[time.Time]():
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				if !v.Type().Field(i).IsExported() {
					continue
				}
				walk(path+"."+v.Type().Field(i).Name, v.Field(i))
			}
		case path == "Record.Prior": // a record again
		case v.Kind() == reflect.Pointer:
			walk(path, v.Elem())
		case v.Kind() == reflect.Slice:
			for i := range v.Len() {
				if v.Type().Elem().Kind() == reflect.Struct {
					walk(path, v.Index(i))
				}
			}
		}
	}
	walk("Record", reflect.ValueOf(full))
}

func TestEncodingRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		want := randomRecord(rng)
		prefix := []byte("prefix")
		b := AppendRecord(prefix, want)[len(prefix):]
		got, err := DecodeRecord(b)
		if err != nil {
			t.Fatalf("%v\n%+v", err, want)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("\ngot  %+v\nwant %+v", got, want)
		}
		for i := range b { // shares no memory
			b[i] = 0xff
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatal("the record shares memory with what it was decoded from")
		}
	}
}

// randomRecord leaves each field out now and then.
func randomRecord(rng *rand.Rand) Record {
	var r Record
	fill(rng, reflect.ValueOf(&r).Elem())
	if r.Prior != nil {
		r.Prior.Prior = nil
	}
	return r
}

func fill(rng *rand.Rand, v reflect.Value) {
	if rng.IntN(4) == 0 {
		return
	}
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(0, int64(rng.Uint64())).UTC()))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(rng, v.Field(i))
			}
		}
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(rng, v.Elem())
	case v.Kind() == reflect.Slice:
		n := 1 + rng.IntN(3)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(rng, v.Index(i))
		}
	case v.Kind() == reflect.Array:
		v.Index(rng.IntN(v.Len())).SetUint(1)
	case v.Kind() == reflect.String:
		v.SetString([]string{"x", "\x00", "\xff", strings.Repeat("long", 100), "ключ"}[rng.IntN(5)])
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(rng.Int64N(1000) - 100)
	case v.Kind() == reflect.Uint8:
		v.SetUint(rng.Uint64N(256))
	default:
		v.SetUint(rng.Uint64())
	}
}

func TestEncodingOfTimes(t *testing.T) {
	for _, c := range []struct{ give, want time.Time }{
		{time.Time{}, time.Time{}},
		{time.Unix(0, 0), time.Unix(0, 0)},
		{time.Unix(0, -1), time.Unix(0, -1)},
		{time.Date(2026, 7, 1, 12, 0, 0, 1, time.FixedZone("", 7200)), time.Date(2026, 7, 1, 10, 0, 0, 1, time.UTC)},
		{time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(0, math.MaxInt64)},
		{time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(0, math.MinInt64)},
	} {
		got, err := DecodeRecord(AppendRecord(nil, Record{Deadline: c.give}))
		if err != nil || !got.Deadline.Equal(c.want) || got.Deadline.Location() != time.UTC {
			t.Errorf("%v: got %v, %v, want %v", c.give, got.Deadline, err, c.want)
		}
	}
}

func TestDecodeSkipsLaterFields(t *testing.T) {
	later := func(b []byte) []byte {
		b = protowire.AppendTag(b, 200, protowire.VarintType)
		b = protowire.AppendVarint(b, 7)
		b = protowire.AppendTag(b, 201, protowire.BytesType)
		b = protowire.AppendString(b, "later")
		b = protowire.AppendTag(b, 202, protowire.Fixed32Type)
		b = protowire.AppendFixed32(b, 7)
		b = protowire.AppendTag(b, 203, protowire.StartGroupType)
		b = protowire.AppendTag(b, 1, protowire.VarintType)
		b = protowire.AppendVarint(b, 7)
		return protowire.AppendTag(b, 203, protowire.EndGroupType)
	}
	b := later(AppendRecord(later(nil), fullRecord()))
	b = appendMessage(b, recordMove, later(nil))
	want := fullRecord()
	want.History = append(want.History, Move{})
	if got, err := DecodeRecord(b); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, got, want)
	}
}

func TestDecodeRefuses(t *testing.T) {
	whole := AppendRecord(nil, fullRecord())
	for name, b := range map[string][]byte{
		"cut off":              whole[:len(whole)-1],
		"text":                 []byte("<html>"),
		"state of another":     appendString(nil, recordState, "completed"),
		"state too large":      appendUint(nil, recordState, 256),
		"hash too short":       appendString(nil, recordTokenHash, "short"),
		"hash too long":        appendString(nil, recordTokenHash, strings.Repeat("x", 33)),
		"time as a number":     appendUint(nil, recordDeadline, 1),
		"event key as a time":  appendTime(nil, recordEventKey, time.Unix(1, 0)),
		"receipt as a number":  appendUint(nil, recordReceipt, 1),
		"receipt of nonsense":  appendString(nil, recordReceipt, "\x08"),
		"group without an end": protowire.AppendTag(nil, 200, protowire.StartGroupType),
	} {
		if r, err := DecodeRecord(b); err == nil || !reflect.DeepEqual(r, Record{}) {
			t.Errorf("%s: got %+v, %v", name, r, err)
		}
	}
}

// FuzzDecodeRecord: whatever is in the file, decoding does not panic, and what it
// accepts has one stored form.
func FuzzDecodeRecord(f *testing.F) {
	f.Add([]byte{})
	f.Add(AppendRecord(nil, fullRecord()))
	f.Add(AppendRecord(nil, Record{ID: ID{"a", "b"}, State: Processing, Version: 1}))
	rng := rand.New(rand.NewPCG(3, 4))
	for range 5 {
		f.Add(AppendRecord(nil, randomRecord(rng)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := DecodeRecord(b)
		if err != nil {
			return
		}
		stored := AppendRecord(nil, r)
		again, err := DecodeRecord(stored)
		if err != nil {
			t.Fatalf("its own stored form: %v", err)
		}
		if !bytes.Equal(AppendRecord(nil, again), stored) {
			t.Fatalf("\ngot  %+v\nwant %+v", again, r)
		}
	})
}

// TestDecodeNames: what it reads is what DecodeRecord reads, and no more.
func TestDecodeNames(t *testing.T) {
	var names Names
	for _, r := range []Record{fullRecord(), firstRecord(), {ID: ID{"operation", "event"}}} {
		stored := AppendRecord(nil, r)
		if err := names.Decode(stored); err != nil {
			t.Fatal(err)
		}
		got := Record{ID: ID{string(names.Operation), string(names.EventKey)}}
		for _, a := range names.Aliases {
			got.Aliases = append(got.Aliases, Alias{a.Kind, string(a.Value)})
		}
		if want := (Record{ID: r.ID, Aliases: r.Aliases}); !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if names.Decode(stored[:len(stored)-1]) == nil {
			t.Error("a record that was cut off was read")
		}
	}
	for _, malformed := range []string{"\x08\x01", "\x10", "\xaa\x01\x01\x08", "\xaa\x01\x03\x08\x80\x08", "\xaa\x01\x02\x10\x01"} {
		if names.Decode([]byte(malformed)) == nil {
			t.Errorf("%q was read", malformed)
		}
	}
}

package keyextract

import (
	"math"
	"strconv"
)

// appendNumber writes a JSON number in its canonical form: an integer with its
// digits, anything else as JavaScript prints the float64 (RFC 8785 section
// 3.2.2.3).
func appendNumber(out, raw []byte) ([]byte, error) {
	point, exponent := -1, false
	for i, c := range raw {
		switch c {
		case '.':
			point = i
		case 'e', 'E':
			exponent = true
		}
	}
	if point < 0 && !exponent {
		if string(raw) == "-0" {
			return append(out, '0'), nil
		}
		return append(out, raw...), nil
	}
	if !exponent && shortDecimal(raw) {
		return appendDecimal(out, raw, point), nil
	}
	f, _ := strconv.ParseFloat(string(raw), 64)
	switch abs := math.Abs(f); {
	case math.IsInf(f, 0):
		return out, errHugeNumber
	case f == 0:
		return append(out, '0'), nil
	case abs < 1e-6 || abs >= 1e21:
		start := len(out)
		out = strconv.AppendFloat(out, f, 'e', -1, 64)
		// Go writes e-07, JavaScript e-7.
		if n := len(out); n-start >= 4 && out[n-4] == 'e' && out[n-2] == '0' {
			out[n-2] = out[n-1]
			out = out[:n-1]
		}
		return out, nil
	}
	return strconv.AppendFloat(out, f, 'f', -1, 64), nil
}

// shortDecimal reports whether a number without an exponent is so short that a
// float64 keeps it: up to 15 digits come back as they were. Those below 1e-6
// would have to be printed with an exponent.
func shortDecimal(raw []byte) bool {
	if raw[0] == '-' {
		raw = raw[1:]
	}
	return len(raw) <= 16 && string(raw[:min(len(raw), 4)]) != "0.00"
}

// appendDecimal writes a short number with a point at that index, without the
// zeros at its end.
func appendDecimal(out, raw []byte, point int) []byte {
	end := len(raw)
	for raw[end-1] == '0' {
		end--
	}
	if end-1 == point {
		end--
	}
	if string(raw[:end]) == "-0" {
		return append(out, '0')
	}
	return append(out, raw[:end]...)
}

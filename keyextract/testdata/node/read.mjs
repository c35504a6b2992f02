// Reads the batch that TestNode writes, one JSON object a line, the way n8n's
// parsers do (all of them Node's own), and says of each line whether the gate's
// reading is Node's: "ok", "ok unparsable", or what differs.

import { createInterface } from 'node:readline';
import { parse } from 'node:querystring';
import { gunzipSync, inflateSync } from 'node:zlib';

const bytes = (b64) => Buffer.from(b64, 'base64');

// member follows a path through own members; undefined if there is none.
function member(value, path) {
	for (const name of path) {
		if (Array.isArray(value)) {
			value = /^(0|[1-9]\d*)$/.test(name) ? value[Number(name)] : undefined;
		} else if (value !== null && typeof value === 'object') {
			value = Object.hasOwn(value, name) ? value[name] : undefined;
		} else {
			return undefined;
		}
	}
	return value;
}

// canonicalize is RFC 8785 as its section 3.2 tells it.
function canonicalize(value) {
	if (Array.isArray(value)) return `[${value.map(canonicalize).join()}]`;
	if (value === null || typeof value !== 'object') return JSON.stringify(value);
	const members = Object.keys(value).sort().map((k) => `${JSON.stringify(k)}:${canonicalize(value[k])}`);
	return `{${members.join()}}`;
}

function same(read, value) {
	if (typeof value === 'string') return value === read;
	if (typeof value !== 'number') return false;
	// Beyond 2^53 the gate keeps the digits, and Node the nearest float64.
	return Number.isSafeInteger(value) ? String(value) === read && !Object.is(value, -0) : Number(read) === value;
}

function json({ body, path, read, missing, form }) {
	if (body === '') return read === undefined ? 'ok' : `read ${read} from nothing`;
	let value;
	try {
		value = JSON.parse(bytes(body).toString());
	} catch {
		if (read !== undefined || form !== undefined) return `not JSON, but read ${read}, canonical ${form}`;
		return missing ? 'not JSON, but called absent' : 'ok unparsable';
	}
	const there = member(value, path);
	if (read !== undefined && !same(read, there)) return `read ${read}, but it is ${JSON.stringify(there)}`;
	if (missing && there !== undefined) return `called absent, but it is ${JSON.stringify(there)}`;
	if (form !== undefined) {
		const text = bytes(form).toString();
		const want = canonicalize(value);
		if (canonicalize(JSON.parse(text)) !== want) return `${text} does not mean ${want}`;
		// Integers of more digits than a float64 keeps stand as they are.
		if (!/\d{16}/.test(text) && text !== want) return `canonical ${text}, but it is ${want}`;
	}
	return 'ok';
}

function urlencoded({ body, path, read, missing }) {
	const there = parse(bytes(body).toString(), undefined, undefined, { maxKeys: 1000 })[path[0]];
	if (read !== undefined && there !== read) return `read ${read}, but it is ${JSON.stringify(there)}`;
	if (missing && there !== undefined) return `called absent, but it is ${JSON.stringify(there)}`;
	return 'ok';
}

function compressed({ body, encoding, form }) {
	let text;
	try {
		text = (encoding === 'gzip' ? gunzipSync : inflateSync)(bytes(body));
	} catch {
		return form === undefined ? 'ok unparsable' : 'decoded what Node refuses';
	}
	if (form !== undefined && !text.equals(bytes(form))) return `decoded ${bytes(form)}, but it is ${text}`;
	return 'ok';
}

const kinds = { json, urlencoded, compressed };
for await (const line of createInterface({ input: process.stdin })) {
	const test = JSON.parse(line);
	console.log(kinds[test.kind](test));
}

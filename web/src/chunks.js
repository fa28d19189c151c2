// Reads the page's data: chunks of columns, gzip + base64 in script elements that never run.
// docs/format/report-page.md describes them; src/report/html/page.c writes them.
import { gunzip as inflate } from './inflate.js';

export const NONE = 0xffffffff;
const json = (id) => JSON.parse(document.getElementById(id)?.textContent ?? 'null');
export const toc = json('toc');
export const phases = json('phases'); // docs/format/page-phases.md; null where the page has none

const WIDTH = { u8: 1, u16: 2, u32: 4, d32: 4, f64: 8 };

function bytesOfBase64(text) {
	if (Uint8Array.fromBase64)
		return Uint8Array.fromBase64(text);
	const chars = atob(text);
	const bytes = new Uint8Array(chars.length);
	for (let i = 0; i < chars.length; i++)
		bytes[i] = chars.charCodeAt(i);
	return bytes;
}

async function gunzip(bytes, size) {
	if (typeof DecompressionStream === 'undefined')
		return inflate(bytes, size);
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Byte planes back to little-endian numbers.
function joinPlanes(raw, at, rows, width) {
	const bytes = new Uint8Array(rows * width);
	for (let plane = 0; plane < width; plane++) {
		const from = at + plane * rows;
		for (let i = 0, to = plane; i < rows; i++, to += width)
			bytes[to] = raw[from + i];
	}
	return bytes.buffer;
}

function undoDifferences(values) {
	let before = 0;
	for (let i = 0; i < values.length; i++) {
		const step = values[i];
		before = (before + ((step >>> 1) ^ -(step & 1))) >>> 0;
		values[i] = before;
	}
	return values;
}

// Many texts in one pool of bytes; decoded when asked for.
class Texts {
	constructor(pool, lengths) {
		this.length = lengths.length;
		this.ends = new Uint32Array(lengths.length + 1);
		for (let i = 0, sum = 0; i < lengths.length; i++)
			this.ends[i + 1] = sum += lengths[i];
		this.pool = pool;
		this.decoder = new TextDecoder();
		// In ASCII a character is a byte, and the pool can be cut as one string.
		this.whole = pool.every((byte) => byte < 128) ? this.decoder.decode(pool) : null;
	}
	at(i) {
		if (i >= this.length)
			return '';
		const start = this.ends[i], end = this.ends[i + 1];
		return this.whole !== null ? this.whole.slice(start, end)
			: this.decoder.decode(this.pool.subarray(start, end));
	}
}

function readColumns(entry, raw) {
	const chunk = { rows: entry.rows };
	let at = 0;
	for (const [name, kind] of entry.columns) {
		const width = WIDTH[kind] ?? 4;
		const buffer = joinPlanes(raw, at, entry.rows, width);
		at += entry.rows * width;
		if (kind === 'u8')
			chunk[name] = new Uint8Array(buffer);
		else if (kind === 'u16')
			chunk[name] = new Uint16Array(buffer);
		else if (kind === 'u32')
			chunk[name] = new Uint32Array(buffer);
		else if (kind === 'd32')
			chunk[name] = undoDifferences(new Uint32Array(buffer));
		else if (kind === 'f64')
			chunk[name] = new Float64Array(buffer);
		else {
			const lengths = new Uint32Array(buffer);
			const total = lengths.reduce((sum, length) => sum + length, 0);
			chunk[name] = new Texts(raw.subarray(at, at + total), lengths);
			at += total;
		}
	}
	return chunk;
}

const loading = new Map();

// The chunk as an object of typed arrays (and Texts) with `rows`. Decoded once.
export function load(name) {
	if (!loading.has(name))
		loading.set(name, (async () => {
			const entry = toc.chunks.find((each) => each.name === name);
			const element = document.getElementById('chunk-' + name);
			if (!entry || !element)
				throw new Error(`the page has no chunk "${name}": the file is cut short`);
			const raw = await gunzip(bytesOfBase64(element.textContent), entry.raw_bytes);
			element.remove(); // the text is of no more use
			if (raw.length !== entry.raw_bytes)
				throw new Error(`chunk "${name}" is damaged`);
			return readColumns(entry, raw);
		})());
	return loading.get(name);
}

// Inflate (RFC 1951) of a gzip member without optional fields (RFC 1952; zlib writes none), for browsers without DecompressionStream. Small
// rather than fast: codes are looked up length by length, as their canonical order allows.
const LENGTHS = [], DISTANCES = []; // [base, extra bits]
for (let i = 0, base = 3; i < 28; i++) {
	const extra = i < 8 ? 0 : (i >> 2) - 1;
	LENGTHS.push([base, extra]);
	base += 1 << extra;
}
LENGTHS.push([258, 0]);
for (let i = 0, base = 1; i < 30; i++) {
	const extra = i < 4 ? 0 : (i >> 1) - 1;
	DISTANCES.push([base, extra]);
	base += 1 << extra;
}
const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

// Canonical code: how many codes of each length, and the symbols in order.
function makeCode(lengths) {
	const count = new Uint16Array(16), start = new Uint16Array(17), symbols = new Uint16Array(lengths.length);
	for (const length of lengths)
		count[length]++;
	count[0] = 0;
	for (let i = 1; i < 16; i++)
		start[i + 1] = start[i] + count[i];
	lengths.forEach((length, symbol) => {
		if (length)
			symbols[start[length]++] = symbol;
	});
	return { count, symbols };
}

export function gunzip(bytes, size) {
	const out = new Uint8Array(size);
	let at = 10, bit = 0, to = 0;
	const bits = (n) => {
		let value = 0;
		for (let i = 0; i < n; i++) {
			value |= (bytes[at] >> bit & 1) << i;
			if (++bit === 8) {
				bit = 0;
				at++;
			}
		}
		return value;
	};
	const symbol = ({ count, symbols }) => {
		let code = 0, first = 0, index = 0;
		for (let length = 1; length < 16; length++) {
			code |= bits(1);
			if (code - count[length] < first)
				return symbols[index + code - first];
			index += count[length];
			first = (first + count[length]) << 1;
			code <<= 1;
		}
		throw new Error('the data are damaged');
	};
	const readCodes = () => {
		const literals = bits(5) + 257, distances = bits(5) + 1, count = bits(4) + 4;
		const sizes = new Uint8Array(19), lengths = [];
		for (let i = 0; i < count; i++)
			sizes[ORDER[i]] = bits(3);
		const code = makeCode(sizes);
		while (lengths.length < literals + distances) {
			const s = symbol(code);
			const [value, times] = s < 16 ? [s, 1] : s === 16 ? [lengths[lengths.length - 1], 3 + bits(2)] : [0, s === 17 ? 3 + bits(3) : 11 + bits(7)];
			for (let i = 0; i < times; i++)
				lengths.push(value);
		}
		return [makeCode(lengths.slice(0, literals)), makeCode(lengths.slice(literals))];
	};
	const fixed = () => [makeCode(Array.from({ length: 288 }, (_, i) => i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8)), makeCode(Array(30).fill(5))];
	for (let last = false; !last;) {
		last = bits(1) === 1;
		const kind = bits(2);
		if (kind === 0) {
			if (bit) {
				bit = 0;
				at++;
			}
			const length = bytes[at] + bytes[at + 1] * 256;
			out.set(bytes.subarray(at + 4, at + 4 + length), to);
			to += length;
			at += 4 + length;
			continue;
		}
		const [literal, distance] = kind === 1 ? fixed() : readCodes();
		for (let s = symbol(literal); s !== 256; s = symbol(literal)) {
			if (s < 256) {
				out[to++] = s;
				continue;
			}
			const [base, extra] = LENGTHS[s - 257], length = base + bits(extra);
			const [far, farExtra] = DISTANCES[symbol(distance)], from = to - far - bits(farExtra);
			for (let i = 0; i < length; i++)
				out[to++] = out[from + i];
		}
	}
	return out.subarray(0, to);
}

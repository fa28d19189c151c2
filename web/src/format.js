// Numbers and names for people. Never depends on the browser's locale.

const SPECIAL = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

// Names come from binaries: what is invisible or turns the direction of text is spelled out.
export function visible(name) {
	return name.replace(SPECIAL, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

export function elide(text, width) {
	if (text.length <= width)
		return text;
	const head = Math.ceil((width - 1) / 2);
	return text.slice(0, head) + '…' + text.slice(text.length - (width - 1 - head));
}

// A namespace without a name tells no function from another; and it is no list of arguments.
export const ANONYMOUS = '(anonymous namespace)::';

// A name in less room, so that what tells names apart stays: the end of a path, the last parts of a C++
// name, the address of what has no name.
export function shorten(name, width) {
	let text = name.replace(/^(loop )?<function at (0x[0-9a-f]+)>/, '$1$2');
	if (text.length <= width)
		return text === name || name.length <= width ? name : text;
	if (/^[^(<]*\//.test(text) || /^(loop )?0x/.test(text))
		return '…' + text.slice(text.length - width + 1);
	text = text.replaceAll(ANONYMOUS, '');
	for (let before = ''; before !== text && text.length > width;) { // a<b<c>>::d: from the inside
		before = text;
		text = text.replace(/<[^<>]*>(?=.)/, '');
	}
	text = text.length > width ? text.replace(/\(.*\)( const)?/, '') : text;
	while (text.length > width && text.includes('::'))
		text = '…' + text.slice(text.indexOf('::') + 2);
	return elide(text, width);
}

// A name as [namespaces or folders, the last part, arguments]: in little room the arguments go first, then
// the namespaces.
export function partsOf(name) {
	const nameless = /^(<(?:function|code) at )(0x.*)/.exec(name);
	if (nameless)
		return [nameless[1].replace(/ $/, '\u00a0'), nameless[2], ''];
	const isScoped = name.includes('::'); // else what stands before a blank is no result type
	let depth = 0, last = 0, end = name.length;
	for (let i = 0; i < name.length && end === name.length; i++) {
		const c = name[i];
		if (c === '(' && depth === 0 && i > last && !name.startsWith('(anonymous', i))
			end = i;
		else if (c === '<' || c === '(' || c === '{')
			depth += name.slice(last, i).endsWith('operator') ? 0 : 1;
		else if ((c === '>' || c === ')' || c === '}') && depth > 0)
			depth--;
		else if (depth === 0 && (c === '/' || isScoped && c === ' ' || c === ':' && name[i - 1] === ':') && i + 1 < name.length)
			last = i + 1;
	}
	return [name.slice(0, last), name.slice(last, end), name.slice(end)];
}

// Three significant digits and the unit that fits.
// So many a second, or of anything, with a prefix of the SI: 12.3 G.
export function prefixed(value) {
	if (!Number.isFinite(value))
		return '';
	let p = 0;
	for (; Math.abs(value) >= 1000 && p < 5; p++)
		value /= 1000;
	return value.toFixed(Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2) + ['', ' k', ' M', ' G', ' T', ' P'][p];
}

export function seconds(ns) {
	if (!(ns >= 0))
		return '–';
	if (ns === 0)
		return '0 s';
	if (ns < 999.5)
		return `${Math.round(ns)} ns`;
	if (ns < 999.5e3)
		return `${digits(ns / 1e3)} µs`;
	if (ns < 999.5e6)
		return `${digits(ns / 1e6)} ms`;
	if (ns < 999.5e9)
		return `${digits(ns / 1e9)} s`;
	return `${grouped(Math.round(ns / 1e9))} s`;
}

function digits(value) {
	return value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

export function percent(share) {
	if (!(share >= 0))
		return '–';
	const value = share * 100;
	return value > 0 && value < 0.05 ? '<0.1 %' : `${value.toFixed(1)} %`;
}

export function grouped(count) {
	return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ',');
}

// 0, 1 ... of so many rows.
export const indices = (count) => [...Array(count).keys()];

// Where the largest of them stands.
export const argmax = (values) => values.reduce((best, v, i) => v > values[best] ? i : best, 0);

// A map of sums.
export const addTo = (map, key, value) => map.set(key, (map.get(key) ?? 0) + value);
export const largestFirst = (sums) => [...sums].sort((a, b) => b[1] - a[1]);

export function bytes(count) {
	if (count < 1000)
		return `${count} B`;
	return count < 1e6 ? `${(count / 1e3).toFixed(1)} kB` : `${(count / 1e6).toFixed(1)} MB`;
}

export function hex(address) {
	return address.toString(16);
}

export function baseName(path) {
	return path.slice(path.lastIndexOf('/') + 1);
}

// 95 % score interval of a proportion (Wilson 1927), as src/base/stats.c computes it.
export function interval(hits, count) {
	if (!(count > 0))
		return [0, 1];
	const z = 1.959963984540054, p = Math.min(1, hits / count), z2 = z * z;
	const middle = (p + z2 / (2 * count)) / (1 + z2 / count);
	const half = z / (1 + z2 / count) * Math.sqrt(p * (1 - p) / count + z2 / (4 * count * count));
	return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

// A speed-up.
// A speed-up that lies between two: 1.01–1.40×.
export const gain = (low, high) => high < 1.005 ? '1×' : low.toFixed(2) === high.toFixed(2) ? times(high) : `${low.toFixed(2)}–${high.toFixed(2)}×`;
export const times = (x) => x >= 1.005 ? `${x >= 100 ? x.toFixed(0) : x.toFixed(2)}×` : x > 0 ? '1×' : '';

// How much a number of observations is worth: 2 good, 1 to be read with care, 0 a hint only.
export function grade(samples) {
	return samples >= 100 ? 2 : samples >= 20 ? 1 : 0;
}

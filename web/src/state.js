// The state of the page is its address: #/view/argument?t=1.5-3&th=0,2-4&m=1&q=text. Nothing else is
// kept, so a copied link shows what was seen.
import { useEffect, useState } from 'preact/hooks';

function parseRanges(text) {
	const set = new Set();
	for (const part of text.split(',')) {
		const [first, last = first] = part.split('-').map(Number);
		for (let i = first; i <= last && i - first < 100000; i++)
			set.add(i);
	}
	return set;
}

export function formatRanges(set) {
	const sorted = [...set].sort((a, b) => a - b);
	const parts = [];
	for (let i = 0; i < sorted.length;) {
		let j = i;
		while (j + 1 < sorted.length && sorted[j + 1] === sorted[j] + 1)
			j++;
		parts.push(i === j ? `${sorted[i]}` : `${sorted[i]}-${sorted[j]}`);
		i = j + 1;
	}
	return parts.join(',');
}

function parse() {
	const [path, query = ''] = location.hash.replace(/^#\/?/, '').split('?');
	const [view, ...rest] = path.split('/');
	const params = Object.fromEntries(new URLSearchParams(query));
	const time = /^([\d.]+)-([\d.]+)$/.exec(params.t ?? '');
	let argument = rest.join('/');
	try {
		argument = decodeURIComponent(argument);
	} catch { /* not ours: kept as it stands */ }
	return {
		view: view || 'summary',
		argument,
		params,
		time: time && +time[2] > +time[1] ? [+time[1], +time[2]] : null, // seconds
		threads: params.th ? parseRanges(params.th) : null,
		phases: params.ph ? parseRanges(params.ph) : null,
		module: /^\d+$/.test(params.m ?? '') ? +params.m : null,
		query: params.q ?? '',
	};
}

let state = parse();
const listeners = new Set();

function hashOf(view, argument, params) {
	const query = new URLSearchParams();
	for (const [key, value] of Object.entries(params))
		if (value !== null && value !== undefined && value !== '')
			query.set(key, value);
	const tail = query.toString().replaceAll('%2C', ',');
	return `#/${view}${argument ? '/' + encodeURIComponent(argument) : ''}${tail ? '?' + tail : ''}`;
}

const GLOBAL = ['t', 'th', 'm', 'ph', 'q']; // what goes along from view to view

// The address of another view under the same filter.
export function linkTo(view, argument = '', extra = {}) {
	const kept = {};
	for (const key of GLOBAL)
		kept[key] = state.params[key];
	return hashOf(view, argument, { ...kept, ...extra });
}

export function go(view, argument, extra) {
	location.hash = linkTo(view, argument, extra);
	update(); // now: the event comes later, and another key may come first
}

// Changes parameters of this view. Typing replaces the entry of the history, other changes add one.
export function setParams(changes, replace = false) {
	const hash = hashOf(state.view, state.argument, { ...state.params, ...changes });
	if (hash === location.hash)
		return;
	if (replace) {
		history.replaceState(null, '', hash);
		update();
	} else {
		location.hash = hash;
		update();
	}
}

// The order of a table as the address has it: the key of a column, whether smallest first, and what a Table
// takes. `usual`: the key where none is asked for.
export function sortOf(params, usual) {
	const key = (params.sort ?? usual)?.replace(/^-/, ''), ascending = params.sort?.[0] === '-';
	return [key, ascending, { sort: { key, ascending }, onSort: (k) => setParams({ sort: k === key && !ascending ? '-' + k : k === usual ? null : k }) }];
}

let parsed = location.hash;

function update() {
	if (parsed === location.hash)
		return;
	parsed = location.hash;
	state = parse();
	for (const listener of listeners)
		listener(state);
}

window.addEventListener('hashchange', update);

export function current() {
	return state;
}

export function useAddress() {
	const [value, set] = useState(state);
	useEffect(() => {
		listeners.add(set);
		return () => listeners.delete(set);
	}, []);
	return value;
}

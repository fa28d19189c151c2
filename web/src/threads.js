// What threads are called.
import { NONE } from './chunks.js';
import { addTo, largestFirst } from './format.js';

// Begins a thread or a program, and says nothing about it.
const STARTERS = /^(_?_?start(_thread)?|_?_?(GI_)*clone3?|_dl_start.*)$/;

export function threadName(d, thread) {
	const process = d.threads.process[thread];
	const several = d.processes.rows > 1, rank = d.processes.rank[process];
	const name = d.threads.name.at(thread) || 'thread';
	return (several ? (rank >= 0 ? `rank ${rank} ` : `p${process} `) : '') + `${name} ${d.threads.tid[thread]}`;
}

// The function that a path begins in: main, or what the thread was made for.
function entryOf({ nodes, functions }, node) {
	let name = '';
	for (let n = node; n !== NONE; n = nodes.parent[n]) {
		const f = nodes.loop[n] === NONE ? nodes.function[n] : NONE;
		const text = f !== NONE ? functions.name.at(f) : '';
		if (text.startsWith('__libc_start_'))
			return 'main';
		if (text && !STARTERS.test(text))
			name = text;
	}
	return name;
}

// By thread: the function that most of its first samples (or waits) came from; '' where that is not known.
export function entriesOf(d, records, waits) {
	const counts = Array.from({ length: d.threads.rows }, () => new Map());
	const add = (thread, node) => {
		const of = counts[thread];
		if (node !== NONE && (of.total = (of.total ?? 0) + 1) <= 50) {
			const name = entryOf(d, node);
			addTo(of, name, 1);
		}
	};
	for (let i = 0; i < records.rows; i++)
		add(records.thread[i], d.points.node[records.point[i]]);
	for (let i = 0; i < waits.rows; i++)
		add(waits.thread[i], waits.node[i]);
	return counts.map((of) => largestFirst(of).find(([name]) => name)?.[0] ?? '');
}

// Sums over call paths, functions, loops, places and threads under the global filter.
//
// Without a filter the sums are those that sonde computed (exact). With one, they are summed from
// `records`; src/profile defines the terms, and this follows it: exclusive time belongs to the leaf,
// inclusive adds callees, and recursion counts once.
import { NONE, phases, toc } from './chunks.js';

// What the tree implies and every filter needs: a node is outermost if none above it is of the same
// function (or loop).
export function prepare(d) {
	const { nodes, functions, loops } = d;
	const active = new Uint32Array(functions.rows + loops.rows + 1);
	const entity = (node) => nodes.loop[node] !== NONE ? functions.rows + nodes.loop[node]
		: Math.min(nodes.function[node], functions.rows + loops.rows);
	d.outermost = new Uint8Array(nodes.rows);
	walk(nodes, (node) => {
		d.outermost[node] = active[entity(node)]++ === 0 ? 1 : 0;
	}, (node) => { active[entity(node)]--; });
	return d;
}

// Visits nodes in preorder, and leaves them.
export function walk(nodes, enter, leave) {
	const open = [];
	for (let node = 0; node < nodes.rows; node++) {
		const parent = nodes.parent[node];
		while (open.length && open[open.length - 1] !== parent)
			leave(open.pop());
		enter(node);
		open.push(node);
	}
	while (open.length)
		leave(open.pop());
}

// A time range in seconds as two times of records.
function limits(time) {
	const unit = toc.time_unit_ns / 1e9;
	return time ? [time[0] / unit, time[1] / unit] : [0, Infinity];
}

// 1 for each thread that the filter lets through.
function threadsOf(d, filter) {
	return Uint8Array.from({ length: d.threads.rows }, (_, i) => !filter.threads || filter.threads.has(i) ? 1 : 0);
}

// The chosen phases as 1 for each interval, by thread (those of a process share one array), or null.
function intervalsOf(d, filter) {
	if (!filter.phases || !phases)
		return null;
	const of = phases.ribbons.reduce((map, row) => {
		const list = Array(row.first).fill(0);
		for (let i = 0; i < row.runs.length; i += 2)
			for (let k = 0; k < row.runs[i + 1]; k++)
				list.push(filter.phases.has(row.runs[i]) ? 1 : 0);
		return map.set(row.process, Uint8Array.from(list));
	}, new Map());
	return Array.from(d.threads.process, (process) => of.get(process) ?? new Uint8Array(0));
}

// Whether a record of a thread at a time (in records' units) passes the filter on time, threads and phases.
export function passes(d, filter) {
	const [t0, t1] = limits(filter.time), allowed = threadsOf(d, filter), chosen = intervalsOf(d, filter);
	const width = phases ? phases.interval_ns / toc.time_unit_ns : 1;
	return (thread, t) => t >= t0 && t < t1 && allowed[thread] === 1 && (!chosen || chosen[thread][Math.floor(t / width)] === 1);
}

function sumRecords(d, filter, records) {
	const ns = new Float64Array(d.points.rows), samples = new Float64Array(d.points.rows);
	const threadNs = new Float64Array(d.threads.rows);
	const threadSamples = new Float64Array(d.threads.rows);
	const isIn = passes(d, filter);
	const inModule = new Uint8Array(d.points.rows);
	for (let i = 0; i < inModule.length; i++)
		inModule[i] = filter.module === null
			|| d.places.module[d.points.place[i]] === filter.module ? 1 : 0;
	for (let i = 0; i < records.rows; i++) {
		const thread = records.thread[i], point = records.point[i];
		if (!inModule[point] || !isIn(thread, records.time[i]))
			continue;
		const cpu = records.cpu_us[i] * 1000;
		ns[point] += cpu;
		samples[point] += records.samples[i];
		threadNs[thread] += cpu;
		threadSamples[thread] += records.samples[i];
	}
	return { ns, samples, threadNs, threadSamples };
}

// Threads that only slept are apart, as in the sums of src/profile: `idle`.
function sumWaits(d, filter, waits) {
	const nodeWait = new Float64Array(d.nodes.rows), kinds = new Float64Array(16);
	const threadWait = new Float64Array(d.threads.rows);
	const [t0, t1] = limits(filter.time), allowed = threadsOf(d, filter), chosen = intervalsOf(d, filter);
	const width = phases ? phases.interval_ns / toc.time_unit_ns : 1;
	let total = 0, idle = 0;
	const asleep = new Set();
	if (filter.module !== null) // a wait has no leaf instruction, so it is in no module
		return { nodeWait, kinds, threadWait, total, idle, idleThreads: 0 };
	for (let i = 0; i < waits.rows; i++) {
		if (!allowed[waits.thread[i]])
			continue;
		const from = Math.max(t0, waits.time[i]);
		const to = Math.min(t1, waits.time[i] + waits.duration[i]);
		if (to <= from)
			continue;
		let part = to - from;
		if (chosen) {
			part = 0;
			for (let k = Math.floor(from / width); k * width < to && k < chosen[waits.thread[i]].length; k++)
				part += chosen[waits.thread[i]][k] ? Math.min(to, (k + 1) * width) - Math.max(from, k * width) : 0;
		}
		if (!part)
			continue;
		const ns = part * toc.time_unit_ns;
		threadWait[waits.thread[i]] += ns;
		if (!filter.threads && d.threads.helper[waits.thread[i]]) { // unless they are asked for
			asleep.add(waits.thread[i]);
			idle += ns;
			continue;
		}
		if (waits.node[i] !== NONE)
			nodeWait[waits.node[i]] += ns;
		kinds[waits.kind[i]] += ns;
		total += ns;
	}
	return { nodeWait, kinds, threadWait, total, idle, idleThreads: asleep.size };
}

export const inclusiveOf = (nodes, exclusive) => {
	const inclusive = Float64Array.from(exclusive);
	for (let node = nodes.rows - 1; node >= 0; node--)
		if (nodes.parent[node] !== NONE)
			inclusive[nodes.parent[node]] += inclusive[node];
	return inclusive;
};

export function isFiltered(filter) {
	return !!filter.time || !!filter.threads || filter.module !== null || !!(filter.phases && phases);
}

// `records` and `waits` may be null where there is no filter.
export function aggregate(d, filter, records, waits) {
	const { nodes, points, places, functions } = d;
	const filtered = isFiltered(filter);
	const sums = filtered ? sumRecords(d, filter, records)
		: { ns: points.cpu_ns, samples: points.samples, threadNs: d.threads.cpu_ns,
			threadSamples: d.threads.samples };
	const { ns, samples } = sums;
	const nodeExcl = new Float64Array(nodes.rows), placeNs = new Float64Array(places.rows);
	const placeSamples = new Float64Array(places.rows);
	const categories = new Float64Array(toc.categories.length);
	const funcExcl = new Float64Array(functions.rows), funcIncl = new Float64Array(functions.rows);
	const funcSamples = new Float64Array(functions.rows);
	const loopExcl = new Float64Array(d.loops.rows), loopIncl = new Float64Array(d.loops.rows);
	const loopSamples = new Float64Array(d.loops.rows);
	let total = 0, sampleTotal = 0, system = 0;
	for (let i = 0; i < points.rows; i++) {
		const node = points.node[i], place = points.place[i];
		total += ns[i];
		sampleTotal += samples[i];
		categories[points.category[i]] += ns[i];
		if (points.system[i])
			system += ns[i];
		if (node !== NONE)
			nodeExcl[node] += ns[i];
		if (place !== NONE) {
			const f = places.function[place], loop = places.loop[place];
			placeNs[place] += ns[i];
			placeSamples[place] += samples[i];
			if (f !== NONE) {
				funcExcl[f] += ns[i];
				funcSamples[f] += samples[i];
			}
			if (loop !== NONE) {
				loopExcl[loop] += ns[i];
				loopSamples[loop] += samples[i];
			}
		}
	}
	const nodeIncl = inclusiveOf(nodes, nodeExcl);
	for (let node = 0; node < nodes.rows; node++) {
		if (!d.outermost[node])
			continue;
		if (nodes.loop[node] !== NONE)
			loopIncl[nodes.loop[node]] += nodeIncl[node];
		else if (nodes.function[node] !== NONE)
			funcIncl[nodes.function[node]] += nodeIncl[node];
	}
	const result = {
		filtered, total, sampleTotal, system, categories, pointNs: ns, pointSamples: samples,
		nodeExcl, nodeIncl, placeNs, placeSamples, funcExcl, funcIncl, funcSamples,
		loopExcl, loopIncl, loopSamples,
		threadNs: sums.threadNs, threadSamples: sums.threadSamples,
		waits: waits ? sumWaits(d, filter, waits) : null,
	};
	if (!filtered)
		takeExact(d, result);
	// Loops of OpenMP and MPI runtimes wait; among loops to look at they do not count.
	result.ownLoopExcl = result.loopExcl.map((ns, i) => d.loops.flags[i] & 4 ? 0 : ns);
	return result;
}

// Rows that sonde folded away still count in the totals it computed.
function takeExact(d, result) {
	result.funcExcl = d.functions.exclusive_ns;
	result.funcIncl = d.functions.inclusive_ns;
	result.funcSamples = d.functions.samples;
	result.loopExcl = d.loops.exclusive_ns;
	result.loopIncl = d.loops.inclusive_ns;
	result.loopSamples = d.loops.samples;
}

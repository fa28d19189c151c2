// Functions with their loop nests, as a tree; or flat loops, modules, lines.
import { Fragment, h } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { NONE } from '../chunks.js';
import { FunctionLink, Head, Name, Picker, Quality, Share, Switch, place } from '../parts.jsx';
import { grouped, percent, seconds, visible } from '../format.js';
import { go, linkTo, setParams, sortOf } from '../state.js';
import { Table } from '../table.jsx';
import { chunkOf, columnsOf, words } from './listed.jsx';

const DEFAULT = 'excl,share,incl,samples,quality,module,source';

// Order by value without an object a row: indices of a typed array.
function ordered(values, count, ascending) {
	const order = new Uint32Array(count);
	for (let i = 0; i < count; i++)
		order[i] = i;
	let sorted = true;
	for (let i = 1; i < count && sorted; i++)
		sorted = values[i - 1] >= values[i];
	if (!sorted) // sonde writes the hottest first, so this is often so already
		order.sort((a, b) => values[b] - values[a] || a - b);
	return ascending ? order.reverse() : order;
}

function orderedByText(texts, ascending) {
	const keys = Array.from({ length: texts.length }, (_, i) => texts.at(i).toLowerCase());
	const order = Uint32Array.from(keys, (_, i) => i).sort((a, b) => keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : a - b);
	return ascending ? order : order.reverse();
}

// A kind of rows: what to show of number i.
function kindOf(d, agg, rows, chunks) {
	if (rows === 'loops')
		return { of: 'loops', more: chunks[chunkOf('loops')], count: d.loops.rows, names: d.loops.label, excl: agg.loopExcl, incl: agg.loopIncl, samples: agg.loopSamples, low: d.loops.share_low, high: d.loops.share_high, module: (i) => d.functions.module[d.loops.function[i]], source: (i) => place(d, d.loops.file[i], d.loops.line_first[i], d.loops.line_last[i]) };
	if (rows === 'modules') {
		const excl = new Float64Array(d.modules.rows), samples = new Float64Array(d.modules.rows);
		for (let p = 0; p < d.places.rows; p++) {
			excl[d.places.module[p]] += agg.placeNs[p];
			samples[d.places.module[p]] += agg.placeSamples[p];
		}
		return { of: 'modules', more: chunks[chunkOf('modules')], count: d.modules.rows, names: d.modules.name, excl, incl: null, samples, module: (i) => i, source: (i) => d.modules.path.at(i) };
	}
	if (rows === 'lines') {
		const lines = linesOf(d, agg);
		return { count: lines.names.length, names: { length: lines.names.length, at: (i) => lines.names[i] }, excl: lines.ns, incl: null, samples: lines.samples, module: (i) => d.functions.module[lines.functions[i]], source: () => '', functionOf: (i) => lines.functions[i] };
	}
	return { of: 'functions', more: chunks[chunkOf('functions')], count: d.functions.rows, names: d.functions.name, excl: agg.funcExcl, incl: agg.funcIncl, samples: agg.funcSamples, low: d.functions.share_low, high: d.functions.share_high, module: (i) => d.functions.module[i], source: (i) => place(d, d.functions.file[i], d.functions.line[i]) };
}

function linesOf(d, agg) {
	const index = new Map(), names = [], ns = [], samples = [], functions = [];
	for (let p = 0; p < d.places.rows; p++) {
		if (d.places.file[p] === NONE || !d.places.line[p])
			continue;
		const key = d.places.file[p] * 4194304 + d.places.line[p];
		let i = index.get(key);
		if (i === undefined) {
			i = names.length;
			index.set(key, i);
			names.push(place(d, d.places.file[p], d.places.line[p]));
			ns.push(0);
			samples.push(0);
			functions.push(d.places.function[p]);
		}
		ns[i] += agg.placeNs[p];
		samples[i] += agg.placeSamples[p];
	}
	return { names, ns, samples, functions };
}

export function Functions({ d, agg, chunks, filter, matcher }) {
	const { params } = filter, rowsKind = params.rows ?? 'tree';
	const [open, setOpen] = useState(() => new Set());
	const [sortKey, ascending, tableOrder] = sortOf(params, 'excl');
	const kind = useMemo(() => kindOf(d, agg, rowsKind, chunks), [agg, rowsKind]);
	const order = useMemo(() => {
		if (sortKey === 'name')
			return orderedByText(kind.names, !ascending);
		const more = kind.more?.[sortKey];
		if (more)
			return more.BYTES_PER_ELEMENT ? ordered(more.map((v) => Number.isNaN(v) ? -Infinity : v), kind.count, ascending) : orderedByText(more, !ascending);
		const values = { excl: kind.excl, share: kind.excl, incl: kind.incl, inclshare: kind.incl, samples: kind.samples }[sortKey] ?? kind.excl;
		return ordered(values, kind.count, ascending);
	}, [kind, sortKey, ascending]);
	// Loops by function, outermost first, for the tree.
	const loopsOf = useMemo(() => {
		const of = new Map(), children = new Map();
		for (let i = 0; i < d.loops.rows; i++) {
			const map = d.loops.parent[i] === NONE || d.loops.function[d.loops.parent[i]] !== d.loops.function[i] ? of : children;
			const key = map === of ? d.loops.function[i] : d.loops.parent[i];
			if (!map.has(key))
				map.set(key, []);
			map.get(key).push(i);
		}
		return { of, children };
	}, []);
	const flat = useMemo(() => {
		const list = [];
		const isUnused = agg.filtered || rowsKind === 'modules' || rowsKind === 'lines';
		for (const i of order) {
			if (isUnused && !(kind.excl[i] > 0 || kind.incl?.[i] > 0 || kind.samples[i] > 0))
				continue;
			if (matcher && !matcher.test(kind.names.at(i)) && !(rowsKind === 'tree' && loopsOf.of.get(i)?.some((l) => matcher.test(d.loops.label.at(l)))))
				continue;
			list.push(i);
		}
		return list;
	}, [order, matcher, kind]);
	const rows = useMemo(() => {
		if (rowsKind !== 'tree' || open.size === 0)
			return flat;
		const list = [];
		const addLoops = (loops, depth) => {
			for (const loop of [...loops].sort((a, b) => agg.loopExcl[b] - agg.loopExcl[a])) {
				list.push({ loop, depth });
				const inner = loopsOf.children.get(loop);
				if (inner)
					addLoops(inner, depth + 1);
			}
		};
		for (const i of flat) {
			list.push(i);
			if (open.has(i) && loopsOf.of.has(i))
				addLoops(loopsOf.of.get(i), 1);
		}
		return list;
	}, [flat, open, rowsKind]);
	const loopKind = useMemo(() => kindOf(d, agg, 'loops', chunks), [agg]);
	const of = (row) => typeof row === 'object' ? [loopKind, row.loop] : [kind, row];
	const key = (row) => typeof row === 'object' ? 'l' + row.loop : row;
	const isOpen = (row) => typeof row === 'object' || !loopsOf.of.has(row) ? undefined : open.has(row);
	const toggle = (row) => {
		const next = new Set(open);
		if (!next.delete(row))
			next.add(row);
		setOpen(next);
	};
	const openRow = (row) => {
		if (typeof row === 'object')
			go('loop', d.loops.id.at(row.loop));
		else if (rowsKind === 'loops')
			go('loop', d.loops.id.at(row));
		else if (rowsKind === 'modules')
			setParams({ m: row, rows: null });
		else
			go('source', `f${rowsKind === 'lines' ? kind.functionOf(row) : row}`);
	};
	const chosen = new Set((params.cols ?? DEFAULT).split(','));
	const all = makeColumns({ d, agg, chunks, rowsKind, kind, of, isOpen, toggle, matcher });
	const columns = all.filter((c) => c.key === 'name' || chosen.has(c.key) && !(c.needsIncl && !kind.incl));
	const shownNs = useMemo(() => flat.reduce((sum, i) => sum + kind.excl[i], 0), [flat, kind]);
	return <>
		<Head title="Functions & loops" tools={<>
			<Switch label="Rows" value={rowsKind} options={[['tree', 'Functions'], ['loops', 'Loops'], ['lines', 'Lines'], ['modules', 'Modules']]} onChange={(v) => setParams({ rows: v === 'tree' ? null : v })} />
			<Picker groups={groupsOf(all)} chosen={chosen} onChange={(set) => setParams({ cols: all.map((c) => c.key).filter((key) => set.has(key)).join(',') || 'none' })} />
		</>}>exclusive time is spent in the row itself, inclusive adds what it calls</Head>
		<section class="panel flush fill">
			<Table label="Functions and loops" columns={columns} rows={rows} rowKey={key} onOpen={openRow}
				{...tableOrder} sort={{ key: sortKey, ascending: sortKey === 'name' ? !ascending : ascending }}
				tree={rowsKind === 'tree' ? { depth: (r) => r.depth ?? 0, isOpen, toggle } : undefined} />
			<div class="foot" role="status" aria-live="polite"><span>{grouped(flat.length)} of {grouped(kind.count)} rows = {percent(agg.total > 0 ? shownNs / agg.total : 0)} of the CPU time shown</span>
				<span><span class="q2">●</span> 100 samples or more · <span class="q1">◐</span> 20 or more · <span class="q0">○</span> fewer</span></div>
		</section>
	</>;
}

// The page's own columns, then those of each view whose rows stand here.
function groupsOf(columns) {
	const groups = new Map();
	for (const c of columns)
		if (c.key !== 'name')
			groups.set(c.group ?? '', [...groups.get(c.group ?? '') ?? [], [c.key, c.title === '±' ? 'Quality' : c.title]]);
	return groups;
}

// Columns that a view has of these rows; in the tree loops have theirs below functions.
function moreColumns({ rowsKind, chunks, of }) {
	const kinds = { tree: ['functions', 'loops'], loops: ['loops'], modules: ['modules'] }[rowsKind] ?? [];
	return kinds.flatMap((rows) => columnsOf(rows, chunks).map((c) => ({ ...c, group: 'of ' + rows, sortable: kinds[0] === rows,
		render: (row) => { const [k, i] = of(row); return k.of === rows ? c.render(i) : ''; } })));
}

function makeColumns({ d, agg, chunks, rowsKind, kind, of, isOpen, toggle, matcher }) {
	const known = (key) => words(kind.of ?? 'functions', key);
	const title = { tree: 'Function', loops: 'Loop', lines: 'Line', modules: 'Module' }[rowsKind];
	return [
		{ key: 'name', title, width: 'minmax(16rem, 3fr)', least: 260, className: 'mono', render: (row) => {
			const [k, i] = of(row);
			if (typeof row === 'object')
				return <span style={{ paddingLeft: `${1.1 + row.depth}rem` }}><a href={linkTo('loop', d.loops.id.at(i))}><Name text={k.names.at(i)} query={matcher} /></a><LoopTags d={d} i={i} /></span>;
			if (rowsKind === 'tree')
				return <><button class="twist" tabIndex={-1} aria-label="loops of the function" onClick={(e) => { toggle(row); e.stopPropagation(); }}>{isOpen(row) === undefined ? '' : isOpen(row) ? '▾' : '▸'}</button><FunctionLink d={d} f={i} query={matcher} />{d.functions.inlined[i] ? <span class="tag" title="only inlined copies were sampled">inlined</span> : ''}</>;
			if (rowsKind === 'loops')
				return <><a href={linkTo('loop', d.loops.id.at(i))}><Name text={k.names.at(i)} query={matcher} /></a><LoopTags d={d} i={i} /> <span class="dim">{d.loops.function[i] === NONE ? '' : visible(d.functions.name.at(d.loops.function[i]))}</span></>;
			return <Name text={k.names.at(i)} query={matcher} />;
		} },
		{ key: 'excl', ...known('exclusive_cpu_s'), num: true, width: '7.2rem', render: (row) => { const [k, i] = of(row); return seconds(k.excl[i]); } },
		{ key: 'share', ...known('exclusive_share'), num: true, width: '8rem', render: (row) => { const [k, i] = of(row); return <Share part={k.excl[i]} whole={agg.total} />; } },
		{ key: 'incl', needsIncl: true, ...known('inclusive_cpu_s'), num: true, width: '7.2rem', render: (row) => { const [k, i] = of(row); return k.incl ? seconds(k.incl[i]) : ''; } },
		{ key: 'inclshare', needsIncl: true, ...known('inclusive_share'), num: true, width: '8rem', render: (row) => { const [k, i] = of(row); return k.incl ? <Share part={k.incl[i]} whole={agg.total} /> : ''; } },
		{ key: 'samples', ...known('samples'), num: true, width: '5.6rem', render: (row) => { const [k, i] = of(row); return grouped(k.samples[i]); } },
		{ key: 'quality', ...known('interval'), sortable: false, width: '2.6rem', least: 30, render: (row) => { const [k, i] = of(row); return <Quality samples={k.samples[i]} share={k.excl[i] / agg.total} all={agg.sampleTotal} low={agg.filtered || !k.low ? undefined : k.low[i]} high={k.high?.[i]} />; } },
		{ key: 'module', ...known('module'), sortable: false, width: 'minmax(6rem, 1fr)', className: 'dim', render: (row) => { const [k, i] = of(row), m = k.module(i); return m === NONE || m === undefined ? '' : <Name text={d.modules.name.at(m)} />; } },
		{ key: 'source', ...words('functions', 'source'), sortable: false, width: 'minmax(7rem, 1.2fr)', className: 'dim mono', render: (row) => { const [k, i] = of(row); return <Name text={k.source(i)} />; } },
		...moreColumns({ rowsKind, chunks, of }),
	];
}

function LoopTags({ d, i }) {
	return <>{d.loops.flags[i] & 1 ? <span class="tag">innermost</span> : ''}{d.loops.flags[i] & 4 ? <span class="tag" title="of an OpenMP or MPI library: it waits actively">runtime</span> : ''}{d.loops.flags[i] & 2 ? <span class="tag" title="entered at more than one place">irreducible</span> : ''}</>;
}

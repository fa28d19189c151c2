// Source and assembly side by side, with heat; and the page of one loop.
import { Fragment, h } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { NONE, load, toc } from '../chunks.js';
import { Chart } from '../chart.jsx';
import { Empty, FunctionLink, Head, Name, Quality, Share, Tile, Times, elapsedS, place } from '../parts.jsx';
import { addTo, argmax, grouped, hex, indices, largestFirst, percent, seconds, visible } from '../format.js';
import { HEAT_MOST } from '../palette.js';
import { go, linkTo } from '../state.js';
import { threadName } from '../threads.js';
import { passes } from '../aggregate.js';
import { Table } from '../table.jsx';
import { ListedOfLoop } from './listed.jsx';
import { Data, Measured } from './measured.jsx';
import { Scaling } from './scaling.jsx';
import { BOUND_TITLES, LoopQuality, LoopVerdict, chosenBound, modelOf } from './experts.jsx';

function useChunks(...names) {
	const [chunks, set] = useState(null);
	useEffect(() => { Promise.all(names.map(load)).then(set); }, []);
	return chunks;
}

// Heat of source lines (by file) and instructions (by address) of what is sampled.
function heatOf(d, agg) {
	const lines = new Map(), addresses = new Map();
	for (let p = 0; p < d.places.rows; p++) {
		if (!(agg.placeNs[p] > 0))
			continue;
		const key = d.places.file[p] * 4194304 + d.places.line[p];
		if (d.places.file[p] !== NONE)
			addTo(lines, key, agg.placeNs[p]);
		addTo(addresses, d.places.module[p] + ':' + d.places.address[p], agg.placeNs[p]);
	}
	return { lines, addresses };
}

function Heat({ ns, whole, largest }) {
	if (!(ns > 0))
		return '';
	return <div class="bar" style={{ background: `color-mix(in srgb, var(--heat) ${8 + HEAT_MOST * ns / largest}%, transparent)`, margin: '0 -.5rem', padding: '0 .5rem' }}><span>{percent(ns / whole)}</span></div>;
}

function LoopBars({ chain, focus }) {
	return chain.map((loop) => <i key={loop} class={loop === focus ? 'here' : ''} />);
}

function chainOf(d, loop) {
	const chain = [];
	for (; loop !== NONE && loop !== undefined && chain.length < 12; loop = d.loops.parent[loop])
		chain.unshift(loop);
	return chain;
}

// The hottest function that holds places of `f` as machine code: f itself, or where it was inlined.
function hostOf(d, agg, f, listing, loop) {
	const at = new Map();
	for (let i = 0; i < listing.rows; i++)
		at.set(d.functions.module[listing.function[i]] + ':' + addressAt(listing, i), listing.function[i]);
	const sums = new Map();
	for (let p = 0; p < d.places.rows; p++) {
		if (loop !== null ? d.places.loop[p] !== loop : d.places.function[p] !== f)
			continue;
		const host = at.get(d.places.module[p] + ':' + d.places.address[p]);
		if (host !== undefined)
			addTo(sums, host, agg.placeNs[p] + 1e-3);
	}
	const sorted = largestFirst(sums);
	return sorted.length ? sorted[0][0] : null;
}

const addressAt = (listing, i) => listing.address_high[i] * 4294967296 + listing.address_low[i];

export function SourceAndAssembly({ d, agg, f, loop, file, model, chosen }) {
	const chunks = useChunks('sources', 'instructions');
	const [linked, setLinked] = useState(null); // { file, line }
	const heat = useMemo(() => heatOf(d, agg), [agg]);
	const modelled = useMemo(() => chosen?.path !== undefined ? modelOf(model, chosen.path) : null, [chosen?.path]);
	const shownFile = file ?? (loop !== null ? d.loops.file[loop] : d.functions.file[f]);
	const plan = useMemo(() => {
		if (!chunks)
			return null;
		const [sources, listing] = chunks;
		return { source: sourceRows(d, agg, sources, shownFile, f, loop), assembly: listingRows(d, agg, listing, f, loop) };
	}, [chunks, shownFile, f, loop]);
	if (!plan)
		return <section class="panel"><Empty>Unpacking…</Empty></section>;
	const lineNs = (line) => heat.lines.get(shownFile * 4194304 + line) ?? 0;
	const placeNs = (row) => heat.addresses.get(row.module + ':' + row.address) ?? 0;
	const largestLine = plan.source.rows.reduce((m, r) => Math.max(m, lineNs(r.line)), 0);
	const largestPlace = plan.assembly.reduce((m, r) => Math.max(m, placeNs(r)), 0);
	const isLinked = (r) => r.isCut ? 'cut' : linked && r.file === linked.file && r.line === linked.line && r.line > 0 ? 'linked' : '';
	const sourceColumns = [
		{ key: 'heat', title: '% CPU', num: true, width: '5rem', least: 60, sortable: false, render: (r) => <Heat ns={lineNs(r.line)} whole={agg.total} largest={largestLine} /> },
		{ key: 'line', title: 'Line', width: '3.8rem', least: 40, className: 'gutter', sortable: false, render: (r) => r.line },
		{ key: 'loops', title: '', width: '1.6rem', least: 16, className: 'loops', sortable: false, render: (r) => <LoopBars chain={r.chain} focus={loop} /> },
		{ key: 'text', title: 'Source', width: 'minmax(20rem, 1fr)', least: 300, sortable: false, render: (r) => <span dir="ltr" class="name" title={r.text.length > 60 ? r.text.trim() : undefined}>{r.text}</span> },
	];
	const asmColumns = [
		{ key: 'heat', title: '% CPU', num: true, width: '5rem', least: 60, sortable: false, render: (r) => <Heat ns={placeNs(r)} whole={agg.total} largest={largestPlace} /> },
		{ key: 'address', title: 'Address', width: modelled?.size ? '5.4rem' : '6rem', least: 66, className: 'gutter', sortable: false, render: (r) => hex(r.address) },
		{ key: 'loops', title: '', width: '1.6rem', least: 16, className: 'loops', sortable: false, render: (r) => <LoopBars chain={r.chain} focus={loop} /> },
		{ key: 'words', title: 'Instruction', width: modelled?.size ? 'minmax(15rem, 2fr)' : 'minmax(16rem, 1fr)', least: 200, sortable: false, render: (r) => <span title={r.words}>{r.words}</span> },
		...modelled?.size ? modelColumns(model.model, modelled, chosen.bound) : [],
		{ key: 'line', title: 'Line', width: modelled?.size ? '4rem' : '8rem', least: 46, className: 'dim', sortable: false, render: (r) => modelled?.size && r.file === shownFile ? r.line || '' : <span title={place(d, r.file, r.line)}>{place(d, r.file, r.line)}</span> },
	];
	const path = shownFile === NONE || shownFile === undefined ? '' : d.files.path.at(shownFile);
	return <div class="split">
		<section class="panel flush"><h2>Source <span class="dim name">{visible(path) || 'unknown'}</span></h2>
			{plan.source.rows.length ? <Table className="code" label="Source" columns={sourceColumns} rows={plan.source.rows} rowKey={(r) => r.line} selected={plan.source.focus} rowClass={isLinked} onHover={setLinked} />
				: <Empty>{path ? 'The text of this file is not in the experiment (it was not found, or --no-source was given).' : 'Nothing says which file this code was compiled from: compile with -g.'}</Empty>}</section>
		<section class="panel flush"><h2>Assembly <span class="dim">{plan.assembly.length ? `${grouped(plan.assembly.length)} instructions${plan.assembly.host !== f && plan.assembly.host !== null ? `, inlined into ${visible(d.functions.name.at(plan.assembly.host))}` : ''}` : ''}</span></h2>
			{plan.assembly.length ? <Table className="code" label="Assembly" columns={asmColumns} rows={plan.assembly} rowKey={(r) => r.key} selected={plan.assembly.focus} rowClass={isLinked} onHover={setLinked} />
				: <Empty>The page holds the instructions of functions above 0.1 % of CPU time whose code is in the experiment.</Empty>}</section>
	</div>;
}

const PART_TITLES = { front_end: 'front', latency: 'chain' };

// What the static model knows of an instruction of the chosen path: what it adds to the chosen bound,
// and with the mouse over that to all of them.
function modelColumns(model, at, bound) {
	const of = (r) => at.get(r.address), say = (render) => (r) => of(r) === undefined ? '' : render(of(r));
	const marks = [[1, 'estimated'], [2, 'eliminated'], [4, 'fused']], part = model['part_' + bound];
	const largest = [...at.values()].reduce((m, k) => Math.max(m, part[k]), 0);
	const all = (k) => Object.keys(BOUND_TITLES).filter((key) => model['part_' + key]?.[k] >= 0.005).map((key) => `${key.replaceAll('_', ' ')} ${model['part_' + key][k].toFixed(2)}`).join(', ');
	const isOn = (k) => part[k] >= 0.0005 || (bound === 'latency' && model.chain[k]);
	return [
		{ key: 'part', title: PART_TITLES[bound] ?? bound, help: `cycles that the instruction adds to the bound '${BOUND_TITLES[bound]}'; choose another among the bounds above`, num: true, width: '4.6rem', least: 60, sortable: false, render: say((k) => isOn(k) ? <div class="bar part" title={`adds to the bounds, in cycles: ${all(k) || 'nothing'}`}><i style={{ width: `${largest > 0 ? 100 * part[k] / largest : 0}%` }} /><span>{part[k].toFixed(2)}</span></div> : '') },
		{ key: 'latency', title: 'Lat', help: 'latency in cycles, from the address where there is a load; bold: on the longest chain from one iteration to the next', num: true, width: '3.4rem', least: 40, sortable: false, render: say((k) => model.chain[k] ? <b class="q1" title="on the longest chain">{+model.latency[k].toFixed(1)}</b> : model.latency[k] > 0 ? +model.latency[k].toFixed(1) : '') },
		{ key: 'units', title: 'Units', help: 'execution units that can take it', width: 'minmax(4.4rem, .5fr)', least: 60, className: 'dim', sortable: false, render: say((k) => { const text = [model.units.at(k), ...marks.filter(([bit]) => model.flags[k] & bit).map(([, words]) => words)].filter(Boolean).join(', '); return <span title={text}>{visible(text)}</span>; }) },
	];
}

function sourceRows(d, agg, sources, file, f, loop) {
	if (file === NONE || file === undefined || file >= d.files.rows || !d.files.has_text[file])
		return { rows: [], focus: null };
	const lines = sources.text.at(file).split('\n'), first = sources.line_first[file] || 1;
	const loops = [];
	for (let i = 0; i < d.loops.rows; i++)
		if (d.loops.file[i] === file && d.loops.line_first[i])
			loops.push(i);
	loops.sort((a, b) => d.loops.depth[a] - d.loops.depth[b] || a - b);
	const rows = lines.map((text, i) => ({ file, line: first + i, isCut: text === '\x01', text: visible(text.replace(/\r$/, '').replaceAll('\t', '    ')), chain: [] }));
	for (const i of loops)
		for (let line = d.loops.line_first[i]; line <= d.loops.line_last[i] && line - first < rows.length; line++) {
			const row = rows[line - first];
			const same = row?.chain.some((other) => d.loops.line_first[other] === d.loops.line_first[i] && d.loops.line_last[other] === d.loops.line_last[i]);
			if (row && row.chain.length < 5 && (!same || i === loop)) {
				if (same)
					row.chain = row.chain.filter((other) => d.loops.line_first[other] !== d.loops.line_first[i] || d.loops.line_last[other] !== d.loops.line_last[i]);
				row.chain.push(i);
			}
		}
	if (rows.length && rows[rows.length - 1].text === '')
		rows.pop();
	return { rows: joinCut(rows), focus: focusOf(d, agg, file, f, loop) };
}

// Lines that the page does not hold (sonde writes those around sampled code of large files): one row.
function joinCut(rows) {
	const out = [];
	for (let i = 0; i < rows.length; i++) {
		if (!rows[i].isCut) {
			out.push(rows[i]);
			continue;
		}
		let end = i;
		while (end + 1 < rows.length && rows[end + 1].isCut)
			end++;
		out.push({ ...rows[i], chain: [], text: `⋯ ${grouped(end - i + 1)} lines that were not sampled` });
		i = end;
	}
	return out;
}

// The hottest line of the loop or the function; where none is hot, its first.
function focusOf(d, agg, file, f, loop) {
	const lines = new Map();
	for (let p = 0; p < d.places.rows; p++)
		if (agg.placeNs[p] > 0 && d.places.file[p] === file && d.places.line[p] && (loop !== null ? d.places.loop[p] === loop : d.places.function[p] === f))
			addTo(lines, d.places.line[p], agg.placeNs[p]);
	const [best] = largestFirst(lines);
	if (best)
		return best[0];
	return loop !== null && d.loops.file[loop] === file ? d.loops.line_first[loop] : f !== null && d.functions.file[f] === file ? d.functions.line[f] : null;
}

function listingRows(d, agg, listing, f, loop) {
	const host = hostOf(d, agg, f, listing, loop) ?? f, rows = [];
	let hottest = -1, focus = null;
	for (let i = 0; i < listing.rows; i++) {
		if (listing.function[i] !== host)
			continue;
		rows.push({ key: i, file: listing.file[i], line: listing.line[i], module: d.functions.module[host], address: addressAt(listing, i), words: listing.words.at(i), chain: chainOf(d, listing.loop[i]), loop: listing.loop[i] });
	}
	for (let p = 0; p < d.places.rows; p++)
		if ((loop !== null ? d.places.loop[p] === loop : d.places.function[p] === f) && agg.placeNs[p] > hottest) {
			const row = rows.find((r) => r.address === d.places.address[p]);
			if (row) {
				hottest = agg.placeNs[p];
				focus = row.key;
			}
		}
	focus ??= rows.find((r) => loop !== null && r.loop === loop)?.key ?? null;
	rows.host = host;
	rows.focus = focus;
	return rows;
}

export function Source({ d, agg, filter }) {
	const asked = /^f(\d+)(?:\/(\d+))?$/.exec(filter.argument);
	const f = asked && +asked[1] < d.functions.rows ? +asked[1] : argmax(agg.funcExcl);
	if (!d.functions.rows)
		return <><Head title="Source & assembly" /><section class="panel"><Empty>No functions were sampled.</Empty></section></>;
	const files = filesOf(d, agg, f), file = filter.params.file && +filter.params.file < d.files.rows ? +filter.params.file : defaultFile(d, f, files);
	return <>
		<Head title={<span class="mono name" style={{ fontSize: '.9em' }}>{visible(d.functions.name.at(f)).slice(0, 200)}</span>} tools={<>
			{files.length > 1 && <label class="dim">File <select class="chip" value={file} onChange={(e) => go('source', `f${f}`, { file: e.target.value })}>{files.map((i) => <option key={i} value={i}>{visible(place(d, i, 0))}</option>)}</select></label>}
			<a class="plain" href={linkTo('callers', `f${f}`)}>Callers & callees</a></>}>
			{d.functions.module[f] === NONE ? '' : <>{visible(d.modules.name.at(d.functions.module[f]))} · </>}<Times agg={agg} f={f} /></Head>
		<SourceAndAssembly key={`${f}-${file}`} d={d} agg={agg} f={f} loop={null} file={file} />
	</>;
}

function filesOf(d, agg, f) {
	const sums = new Map();
	for (let p = 0; p < d.places.rows; p++)
		if (d.places.function[p] === f && d.places.file[p] !== NONE)
			addTo(sums, d.places.file[p], agg.placeNs[p]);
	if (d.functions.file[f] !== NONE && !sums.has(d.functions.file[f]))
		sums.set(d.functions.file[f], 0);
	return largestFirst(sums).map(([file]) => file);
}

function defaultFile(d, f, files) {
	const own = d.functions.file[f];
	return own !== NONE && d.files.has_text[own] ? own : files.find((i) => d.files.has_text[i]) ?? own;
}

// ------------------------------------------------------------------------------------------- a loop

// CPU time of one loop by thread, and over time.
function loopDetails(d, agg, loop, filter, records) {
	const slices = 160, over = new Float64Array(slices), byThread = new Float64Array(d.threads.rows);
	const inside = new Uint8Array(d.points.rows);
	for (let p = 0; p < d.points.rows; p++)
		inside[p] = d.places.loop[d.points.place[p]] === loop ? 1 : 0;
	const isIn = passes(d, filter);
	const span = Math.max(1, toc.elapsed_ns / toc.time_unit_ns);
	for (let i = 0; i < records.rows; i++) {
		const t = records.time[i];
		if (!inside[records.point[i]] || !isIn(records.thread[i], t))
			continue;
		byThread[records.thread[i]] += records.cpu_us[i] * 1000;
		over[Math.min(slices - 1, Math.floor(t / span * slices))] += records.cpu_us[i] / 1e6;
	}
	const width = elapsedS() / slices;
	return { byThread, over: [Float64Array.from({ length: slices }, (_, i) => i * width), over.map((v) => width > 0 ? v / width : 0)] };
}

function callersOfLoop(d, agg, loop) {
	const sums = new Map(), { nodes, points, places } = d;
	for (let p = 0; p < points.rows; p++) {
		if (places.loop[points.place[p]] !== loop || !(agg.pointNs[p] > 0) || points.node[p] === NONE)
			continue;
		const path = [];
		for (let n = points.node[p]; n !== NONE && path.length < 24; n = nodes.parent[n])
			if (nodes.loop[n] === NONE && nodes.function[n] !== NONE)
				path.push(nodes.function[n]);
		const key = path.join(' ');
		const entry = sums.get(key) ?? { path, ns: 0 };
		entry.ns += agg.pointNs[p];
		sums.set(key, entry);
	}
	return [...sums.values()].sort((a, b) => b.ns - a.ns);
}

export function Loop({ d, agg, filter, records, chunks, theme }) {
	const order = useMemo(() => indices(d.loops.rows).sort((a, b) => agg.ownLoopExcl[b] - agg.ownLoopExcl[a] || agg.loopExcl[b] - agg.loopExcl[a]), [agg]);
	const found = order.find((i) => d.loops.id.at(i) === filter.argument);
	const loop = found ?? order[0];
	const details = useMemo(() => loop === undefined ? null : loopDetails(d, agg, loop, filter, records), [agg, loop, records]);
	const paths = useMemo(() => loop === undefined ? [] : callersOfLoop(d, agg, loop), [agg, loop]);
	if (loop === undefined)
		return <><Head title="Loop" /><section class="panel"><Empty>No sample lies in a loop.</Empty></section></>;
	const chosen = chosenBound(chunks, loop, filter.params);
	const rank = order.indexOf(loop), ns = agg.loopExcl[loop], share = agg.total > 0 ? ns / agg.total : 0;
	const step = (by) => order[rank + by] === undefined ? null : linkTo('loop', d.loops.id.at(order[rank + by]));
	const threads = indices(d.threads.rows).filter((t) => details.byThread[t] > 0).sort((a, b) => details.byThread[b] - details.byThread[a]);
	const parent = d.loops.parent[loop];
	return <>
		<Head title={<span class="mono name">{visible(d.loops.label.at(loop))}</span>} tools={<>
			{step(-1) ? <a class="plain" href={step(-1)}>[ hotter</a> : ''}{step(1) ? <a class="plain" href={step(1)}>cooler ]</a> : ''}</>}>
			loop {rank + 1} of {grouped(order.length)} by time, in <FunctionLink d={d} f={d.loops.function[loop]} />{found === undefined && filter.argument ? ' (the loop asked for is not in this report; this is the hottest)' : ''}</Head>
		<div class="tiles">
			<Tile label="Exclusive" value={percent(share)} note={seconds(ns)} />
			<Tile label="Inclusive" value={percent(agg.total > 0 ? agg.loopIncl[loop] / agg.total : 0)} note={seconds(agg.loopIncl[loop])} />
			<Tile label="Samples" value={<>{grouped(agg.loopSamples[loop])} <Quality samples={agg.loopSamples[loop]} share={share} all={agg.sampleTotal} /></>} note="hover the mark for the interval" />
			<Tile label="Nesting" value={`depth ${d.loops.depth[loop]}`} note={<>{d.loops.flags[loop] & 1 ? 'innermost' : 'has loops inside'}{parent !== NONE ? <>, in <a href={linkTo('loop', d.loops.id.at(parent))}>{visible(d.loops.label.at(parent))}</a></> : ''}</>} />
			<Tile label="Threads" value={grouped(threads.length)} note={threads.length > 1 ? `most ${seconds(details.byThread[threads[0]])}, least ${seconds(details.byThread[threads[threads.length - 1]])}` : 'used it'} />
		</div>
		<LoopVerdict loop={loop} chunks={chunks} />
		<LoopQuality key={'q' + loop} d={d} loop={loop} chunks={chunks} chosen={chosen} />
		<Measured loop={loop} id={d.loops.id.at(loop)} chunks={chunks} asked={filter.params.of} />
		<Data id={d.loops.id.at(loop)} chunks={chunks} />
		<Scaling loop={loop} chunks={chunks} theme={theme} />
		<ListedOfLoop id={d.loops.id.at(loop)} chunks={chunks} />
		<SourceAndAssembly key={loop} d={d} agg={agg} f={d.loops.function[loop] === NONE ? null : d.loops.function[loop]} loop={loop} file={d.loops.file[loop]} model={chunks} chosen={chosen} />
		<div class="grid2">
			<section class="panel"><h2>Over time <span class="dim">CPUs in this loop</span></h2><Chart data={details.over} series={[{ label: 'CPUs', colour: '--accent', fill: true, steps: true }]} height={140} xRange={[0, Math.max(elapsedS(), 1e-9)]} xUnit=" s" theme={theme} label="CPUs in this loop over time" /></section>
			<section class="panel"><h2>By thread</h2><div class="scroll" style={{ maxHeight: '12rem' }}><table class="small"><tbody>{threads.slice(0, 64).map((t) => <tr key={t}><td class="wide"><Name text={threadName(d, t)} /></td><td class="num">{seconds(details.byThread[t])}</td><td class="num" style={{ minWidth: '8rem' }}><Share part={details.byThread[t]} whole={ns} /></td></tr>)}</tbody></table>{threads.length > 64 && <p class="dim">and {threads.length - 64} more</p>}</div></section>
		</div>
		<section class="panel"><h2>Call paths <span class="dim">{grouped(paths.length)} different</span></h2><div class="scroll" style={{ maxHeight: '16rem' }}><table class="small"><tbody>{paths.slice(0, 40).map((p, i) => <tr key={i}><td class="num">{seconds(p.ns)}</td><td class="num" style={{ minWidth: '7rem' }}><Share part={p.ns} whole={ns} /></td><td class="wrap">{[...p.path].reverse().map((f, k) => <Fragment key={k}>{k ? ' › ' : ''}<FunctionLink d={d} f={f} /></Fragment>)}</td></tr>)}</tbody></table></div></section>
	</>;
}

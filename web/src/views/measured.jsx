// Of one loop: what runs of it measured (instances, variants), and which data it uses (simulated caches).
import { Fragment, h } from 'preact';
import { toc } from '../chunks.js';
import { Bar, Switch, Titles } from '../parts.jsx';
import { gain, grouped, indices, percent, visible } from '../format.js';
import { setParams } from '../state.js';

const NAMES = {
	static: ['static model', 'what the machine code takes: from all data in L1 to all in RAM'],
	sampled: ['sampled', 'as it ran without being touched: its samples, by the iterations that were counted'],
	orig: ['ORIG', 'the loop itself, timed'],
	ls: ['LS', 'its loads and stores, without arithmetic'],
	fp: ['FP', 'its floating-point arithmetic, without loads and stores'],
	arith: ['ARITH', 'its integer arithmetic, without loads and stores'],
	dl1: ['DL1', 'with all data in first-level cache'],
	fes: ['FES', 'without loads, stores and arithmetic: front end and control'],
	pf: ['PF', 'with prefetches'],
};
const known = Number.isFinite;
const cycles = (v) => known(v) ? v >= 100 ? grouped(v) : v.toFixed(2) : '';
const rowsOf = (x, is) => x ? indices(x.rows).filter(is) : [];

// The three kinds of evidence on an iteration, in one line.
function Kinds({ x, rows }) {
	const at = (name) => rows.find((k) => x.name.at(k) === name && (known(x.cycles[k]) || known(x.low[k])));
	const [model, sampled, orig] = ['static', 'sampled', 'orig'].map(at);
	const none = <span class="dim">not known</span>;
	return <p class="legend"><span><b>static</b> {model === undefined ? none : `${cycles(x.low[model])} (data in L1) to ${cycles(x.high[model])} (in RAM)`}</span>
		<span><b>sampled</b> {sampled === undefined ? none : cycles(x.cycles[sampled])}</span><span><b>differential</b> {orig === undefined ? none : cycles(x.cycles[orig])}</span><span class="dim">cycles an iteration, of the time-stamp counter</span></p>;
}

function Variants({ x, rows, asked }) {
	const buckets = [...new Set(rows.map((k) => x.bucket.at(k)))], bucket = buckets.includes(asked) ? asked : 'all';
	const shown = rows.filter((k) => x.bucket.at(k) === bucket || !x.state.at(k)), told = new Set();
	const most = shown.reduce((m, k) => Math.max(m, x.state.at(k) || !known(m) ? known(x.high[k]) ? x.high[k] : x.cycles[k] || 0 : x.cycles[k] || 0), 0) || Math.max(...shown.map((k) => x.high[k]));
	return <><h3>Variants <span class="dim">what an iteration takes, with its 95 % interval</span>{buckets.length > 2 && <Switch label="Iterations of an instance" value={bucket} options={buckets.map((b) => [b, b])} onChange={(b) => setParams({ of: b })} />}</h3>
		<div class="scroll"><table class="small"><Titles of="Variant|#Cycles an iteration|#Gain of the loop~how many times as fast the loop would be, with its 95 % interval|State" />
			<tbody>{shown.map((k) => { const [title, help] = NAMES[x.name.at(k)], state = x.state.at(k), again = told.has(state); if (state.length > 20) told.add(state); return <tr key={k} class={x.name.at(k) === 'orig' ? 'on' : ''}><td title={help}>{title}</td>
				<td class="num drawn" title={`${known(x.low[k]) ? `${cycles(x.low[k])} to ${cycles(x.high[k])}` : ''}${x.samples[k] ? `, ${grouped(x.samples[k])} samples` : ''}`}><Bar share={x.cycles[k] / most} low={x.low[k] / most} high={x.high[k] / most} room="5.5rem">{known(x.cycles[k]) ? cycles(x.cycles[k]) : known(x.low[k]) ? `${cycles(x.low[k])}–${cycles(x.high[k])}` : ''}</Bar></td>
				<td class="num">{known(x.speedup_low[k]) ? gain(x.speedup_low[k], x.speedup_high[k]) : ''}</td><td class="wrap dim">{again ? 'likewise' : visible(state || help)}</td></tr>; })}</tbody></table></div></>;
}

// Buckets of cycles an iteration, each with the call paths whose mean lies in it.
function Buckets({ v, rows, x, paths }) {
	const last = rows.length - 1;
	return <><h3>Instances <span class="dim">in buckets of cycles an iteration, and who came to the loop then</span></h3>
		<div class="scroll"><table class="small"><Titles of="Cycles|Share of CPU time|#Instances|#Timed|#Iterations~of an instance, median|#Cycles~an iteration, median; of a call path the mean|#Stability~(median - least) / least: below 0.05 they agree" />
			<tbody>{rows.map((i, n) => { const name = v.bucket.at(i); return <Fragment key={i}><tr><td>{visible(name)}</td><td class="drawn"><Bar share={v.share[i] / v.share[rows[0]]}>{known(v.share[i]) ? percent(v.share[i]) : ''}</Bar></td>
				{[v.instances, v.timed_instances, v.iterations_median].map((column) => <td class="num">{known(column[i]) ? grouped(column[i]) : ''}</td>)}<td class="num">{cycles(v.cycles_median[i])}</td><td class="num">{known(v.stability[i]) ? v.stability[i].toFixed(3) : ''}</td></tr>
				{paths.filter((k) => x.bucket.at(k) === name || (n === last && !rows.some((r) => v.bucket.at(r) === x.bucket.at(k)))).map((k) => <tr key={k}><td class="mono from" colSpan={2}>{x.call_path.at(k) ? `‹ ${visible(x.call_path.at(k))}` : 'call path not known'} {known(x.share[k]) && <span class="dim">{percent(x.share[k])} of the loop</span>}</td><td class="num">{grouped(x.instances[k])}</td><td colSpan={2} /><td class="num">{cycles(x.cycles[k])}</td><td /></tr>)}</Fragment>; })}</tbody></table></div></>;
}

export function Measured({ loop, id, chunks, asked }) {
	const { measured: x, entries, 'view-instances': v } = chunks;
	const rows = rowsOf(x, (k) => x.loop_number[k] === loop), buckets = rowsOf(v, (i) => v.loop.at(i) === id);
	const hasVariants = rows.some((k) => x.state.at(k));
	return (hasVariants || buckets.length > 0) && <section class="panel measured"><h2>Measured <span class="dim">runs that counted and timed this loop (sonde vprof, sonde decan)</span></h2>
		<Kinds x={x} rows={rows} />
		{hasVariants && <Variants x={x} rows={rows} asked={asked} />}
		{buckets.length > 0 && <Buckets v={v} rows={buckets} x={entries} paths={rowsOf(entries, (k) => entries.loop_number[k] === loop)} />}</section>;
}

const LEVELS = ['L1', 'L2', 'L3', 'TLB'], CAUSES = ['cold', 'capacity', 'conflict', 'coherence'];

export function Data({ id, chunks }) {
	const { 'view-caches': x, 'view-sharing': s } = chunks, objects = new Map();
	for (const i of rowsOf(x, (k) => x.loop.at(k) === id))
		objects.set(x.object.at(i), { ...objects.get(x.object.at(i)), [x.level.at(i)]: i });
	const list = [...objects].filter(([, at]) => at.L1 >= 0), shown = LEVELS.filter((level) => list.some(([, at]) => at[level] >= 0)), most = Math.max(...list.map(([, at]) => x.accesses[at.L1]));
	return list.length > 0 && <section class="panel data"><h2>Data <span class="dim">what its accesses miss, in simulated caches (sonde trace)</span></h2>
		<div class="scroll"><table class="small"><Titles of={`Object|#Accesses|${shown.map((level) => `#Miss ${level}~of its accesses that were recorded`).join('|')}|#Stride~bytes from one access to the next|#Used~of the bytes of a line that was fetched|Sharing`} />
			<tbody>{list.sort((a, b) => x.accesses[b[1].L1] - x.accesses[a[1].L1]).map(([name, at]) => <tr key={name}><td class="mono wrap">{visible(name)}</td><td class="num drawn"><Bar share={x.accesses[at.L1] / most} room="6.2rem">{grouped(x.accesses[at.L1])}</Bar></td>
				{shown.map((level) => <td class="num drawn" title={at[level] >= 0 ? `${grouped(x.misses[at[level]])} of the ${grouped(x.accesses[at[level]])} accesses that come to it, ${x.miss_range.at(at[level])}: ${CAUSES.map((c) => `${c} ${grouped(x[c][at[level]])}`).join(', ')}` : ''}>{at[level] >= 0 && <Bar share={x.misses[at[level]] / x.accesses[at.L1]}>{percent(x.misses[at[level]] / x.accesses[at.L1])}</Bar>}</td>)}
				<td class="num">{known(x.stride_bytes[at.L1]) ? x.stride_bytes[at.L1] : 'no one'}</td><td class="num">{known(x.line_used_share[at.L1]) ? percent(x.line_used_share[at.L1]) : ''}</td>
				<td class="wrap dim">{rowsOf(s, (k) => s.object.at(k) === name).map((k) => `${visible(s.kind.at(k))}, ${grouped(s.transfers[k])} transfers between ${s.threads[k]} threads`).join('; ') || 'none seen'}</td></tr>)}</tbody></table></div>
		{toc.views.find((view) => view.name === 'caches').foot?.trim().split('\n').map((line) => <div class="foot" key={line}>{visible(line)}</div>)}</section>;
}

// What the static model says of hot loops (src/cqa): every figure as a column, in groups; and, for
// the page of one loop, its bounds, units and advice.
import { Fragment, h } from 'preact';
import { useMemo } from 'preact/hooks';
import { toc } from '../chunks.js';
import { Bar, Empty, Head, Name, Picker, Share, Switch } from '../parts.jsx';
import { gain, grouped, percent, times, visible } from '../format.js';
import { go, linkTo, setParams, sortOf } from '../state.js';
import { Table } from '../table.jsx';
import { VARIANTS } from './whatif.jsx';

const COLUMNS = toc.whatif?.columns ?? [];
const PRESETS = {
	overview: ['Overview', 'coverage_share,samples,l1_cycles,bottleneck,vector_share,vector_efficiency_share,full_vector_speedup,full_vector_program_speedup,doubts,advice'],
	gain: ['Gain', 'coverage_share,clean_speedup,fp_vector_speedup,full_vector_speedup,no_dependence_speedup,next_bottleneck_speedup,clean_program_speedup,fp_vector_program_speedup,full_vector_program_speedup,doubts'],
	cycles: ['Cycles', 'coverage_share,l1_cycles,l2_cycles,l3_cycles,ram_cycles,bottleneck,ports_cycles,divider_cycles,issue_cycles,front_end_cycles,latency_cycles,ipc'],
	vector: ['Vectors', 'coverage_share,isa,element_types,width_bytes,vector_share,vector_load_share,vector_store_share,vector_add_sub_share,vector_mul_share,vector_efficiency_share'],
	memory: ['Memory', 'coverage_share,loaded_bytes,stored_bytes,flop_per_byte,stride_0_accesses,stride_1_accesses,stride_n_accesses,stride_unknown_accesses,indirect_accesses,stack_references,array_access_efficiency_share'],
};
const FIXED = new Set(['loop', 'label', 'function']);

// The key in words, where the table has no title for it.
const titleOf = (c) => /_program_speedup$/.test(c.key) ? `${VARIANTS[c.key.slice(0, -16)]?.[0].toLowerCase()}, program` : c.title ?? c.key.replace(/_(share|cycles|bytes)$/, '').replaceAll('_', ' ');
const isText = (c) => c.kind === 'text';

function cell(c, x, key, i) {
	const value = isText(c) ? x[key].at(i) : x[key][i];
	if (isText(c))
		return visible(value.replaceAll('_', c.key === 'bottleneck' ? ' ' : '_'));
	if (Number.isNaN(value))
		return '';
	if (/speedup$/.test(key))
		return times(value);
	if (c.kind === 'share')
		return percent(value);
	if (c.kind === 'bool')
		return value ? 'yes' : 'no';
	return c.kind === 'integer' || Number.isInteger(value) ? grouped(value) : value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2);
}

export function Experts({ d, chunks, filter, matcher }) {
	const x = chunks.experts, { params } = filter;
	const preset = params.cols ? null : PRESETS[params.set] ? params.set : 'overview';
	const chosen = new Set((params.cols ?? PRESETS[preset][1]).split(','));
	const [sortKey, ascending, order] = sortOf(params, 'coverage_share');
	const rows = useMemo(() => {
		const list = [];
		for (let i = 0; i < x.rows; i++)
			if (!matcher || matcher.test(x.label.at(i)) || matcher.test(x.function.at(i)))
				list.push(i);
		const column = COLUMNS.find((c) => c.key === sortKey);
		if (!column)
			return list;
		const value = isText(column) ? null : x[sortKey], known = (v) => Number.isNaN(v) ? -Infinity : v, sign = ascending ? -1 : 1;
		return list.sort((a, b) => sign * (value ? known(value[b]) - known(value[a]) || 0 : x[sortKey].at(a) < x[sortKey].at(b) ? -1 : x[sortKey].at(a) > x[sortKey].at(b) ? 1 : 0) || a - b);
	}, [matcher, sortKey, ascending]);
	if (!toc.whatif)
		return <><Head title="Loop experts" /><section class="panel"><Empty>No loop could be modelled: no hot loop's code is in the experiment, or this CPU has no model.</Empty></section></>;
	const columns = [
		{ key: 'label', title: 'Loop', width: 'minmax(14rem, 2fr)', least: 190, className: 'mono', render: (i) => <><a href={linkTo('loop', d.loops.id.at(x.loop_number[i]))}><Name text={x.label.at(i)} query={matcher} /></a> <span class="dim">{visible(x.function.at(i))}</span></> },
		...COLUMNS.filter((c) => chosen.has(c.key) && !FIXED.has(c.key)).map((c) => ({ key: c.key, title: titleOf(c), help: c.help ? `${c.key}: ${c.help}` : c.key, num: !isText(c), width: c.key === 'advice' ? 'minmax(12rem, 3fr)' : isText(c) ? 'minmax(6.6rem, .6fr)' : c.kind === 'share' ? '7rem' : /program_speedup/.test(c.key) ? '9.2rem' : '6.2rem', least: c.key === 'advice' ? 200 : 84,
			render: c.key === 'coverage_share' ? (i) => <Share part={x.coverage_share[i]} whole={1} /> : (i) => { const text = cell(c, x, c.key, i); return isText(c) ? <span title={text} class={c.key === 'doubts' ? 'q1' : ''}>{text}</span> : text; } })),
	];
	return <>
		<Head title="Loop experts" tools={<>
			<Switch label="Columns" value={preset} options={Object.entries(PRESETS).map(([key, [title]]) => [key, title])} onChange={(v) => setParams({ set: v === 'overview' ? null : v, cols: null })} />
			<Picker groups={groupsOf()} chosen={chosen} onChange={(set) => setParams({ cols: COLUMNS.filter((c) => set.has(c.key)).map((c) => c.key).join(',') || 'none' })} /></>}>
			static model of {visible(toc.whatif.arch_title ?? toc.whatif.arch)}; cycles are of one pass over the body</Head>
		<section class="panel flush fill"><Table label="Static quality of loops" columns={columns} rows={rows} rowKey={(i) => i} onOpen={(i) => go('loop', d.loops.id.at(x.loop_number[i]))} {...order} />
			<div class="foot">{grouped(rows.length)} loops with figures = {percent(toc.whatif.analysed_share)} of CPU time, of the whole run; point at a title to see what it means</div></section>
	</>;
}

function groupsOf() {
	const groups = new Map();
	for (const c of COLUMNS)
		if (!FIXED.has(c.key))
			groups.set(c.group, [...groups.get(c.group) ?? [], [c.key, titleOf(c)]]);
	return groups;
}

// ------------------------------------------------------------------------------------- one loop

const BOUNDS = [['ports', 'execution units'], ['divider', 'divider'], ['issue', 'issue width'], ['front_end', 'front end'], ['latency', 'dependence between iterations'], ['l2', 'data from L2'], ['l3', 'data from L3'], ['ram', 'data from RAM']];
export const BOUND_PARTS = 5; // so many of them have parts by instruction
export const BOUND_TITLES = Object.fromEntries(BOUNDS);

// A bar of cycles, the bottleneck in a strong colour.
function Cycles({ value, largest, isFirst }) {
	return <Bar share={value / largest} room="3.6rem" style={isFirst && { background: 'var(--warn)', opacity: 0.9 }}>{value.toFixed(2)}</Bar>;
}

// Which path of the loop and which bound the page shows (?path=1&bound=ports): the rows of `paths`
// that are the loop's, the chosen one of them, and the key of the bound, unless asked its largest.
export function chosenBound(chunks, loop, params) {
	const { paths } = chunks;
	const own = paths.loop_number ? [...paths.loop_number.keys()].filter((k) => paths.loop_number[k] === loop) : [];
	const path = own[Math.min(+params.path || 0, own.length - 1)];
	const isBound = BOUNDS.slice(0, BOUND_PARTS).some(([key]) => key === params.bound);
	return { own, path, bound: path === undefined ? null : isBound ? params.bound : paths.bottleneck.at(path) };
}

// What the largest bounds are about, in a word or two.
function detailOf(paths, p, key) {
	return key === 'ports' ? visible(paths.busiest.at(p)) : key === 'front_end' ? paths.front_end_part.at(p) : key === 'latency' && paths.chain_passes[p] > 1 ? `comes round in ${paths.chain_passes[p]} passes` : '';
}

// What `sonde show loop` says: a verdict, what to do, and what both rest on.
export function LoopVerdict({ loop, chunks }) {
	const { verdicts: v, evidence: e, advice: a } = chunks, of = (x) => [...x.loop_number.keys()].filter((k) => x.loop_number[k] === loop);
	return of(v).map((i) => <section class="panel" key={i}><h2 class="verdict">{visible(v.sentence.at(i))} <span class="dim">confidence: {v.confidence.at(i)}; of the whole run</span></h2>
		{v.disagreement.at(i) && <p class="notice">{visible(v.disagreement.at(i))}.</p>}
		<ul class="sentences quiet-list">{of(a).map((k) => <li key={k}><div>{visible(a.sentence.at(k))} <span class="tag">{a.grade.at(k)}</span> {a.high[k] > 0 ? <><b>program {gain(a.program_low[k], a.program_high[k])}</b>, loop {gain(a.low[k], a.high[k])}</> : 'gain not known'}
			{['for', 'against'].map((side) => a[side].at(k) && <div key={side} class="dim">{side}: {visible(a[side].at(k))}</div>)}</div></li>)}</ul>
		<h3 style={{ marginTop: '.9rem' }}>Evidence</h3>
		<table class="small"><tbody>{of(e).map((k) => <tr key={k}><td>{e.kind.at(k)}</td><td style={{ width: '99%' }} class={e.missing[k] ? 'wrap dim' : 'wrap'}>{visible(e.words.at(k))}{e.command.at(k) && <>: <code>{visible(e.command.at(k))}</code></>}</td></tr>)}</tbody></table>
	</section>);
}

export function LoopQuality({ d, loop, chunks, chosen }) {
	const { experts: x, paths } = chunks, i = x.loop_number?.indexOf(loop) ?? -1;
	const { own, path: p } = chosen;
	if (i < 0)
		return <section class="panel"><h2>What would it gain?</h2><Empty command={`sonde cqa --loop '${visible(d.loops.id.at(loop))}' PROGRAM`}>This loop was not modelled: it is below 0.1 % of CPU time, in a runtime library, or its code is not in the experiment.</Empty></section>;
	if (x.not_analysed.at(i))
		return <section class="panel"><h2>What would it gain?</h2><Empty>{visible(x.not_analysed.at(i))}</Empty></section>;
	const gains = Object.entries(VARIANTS).filter(([key]) => x[key + '_speedup']?.[i] >= 1.005);
	const bound = p !== undefined ? BOUNDS.map(([key, title]) => [key, title, paths[key][p]]) : BOUNDS.map(([key, title]) => [key, title, x[key + '_cycles'][i]]);
	// data from afar may take a hundred times as long: a scale of their own, lest the bounds vanish
	const most = (list) => list.reduce((m, [, , v]) => v > m ? v : m, 0);
	const near = most(bound.slice(0, BOUND_PARTS)), far = most(bound.slice(BOUND_PARTS)), isFar = far > 2 * near;
	const largest = isFar ? [near, far] : [Math.max(near, far), Math.max(near, far)];
	const units = p === undefined ? [] : paths.units.at(p).split('\n').filter(Boolean).map((line) => line.split('\t'));
	const busiest = units.reduce((m, [, v]) => Math.max(m, +v), 0);
	const first = p !== undefined ? paths.bottleneck.at(p) : x.bottleneck.at(i);
	return <section class="panel"><h2>What would it gain? <span class="dim">static model of {visible(toc.whatif.arch_title ?? toc.whatif.arch)}: {x.l1_cycles[i].toFixed(2)} cycles a pass with data in L1, limited by {x.bottleneck.at(i).replaceAll('_', ' ')}</span></h2>
		{x.doubts.at(i) && <p class="notice" style={{ marginBottom: '.7rem' }}>Figures to be read with care: {visible(x.doubts.at(i))}.</p>}
		{x.lacked_extensions.at(i) && <p class="notice" style={{ marginBottom: '.7rem' }}>This code needs {visible(x.lacked_extensions.at(i))}, which {visible(toc.whatif.arch_title ?? toc.whatif.arch)} lacks: figures are of the nearest instructions it has.</p>}
		<div class="legend" style={{ margin: '0 0 .7rem' }}>{gains.map(([key, [title, help]]) => <span key={key} title={help}><b>{title}</b> {times(x[key + '_speedup'][i])} <span class="dim">(program {times(x[key + '_program_speedup'][i]) || '1×'})</span></span>)}
			<span class="dim">vectorized {percent(x.vector_share[i])}, at {percent(x.vector_efficiency_share[i])} of the width{x.unroll[i] >= 1 ? ` · unrolled ${x.unroll[i]}×` : ''}{x.isa.at(i) ? ` · ${visible(x.isa.at(i))}` : ''}{x.missing_options.at(i) ? ` · compiled without ${visible(x.missing_options.at(i))}` : ''}</span></div>
		<div class="grid2" style={{ marginTop: '.9rem' }}><div><h3>Bounds <span class="dim">cycles of one pass; the largest counts</span>{own.length > 1 && <> <select class="chip" style={{ maxWidth: "none", width: "auto" }} aria-label="Path" value={own.indexOf(p)} onChange={(e) => setParams({ path: +e.target.value || null, bound: null })}>{own.map((k, n) => <option key={k} value={n}>path {n + 1} of {own.length}, {percent(paths.weight[k])} of passes</option>)}</select></>}</h3>
			<table class="small"><tbody>{bound.map((b, n) => [...b, n < BOUND_PARTS]).filter(([, , v]) => v >= 0).map(([key, title, v, isBound]) => <Fragment key={key}>{isFar && key === 'l2' && <tr><td class="dim" colSpan={2}>with data from farther away, on a scale of their own:</td></tr>}<tr class={key === chosen.bound ? 'on' : ''}><td>{p !== undefined && v > 0 && isBound ? <button class="link" aria-pressed={key === chosen.bound} title="mark its instructions below" onClick={() => setParams({ bound: key === first ? null : key })}>{title}</button> : title}{key === first ? <span class="tag">bottleneck</span> : ''}{p !== undefined && v > 0 && detailOf(paths, p, key) ? <div class="dim name">{detailOf(paths, p, key)}</div> : ''}</td><td class="num" style={{ width: '55%' }}><Cycles value={v} largest={largest[isBound ? 0 : 1]} isFirst={key === first} /></td></tr></Fragment>)}</tbody></table></div>
			{units.length > 0 && <div><h3>Execution units <span class="dim">busy cycles of one pass</span></h3><div class="units">{units.map(([name, v]) => <Fragment key={name}><span class="mono">{visible(name)}</span><Cycles value={+v} largest={busiest} isFirst={+v === busiest} /></Fragment>)}</div></div>}</div>
	</section>;
}

// The model's word on single instructions of a path: by address.
export function modelOf(chunks, path) {
	const { model, paths } = chunks, of = new Map();
	for (let k = 0; model?.rows > k; k++)
		if (model.loop_number[k] === paths.loop_number[path] && model.path[k] === paths.path[path])
			of.set(model.address_high[k] * 4294967296 + model.address_low[k], k);
	return of;
}

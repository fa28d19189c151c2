// Two sets of runs side by side: what changed, and whether noise explains it (src/compare).
import { Fragment, h } from 'preact';
import { useMemo } from 'preact/hooks';
import { NONE, toc } from '../chunks.js';
import { Empty, Head, Name, Swatch, Switch, Tile, Titles } from '../parts.jsx';
import { grouped, indices, percent, seconds, visible } from '../format.js';
import { setParams, sortOf } from '../state.js';
import { Table } from '../table.jsx';
import { FlameCanvas, Tree } from '../flame.jsx';

const SAME = 0, SLOWER = 1, FASTER = 2, SMALL = 3;
const VERDICTS = [
	['=', 'same', 'dim', 'no difference beyond noise'], ['▲', 'slower', 'q0', 'B takes more time, beyond noise'],
	['▼', 'faster', 'q2', 'B takes less time, beyond noise'], ['·', 'small', 'dim', 'too small a part of the time to be tested'],
	['?', 'repeat', 'dim', 'too few runs to tell a change from noise'],
	['≈', 'drift', 'dim', 'differs, but no more than the machine changed between the sets'],
];
const KINDS = { functions: 1, loops: 2 };

// A minus of its own width, and a plus, so that signs are seen.
const signed = (s) => `${s < 0 ? '−' : '+'}${seconds(Math.abs(s) * 1e9)}`;
const ns = (s) => seconds(s * 1e9);
const sides = (filter) => filter.params.swap === '1' ? [1, 0] : [0, 1];

// The rows as the sides are shown: swapped, A and B change places, and so does who is faster.
function useRows(c, swap) {
	return useMemo(() => {
		const [a, b] = swap ? [c.b_s, c.a_s] : [c.a_s, c.b_s];
		const verdict = Array.from(c.verdict, (v) => swap && (v === SLOWER || v === FASTER) ? 3 - v : v);
		return { a, b, verdict, diff: a.map((v, i) => b[i] - v), low: swap ? c.high_s.map((v) => -v) : c.low_s, high: swap ? c.low_s.map((v) => -v) : c.high_s, aShare: swap ? c.b_share : c.a_share, bShare: swap ? c.a_share : c.b_share };
	}, [c, swap]);
}

function Verdict({ v }) {
	const [mark, name, style, help] = VERDICTS[v];
	return <span class={style} title={help}>{mark} {name}</span>;
}

// A bar to the left for less and to the right for more.
function Delta({ diff, largest, isSure }) {
	const width = largest > 0 ? Math.abs(diff) / largest * 50 : 0;
	return <div class="bar delta"><i class={isSure ? diff > 0 ? 'more' : 'less' : ''} style={{ left: diff < 0 ? `${50 - width}%` : '50%', width: `${width}%` }} /></div>;
}

const SURE = (v) => v === SLOWER || v === FASTER;

export function runNames(runs) {
	return runs.map((r) => visible(r.experiment)).join(', ');
}

export function Compare({ chunks, filter, matcher }) {
	const c = chunks.changes, { compare } = toc, swap = filter.params.swap === '1';
	const r = useRows(c, swap), [first, second] = swap ? [compare.b, compare.a] : [compare.a, compare.b];
	const kind = filter.params.rows ?? 'functions', judged = compare.false_alarm_rate !== null;
	const onlySure = judged && compare.findings > 0 && filter.params.all !== '1';
	const [sortKey, ascending, order] = sortOf(filter.params, 'diff');
	const rows = useMemo(() => {
		const list = [];
		for (let i = 0; i < c.rows; i++)
			if (c.kind[i] === KINDS[kind] && (!onlySure || SURE(r.verdict[i])) && (!matcher || matcher.test(c.name.at(i)) || matcher.test(c.function.at(i))))
				list.push(i);
		const value = { a: (i) => r.a[i], b: (i) => r.b[i], diff: (i) => Math.abs(r.diff[i]), ratio: (i) => r.b[i] / r.a[i], aShare: (i) => r.aShare[i], bShare: (i) => r.bShare[i], p: (i) => -c.p[i] }[sortKey] ?? ((i) => Math.abs(r.diff[i]));
		const sign = ascending ? -1 : 1, finite = (v) => Number.isNaN(v) ? -1e99 : v;
		return list.sort((x, y) => sign * (finite(value(y)) - finite(value(x))) || x - y);
	}, [r, kind, onlySure, matcher, sortKey, ascending]);
	const largest = rows.reduce((m, i) => Math.max(m, Math.abs(r.diff[i])), 0);
	const totals = indices(c.rows).filter((i) => c.kind[i] === 0);
	const columns = [
		{ key: 'name', title: kind === 'loops' ? 'Loop' : 'Function', sortable: false, width: 'minmax(12rem, 3fr)', least: 200, className: 'mono', render: (i) => <><Name text={c.name.at(i)} query={matcher} />{c.moved[i] ? <span class="tag" title="its lines have moved; aligned by order in the function">moved</span> : ''}{!r.a[i] ? <span class="tag">only in B</span> : !r.b[i] ? <span class="tag">only in A</span> : ''}{kind === 'loops' && <span class="dim"> {visible(c.function.at(i))}</span>}</> },
		{ key: 'verdict', title: 'Verdict', sortable: false, width: '6.2rem', render: (i) => <Verdict v={r.verdict[i]} /> },
		{ key: 'a', title: 'A', help: 'CPU time in A, mean of its runs', num: true, width: '6.2rem', least: 76, render: (i) => ns(r.a[i]) },
		{ key: 'b', title: 'B', help: 'CPU time in B, mean of its runs', num: true, width: '6.2rem', least: 76, render: (i) => ns(r.b[i]) },
		{ key: 'diff', title: 'B − A', num: true, width: '6.6rem', least: 80, render: (i) => <span class={SURE(r.verdict[i]) ? '' : 'dim'}>{signed(r.diff[i])}</span> },
		{ key: 'bar', title: '', sortable: false, width: 'minmax(5rem, 1fr)', least: 70, render: (i) => <Delta diff={r.diff[i]} largest={largest} isSure={SURE(r.verdict[i])} /> },
		judged && { key: 'interval', title: '95 % interval', help: 'of the difference', sortable: false, num: true, width: '12.6rem', least: 160, render: (i) => Number.isNaN(r.low[i]) ? '' : <span class="dim">{signed(r.low[i])} to {signed(r.high[i])}</span> },
		{ key: 'ratio', title: 'B / A', num: true, width: '5rem', least: 60, render: (i) => r.a[i] > 0 ? `${(r.b[i] / r.a[i]).toFixed(2)}×` : '' },
		{ key: 'aShare', title: 'of A', help: 'share of the CPU time of A', num: true, width: '5.6rem', least: 76, render: (i) => percent(r.aShare[i]) },
		{ key: 'bShare', title: 'of B', help: 'share of the CPU time of B', num: true, width: '5.6rem', least: 76, render: (i) => percent(r.bShare[i]) },
		judged && { key: 'p', title: 'p', help: 'Welch\'s test, before the correction for many rows', num: true, width: '5.8rem', least: 70, render: (i) => Number.isNaN(c.p[i]) ? '' : c.p[i] < 0.0001 ? '<0.0001' : c.p[i].toFixed(4) },
	].filter(Boolean);
	return <>
		<Head title="Compare" tools={<>
			<Switch label="Rows" value={kind} options={[['functions', 'Functions'], ['loops', 'Loops']]} onChange={(v) => setParams({ rows: v === 'functions' ? null : v })} />
			{judged && compare.findings > 0 && <button class="plain" onClick={() => setParams({ all: onlySure ? '1' : null })}>{onlySure ? 'Show all' : 'Only beyond noise'}</button>}
			<button class="plain" aria-pressed={swap} onClick={() => setParams({ swap: swap ? null : '1' })}>Swap A and B</button></>}>
			<b>A</b> {runNames(first)} · <b>B</b> {runNames(second)}</Head>
		{!judged ? <p class="notice">{first.length} and {second.length} run{second.length === 1 ? '' : 's'} cannot tell a change from noise, however many samples they have. With {compare.runs_for_verdict} or more a side each row gets a verdict: <code>sonde diff --format html A1 A2 A3 : B1 B2 B3</code></p>
			: <p>{compare.findings ? <><b>{grouped(compare.findings)}</b> of {grouped(compare.tested)} rows differ beyond noise.</> : compare.drifted ? '' : `None of ${grouped(compare.tested)} rows differs beyond noise.`}{compare.drifted ? ` ${grouped(compare.drifted)} of ${grouped(compare.tested)} rows differ by no more than the machine changed between the sets (drift).` : ''} <span class="dim">Of comparisons of equal runs, {percent(compare.false_alarm_rate)} report any difference.</span></p>}
		{compare.warnings.map((text) => <p key={text} class="notice">{text}</p>)}
		<div class="tiles">{totals.map((i) => <Tile key={i} label={c.name.at(i) === 'CPU' ? 'CPU time' : 'Elapsed'} value={<>{ns(r.a[i])} <span class="dim">→</span> {ns(r.b[i])}</>} note={<><span class={SURE(r.verdict[i]) ? '' : 'dim'}>{signed(r.diff[i])}{r.a[i] > 0 ? `, ${(r.b[i] / r.a[i]).toFixed(2)}×` : ''}</span> <Verdict v={r.verdict[i]} /></>} />)}</div>
		<section class="panel flush fill"><Table label="What changed" columns={columns} rows={rows} rowKey={(i) => i} {...order} empty="Nothing to show; 'Show all' lists what noise explains." />
			<div class="foot" role="status" aria-live="polite"><span>{grouped(rows.length)} rows</span>{VERDICTS.filter((_, v) => judged ? v !== 4 : v > 2).map(([mark, name, style, help]) => <span key={name}><span class={style}>{mark} {name}</span>: {help}</span>)}</div></section>
	</>;
}

// A tree as flame.jsx draws it, from the paths of both sides; width is the time of the side shown.
function treeOf(paths, count, side, other) {
	const tree = new Tree(count), node = new Int32Array(paths.rows), change = [0];
	for (let i = 0; i < paths.rows; i++) {
		const parent = paths.parent[i] === NONE ? 0 : node[paths.parent[i]];
		node[i] = tree.child(parent, paths.name[i]);
		tree.value[node[i]] += side[i];
		change[node[i]] = (change[node[i]] ?? 0) + other[i];
		if (parent === 0) {
			tree.value[0] += side[i];
			change[0] += other[i];
		}
	}
	return { tree: tree.finish(), other: change };
}

export function CompareFlame({ chunks, filter, matcher, theme }) {
	const { call_paths: paths, path_names: names } = chunks, swap = filter.params.swap === '1';
	const width = filter.params.width === 'a' ? 0 : 1;
	const [a, b] = swap ? [paths.b_ns, paths.a_ns] : [paths.a_ns, paths.b_ns];
	const { tree, other } = useMemo(() => treeOf(paths, names.rows, width ? b : a, width ? a : b), [paths, swap, width]);
	const d = useMemo(() => ({ functions: { rows: names.rows, name: names.name }, loops: { rows: 0 } }), []);
	const matched = useMemo(() => matcher ? { hit: Uint8Array.from(tree.parent, (_, i) => i && matcher.test(names.name.at(tree.entity[i])) ? 1 : 0), sum: 0 } : null, [tree, matcher]);
	// More in B is red, less is blue; full colour from a tenth of all time on.
	const diff = (node) => (tree.value[node] - other[node]) * (width ? 1 : -1);
	const whole = Math.max(tree.value[0], other[0]);
	const heat = (node) => {
		const part = Math.min(1, Math.abs(diff(node)) / whole * 10);
		return part < 0.02 ? ['--line-strong', 0.55] : [diff(node) > 0 ? '--d-more' : '--d-less', 0.25 + 0.75 * part];
	};
	return <>
		<Head title="Flame graph of differences" tools={<><Switch label="Width" value={width ? 'b' : 'a'} options={[['a', 'Width is A'], ['b', 'Width is B']]} onChange={(v) => setParams({ width: v === 'a' ? 'a' : null })} />
			<button class="plain" aria-pressed={swap} onClick={() => setParams({ swap: swap ? null : '1' })}>Swap A and B</button></>}>callers at the top; colour is the change of CPU time with all that is called</Head>
		<section class="panel flush fill">{tree.value[0] > 0 ? <FlameCanvas key={swap + width} d={d} tree={tree} matched={matched} theme={theme} heat={heat}
			legend={<><span><Swatch colour="--d-more" /> more in B</span><span><Swatch colour="--d-less" /> less in B</span><span class="dim">grey: under 0.2 % of all time; strong: a tenth or more. No verdict: those are in the table.</span></>}
			tip={(node) => node > 0 && <div class="dim">{visible(names.module.at(tree.entity[node]))}</div>}
			say={(node) => <>A {seconds(width ? other[node] : tree.value[node])} · B {seconds(width ? tree.value[node] : other[node])} · {signed(diff(node) / 1e9)}</>} />
			: <Empty>No call paths were sampled.</Empty>}</section>
	</>;
}

export function Runs() {
	const { compare } = toc;
	const fact = (run, key) => visible(String(run[key] ?? '')) || 'unknown';
	return <>
		<Head title="Provenance">what was compared</Head>
		{['a', 'b'].map((side) => <section class="panel scroll" key={side}><h2>{side.toUpperCase()} <span class="dim">{compare[side].length} run{compare[side].length === 1 ? '' : 's'}</span></h2>
			<table class="small"><Titles of="Experiment|Started|Host|CPU|#Elapsed|#CPU time|#Samples|Command" />
				<tbody>{compare[side].map((run, i) => <tr key={i}><td class="mono">{fact(run, 'experiment')}{run.label ? ` (${visible(run.label)})` : ''}</td><td>{run.started_realtime_ns > 0 ? new Date(run.started_realtime_ns / 1e6).toISOString().replace('T', ' ').replace(/\.\d+Z/, ' UTC') : 'unknown'}</td><td>{fact(run, 'host')}</td><td>{fact(run, 'cpu_model')}</td><td class="num">{ns(run.elapsed)}</td><td class="num">{ns(run.cpu)}</td><td class="num">{grouped(run.samples)}</td><td class="wrap mono">{fact(run, 'arguments')}</td></tr>)}</tbody></table></section>)}
		<section class="panel"><h2>How the verdicts come about</h2><p>Functions are aligned by module and name, loops by function and lines. Means over the runs are held against each other by Welch's test; Holm's correction for the many rows keeps the rate of false alarms of the whole comparison{compare.false_alarm_rate === null ? '' : ` at ${percent(compare.false_alarm_rate)}`}. Rows under {percent(compare.smallest_share)} of the time on both sides are not tested. <code>sonde help diff</code> says more.</p>
			<p class="dim">Written by sonde {visible(toc.version ?? '')}.</p></section>
	</>;
}

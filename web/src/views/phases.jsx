// Phases: which intervals of the run are alike, rank by rank, what each phase does, and where to
// watch it. A click on a phase filters every view. src/phases finds them; docs/format/page-phases.md.
import { Fragment, h } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { phases as data } from '../chunks.js';
import { Chart, Chosen, useDrag } from '../chart.jsx';
import { Canvas, FunctionLink, Head, LoopLink, Name, Share, Swatch, Tip, Titles, colourOf, elapsedS, useSize } from '../parts.jsx';
import { namedColour } from '../palette.js';
import { elide, grouped, percent, seconds, visible } from '../format.js';
import { linkTo, setParams } from '../state.js';
import { drawTicks, rangeText, roomFor } from '../timeline.jsx';

const Dot = ({ phase }) => <Swatch colour={namedColour(phase)} />;
const keep = (phase, filter) => setParams({ ph: filter.phases?.has(phase) && filter.phases.size === 1 ? null : phase });
const nameOf = (p) => `${p.phase} ${p.name}`;
// calls that samples tell apart are a lower bound, and what one takes an upper one
const least = () => (data.calls.startsWith('exact') ? '' : '\u2265 ');
const most = () => (data.calls.startsWith('exact') ? '' : '\u2264 ');
const rate = (hz) => (hz >= 1000 ? grouped(+hz.toPrecision(2)) : String(+hz.toPrecision(3)));

function Pace({ of }) {
	if (!of)
		return '';
	const text = of.expected_hz > 0 ? (of.expected_hz === of.at_most_hz ? '' : '~ ') + rate(of.expected_hz) : of.at_least_hz > 0 ? '\u2265 ' + rate(of.at_least_hz) : '–';
	return of.expected_cost > 0.01 ? <>{text} <span class="tag" title="a heartbeat here would cost more than 1 % of the time: count all, time one in many (sonde_heartbeat_every)">often</span></> : text;
}

function Site({ d, of, name }) {
	return of.loop !== null && of.loop !== undefined ? <LoopLink d={d} loop={of.loop} /> : of.function !== null ? <FunctionLink d={d} f={of.function} /> : <span class="mono"><Name text={name} /></span>;
}

export function Phases({ d, agg, filter, theme }) {
	const [site, cyclic] = [data.phases.flatMap((p) => p.sites.map((s) => ({ ...s, phase: p.phase }))), data.cyclic ?? []];
	const one = data.phases.length === 1, unit = data.interval_ns / 1e9;
	const link = (p) => <button class="link" aria-pressed={!!filter.phases?.has(p.phase)} onClick={() => keep(p.phase, filter)}><Dot phase={p.phase} /> <Name text={nameOf(p)} /></button>;
	return <>
		<Head title="Phases">{one ? 'the run does the same all the time: one phase' : `${data.phases.length} kinds of intervals of ${+unit.toPrecision(3)} s, by what they spend their time in; click one to filter every view`}</Head>
		{(data.warnings ?? []).map((w, i) => <p key={i} class="notice">{visible(w)}</p>)}
		<section class="panel flush"><h2>Over time <span class="dim">a row {d.processes.rank.some((r) => r >= 0) ? 'a rank' : 'a process'}; a click keeps a phase, a drag a time range</span></h2>
			<Ribbons d={d} filter={filter} theme={theme} /></section>
		<section class="panel scroll"><h2>Phases <span class="dim">share of the intervals in which anything happened</span></h2>
			<table class="small"><Titles of="Phase|#Share|#Intervals|#CPU|#of it system|#Blocked|Where to watch it" />
				<tbody>{data.phases.map((p) => <tr key={p.phase} aria-selected={!!filter.phases?.has(p.phase)}><td>{link(p)}</td><td class="num" style={{ minWidth: '7.5rem' }}><Share part={p.share} whole={1} /></td><td class="num">{grouped(p.interval_count)}</td><td class="num">{seconds(p.cpu_ns)}</td><td class="num">{seconds(p.system_ns)}</td><td class="num">{seconds(p.blocked_ns)}</td>
					<td class="wrap">{p.sites.filter((s) => !s.alternative).slice(0, 3).map((s, i) => <Fragment key={i}>{i ? ', ' : ''}<Site d={d} of={s} name={s.label ?? s.name} /></Fragment>)}{p.sites.length > 3 ? ' and more' : ''}</td></tr>)}</tbody></table></section>
		<div class="grid2">{data.phases.map((p) => <section class="panel" key={p.phase}><h2>{link(p)} <span class="dim">its time by function, libraries with who called them</span></h2>
			<table class="small"><tbody>{p.profile.slice(0, 8).map(([f, share], i) => <tr key={i}><td class="wide">{f === null ? <span class="dim">other</span> : <FunctionLink d={d} f={f} />}</td><td class="num" style={{ minWidth: '9rem' }}><Share part={share} whole={1} /></td></tr>)}
				{p.profile.length === 0 && <tr><td class="dim">{p.blocked_ns > p.cpu_ns ? 'nothing runs: it waits' : 'too little was sampled'}</td></tr>}</tbody></table></section>)}</div>
		<section class="panel scroll"><h2>Sites <span class="dim">where a heartbeat would tell the phases apart; by {data.sites_method}, calls {data.calls}</span></h2>
			{site.length === 0 ? <p class="dim">No function or loop stands for a phase.</p> : <table class="small"><Titles of="#Heartbeat|Site|Function|Instrument|Phase|#Beats/s~beats a second that a process would count: at least so many where they were seen in samples, about so many where the code tells|#Covers of the phase|#of the run" />
				<tbody>{site.map((s, i) => <tr key={i}><td class="num">{s.heartbeat}</td><td><Site d={d} of={s} name={s.label ?? s.name} /></td><td class="wide">{s.type === 'loop' ? <Site d={d} of={{ function: s.function }} name={s.name} /> : ''}</td><td>{s.type}{s.alternative ? <span class="tag" title="as good as the one before it, which does little but call it">alternative</span> : ''}</td><td>{link(data.phases[s.phase])}</td><td class="num"><Pace of={s.pace} /></td><td class="num" style={{ minWidth: '8rem' }}><Share part={s.phase_share} whole={1} /></td><td class="num" style={{ minWidth: '8rem' }}><Share part={s.app_share} whole={1} /></td></tr>)}</tbody></table>}
			<p class="dim" style={{ marginTop: '.6rem' }}><code>sonde phases --emit-heartbeats FILE</code> writes them as a plan for <code>sonde/heartbeat.h</code>.</p></section>
		{cyclic.length > 0 && <section class="panel scroll"><h2>Shorter than an interval <span class="dim">what repeats inside of an iteration{data.calls.startsWith('exact') ? '' : '; seen by samples, so bounds'}</span></h2>
			<table class="small"><Titles of="Iteration of|Part|Phase|#Share|#Calls|#Each takes" />
				<tbody>{cyclic.map((c, i) => <tr key={i}><td><Site d={d} of={{ function: c.owner }} name={c.owner_name} /></td><td><Site d={d} of={c} name={c.name} /></td><td>{data.phases[c.phase] ? link(data.phases[c.phase]) : <span class="dim">whole run</span>}</td><td class="num" style={{ minWidth: '8rem' }}><Share part={c.share} whole={1} /></td><td class="num">{c.calls === null ? '–' : least() + grouped(c.calls)}</td><td class="num">{c.mean_ns === null ? '–' : most() + seconds(c.mean_ns)}</td></tr>)}</tbody></table></section>}
		<Choice theme={theme} />
	</>;
}

// How many clusters, and why.
function Choice({ theme }) {
	const list = data.clustering ?? [], scored = list.filter((c) => c.silhouette !== null);
	const columns = useMemo(() => [[list.map((c) => c.k), list.map((c) => c.inertia)], [scored.map((c) => c.k), scored.map((c) => c.silhouette)]], []);
	if (list.length < 2)
		return null;
	return <section class="panel"><h2>How many <span class="dim">{data.k_clusters} {data.k_clusters === 1 ? 'cluster' : 'clusters'}, chosen by {data.method}</span></h2><div class="grid2">
		<Chart data={columns[0]} series={[{ label: 'inertia', colour: '--accent', dots: true }]} xLeast={1} xLabel="clusters" yLabel="inertia" height={150} theme={theme} label="Inertia by number of clusters" />
		{scored.length > 0 && <Chart data={columns[1]} series={[{ label: 'silhouette', colour: '--accent', dots: true }]} yRange={[Math.min(0, ...columns[1][1]), 1]} xLeast={1} xLabel="clusters" yLabel="silhouette" height={150} theme={theme} label="Silhouette by number of clusters" />}</div>
		<details><summary class="dim">as a table</summary><table class="small"><Titles of="Clusters|#Inertia|#Silhouette" /><tbody>{list.map((c) => <tr key={c.k}><td>{c.k}</td><td class="num">{c.inertia.toPrecision(4)}</td><td class="num">{c.silhouette === null ? '–' : c.silhouette.toFixed(3)}</td></tr>)}</tbody></table></details></section>;
}

const AXIS = 22;

function Ribbons({ d, filter, theme }) {
	const box = useRef();
	const [width] = useSize(box);
	const [hover, setHover] = useState(null);
	const rows = data.ribbons, left = roomFor(width), wide = Math.max(1, width - left - 8);
	const rowHeight = rows.length > 128 ? 5 : rows.length > 32 ? 11 : rows.length > 6 ? 18 : 28, height = rows.length * rowHeight;
	const end = Math.max(elapsedS(), 1e-9), unit = data.interval_ns / 1e9;
	const rowName = (row) => {
		const rank = d.processes.rank[row.process];
		return rank >= 0 ? `rank ${rank}` : `process ${row.process}`;
	};
	const at = (row, t) => {
		let from = row?.first;
		for (let i = 0; row && i < row.runs.length; i += 2) {
			const phase = row.runs[i], count = row.runs[i + 1];
			if (t >= from * unit && t < (from + count) * unit)
				return { phase, from: from * unit, to: (from + count) * unit };
			from += count;
		}
		return null;
	};
	const draw = (c) => {
		c.font = '11px system-ui, "DejaVu Sans", sans-serif';
		c.textBaseline = 'middle';
		drawTicks(c, 0, end, left, wide, AXIS);
		rows.forEach((row, r) => {
			const y = AXIS + r * rowHeight, inner = rowHeight - (rowHeight > 8 ? 3 : 1);
			c.globalAlpha = 1;
			c.fillStyle = colourOf('--dim');
			if (rowHeight >= 11)
				c.fillText(elide(rowName(row), Math.floor(left / 7)), 10, y + rowHeight / 2);
			let from = row.first;
			for (let i = 0; i < row.runs.length; i += 2) {
				const phase = row.runs[i], to = from + row.runs[i + 1];
				const x0 = left + Math.min(1, from * unit / end) * wide, x1 = left + Math.min(1, to * unit / end) * wide;
				c.globalAlpha = filter.phases && phase >= 0 && !filter.phases.has(phase) ? 0.22 : 1;
				c.fillStyle = colourOf(phase < 0 ? '--sunken' : namedColour(phase));
				c.fillRect(x0, y, Math.max(0.5, x1 - x0), inner);
				from = to;
			}
			c.globalAlpha = 1;
		});
		if (filter.time) {
			c.strokeStyle = colourOf('--text');
			c.strokeRect(left + filter.time[0] / end * wide, AXIS - 2, (filter.time[1] - filter.time[0]) / end * wide, height + 2);
		}
	};
	const t = (x) => Math.min(Math.max(x - left, 0), wide) / wide * end;
	const [drag, events] = useDrag({
		can: (x) => x >= left,
		onEnd: (a, b) => setParams({ t: rangeText(t(a), t(b)) }),
		onClick: (x, y) => {
			const hit = at(rows[Math.floor((y - AXIS) / rowHeight)], t(x));
			if (hit && hit.phase >= 0)
				keep(hit.phase, filter);
		},
		onMove: (x, y, e) => setHover(x >= left && rows[Math.floor((y - AXIS) / rowHeight)] ? { x, row: rows[Math.floor((y - AXIS) / rowHeight)], at: [e.clientX, e.clientY] } : null),
	});
	const hit = hover && at(hover.row, t(hover.x));
	return <>
		<div class="canvas" ref={box} style={{ maxHeight: '30rem', marginTop: '.4rem' }}><div class="picture">
			{width > left + 20 && <Canvas width={width} height={height + AXIS + 4} draw={draw} inputs={[filter, theme, rowHeight]} label={`Phases of ${rows.length} rows over time; the tables below have the numbers`} {...events} />}
			{drag && <Chosen drag={drag} low={left} high={left + wide} top={AXIS} height={height} />}</div></div>
		<div class="foot">{data.phases.map((p) => <span key={p.phase}><Dot phase={p.phase} /> <Name text={elide(nameOf(p), 50)} /> {percent(p.share)}</span>)}<span><span class="swatch" style={{ background: 'var(--sunken)', border: '1px solid var(--line-strong)' }} /> idle</span></div>
		{hit && !drag && <Tip at={hover.at}><div><b>{hit.phase < 0 ? 'idle' : visible(nameOf(data.phases[hit.phase]))}</b></div><div class="dim">{rowName(hover.row)}, {+hit.from.toPrecision(5)} to {+Math.min(hit.to, end).toPrecision(5)} s</div></Tip>}
	</>;
}

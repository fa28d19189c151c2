// What kind of work: by category, for each thread; and how concentrated the time is.
import { Fragment, h } from 'preact';
import { useMemo } from 'preact/hooks';
import { toc } from '../chunks.js';
import { Chart } from '../chart.jsx';
import { Empty, Head, Name, Share, StackedBar, Swatch, Titles } from '../parts.jsx';
import { WAITS, workColour, workMeaning } from '../palette.js';
import { grouped, indices, percent, seconds } from '../format.js';
import { passes } from '../aggregate.js';
import { threadName } from '../threads.js';
import { Table } from '../table.jsx';

function byThread(d, filter, records) {
	const count = toc.categories.length, sums = new Float64Array(d.threads.rows * count);
	const isIn = passes(d, filter);
	for (let i = 0; i < records.rows; i++) {
		const point = records.point[i];
		if (isIn(records.thread[i], records.time[i]) && (filter.module === null || d.places.module[d.points.place[point]] === filter.module))
			sums[records.thread[i] * count + d.points.category[point]] += records.cpu_us[i] * 1000;
	}
	return sums;
}

function concentration(values, total) {
	const sorted = Float64Array.from(values).filter((v) => v > 0).sort().reverse();
	const y = new Float64Array(sorted.length + 1), x = new Float64Array(sorted.length + 1);
	let sum = 0, n80 = 0;
	for (let i = 0; i < sorted.length; i++) {
		sum += sorted[i];
		x[i + 1] = i + 1;
		y[i + 1] = 100 * sum / total;
		if (!n80 && sum >= 0.8 * total)
			n80 = i + 1;
	}
	const cut = Math.min(y.length, 400);
	return { data: [x.subarray(0, cut), y.subarray(0, cut)], n80, covered: total > 0 ? sum / total : 0, count: sorted.length };
}

function Concentration({ title, one, values, total, theme }) {
	const { data, n80, covered, count } = useMemo(() => concentration(values, total), [values, total]);
	return <section class="panel"><h2>{title} <span class="dim">{count === 0 ? 'none' : n80 ? `${grouped(n80)} ${one}${n80 === 1 ? '' : 's'} = 80 % of CPU time` : `all ${grouped(count)} together: ${percent(covered)}`}</span></h2>
		{count === 0 ? <Empty>Nothing sampled.</Empty> : <>
			<Chart data={data} series={[{ label: 'together', colour: '--accent', fill: true }]} yRange={[0, 100]} yUnit=" %" xLeast={1} xLabel={`${one}s, hottest first`} yLabel="of CPU time" height={190} theme={theme} label={`${title}: cumulative share`} />
			<details><summary class="dim">as a table</summary><table class="small"><tbody>{[1, 2, 5, 10, 20, 50, 100, 200].filter((n) => n < data[1].length).map((n) => <tr key={n}><td>{n} {one}{n === 1 ? '' : 's'}</td><td class="num">{percent(data[1][n] / 100)}</td></tr>)}</tbody></table></details></>}
	</section>;
}

export function Categories({ d, agg, filter, records, theme }) {
	const sums = useMemo(() => byThread(d, filter, records), [agg, records]);
	const count = toc.categories.length;
	const order = toc.categories.map((name, i) => ({ name, i, value: agg.categories[i] })).sort((a, b) => b.value - a.value);
	const threads = useMemo(() => indices(d.threads.rows).filter((t) => agg.threadNs[t] > 0), [agg]);
	const largest = threads.reduce((m, t) => Math.max(m, agg.threadNs[t]), 0);
	const used = order.filter((c) => c.value > 0);
	const columns = [
		{ key: 'thread', title: 'Thread', width: 'minmax(9rem, 13rem)', least: 140, sortable: false, render: (t) => <Name text={threadName(d, t)} /> },
		{ key: 'bar', title: 'CPU time by category', width: 'minmax(12rem, 1fr)', least: 200, sortable: false, render: (t) => <div class="stack" style={{ height: '14px', marginTop: '5px', background: 'none', width: `${100 * agg.threadNs[t] / largest}%` }}>{used.map((c) => sums[t * count + c.i] > 0 && <div key={c.i} title={`${c.name} ${seconds(sums[t * count + c.i])}`} style={{ flex: `${sums[t * count + c.i]} 0 0`, background: `var(${workColour(c.name)})`, padding: 0 }} />)}</div> },
		{ key: 'cpu', title: 'CPU', num: true, width: '6rem', sortable: false, render: (t) => seconds(agg.threadNs[t]) },
		...used.slice(0, 4).map((c) => ({ key: c.name, title: c.name, num: true, width: '6rem', sortable: false, render: (t) => sums[t * count + c.i] > 0 ? percent(Math.min(1, sums[t * count + c.i] / agg.threadNs[t])) : '' })),
	];
	return <>
		<Head title="Categories">what kind of work the CPU time is</Head>
		<section class="panel">{agg.total > 0 ? <StackedBar label="CPU time by category" items={order.map((c) => ({ name: c.name, value: c.value, colour: workColour(c.name), help: workMeaning(c.name) }))} /> : <Empty>No CPU time passes the filter.</Empty>}
			<table class="small" style={{ marginTop: '.9rem' }}><Titles of="Category|What it is|#Time|#Share" /><tbody>
				{used.map((c) => <tr key={c.i}><td style={{ whiteSpace: 'nowrap' }}><Swatch colour={workColour(c.name)} /> {c.name}</td><td class="dim">{workMeaning(c.name)}</td><td class="num">{seconds(c.value)}</td><td class="num" style={{ width: '9rem' }}><Share part={c.value} whole={agg.total} /></td></tr>)}</tbody></table></section>
		<section class="panel flush" style={{ height: Math.min(30 * 24, threads.length * 24 + 100) + 'px', flex: 'none' }}><h2>By thread <span class="dim">{grouped(threads.length)} with CPU time</span></h2><Table label="Categories by thread" columns={columns} rows={threads} rowKey={(t) => t} /></section>
		{agg.waits && agg.waits.total > 0 && <section class="panel"><h2>Blocked in traced calls <span class="dim">{seconds(agg.waits.total)} over {agg.waits.idleThreads ? `threads; ${grouped(agg.waits.idleThreads)} that only slept (${seconds(agg.waits.idle)}) left out` : 'all threads'}</span></h2>
			<StackedBar label="Blocked time by kind" items={WAITS.map(({ name, colour }, k) => ({ name, value: agg.waits.kinds[k], colour })).sort((a, b) => b.value - a.value)} /></section>}
		<div class="grid2">
			<Concentration title="Loops" one="loop" values={agg.ownLoopExcl} total={agg.total} theme={theme} />
			<Concentration title="Functions" one="function" values={agg.funcExcl} total={agg.total} theme={theme} />
		</div>
	</>;
}

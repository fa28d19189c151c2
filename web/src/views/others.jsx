// Threads and processes, where the numbers come from, and views that wait for data.
import { Fragment, h } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { toc } from '../chunks.js';
import { Bar, Empty, Head, Name, Titles, Warnings } from '../parts.jsx';
import { bytes, grouped, indices, percent, seconds, visible } from '../format.js';
import { formatRanges, setParams } from '../state.js';
import { entriesOf, threadName } from '../threads.js';
import { Table } from '../table.jsx';
import { columnsOf, words } from './listed.jsx';

export function Threads({ d, agg, chunks, filter, records, waits }) {
	const { threads } = d, entries = useMemo(() => entriesOf(d, records, waits), []);
	const [sort, setSort] = useState({ key: 'order', ascending: true });
	const exact = !filter.time && !filter.phases && filter.module === null;
	const values = { cpu: agg.threadNs, samples: agg.threadSamples, user: threads.user_ns, system: threads.system_ns, wait: threads.wait_cpu_ns, blocked: threads.blocked_ns, elapsed: threads.elapsed_ns };
	const rows = useMemo(() => {
		const order = indices(threads.rows), by = values[sort.key];
		if (by)
			order.sort((a, b) => (by[b] - by[a]) * (sort.ascending ? -1 : 1) || a - b);
		return order;
	}, [agg, sort]);
	const largest = agg.threadNs.reduce((m, v) => Math.max(m, v), 0);
	const known = (column) => (i) => column[i] < 0 ? '–' : seconds(column[i]);
	const columns = [
		{ key: 'order', title: 'Thread', width: 'minmax(11rem, 1fr)', least: 170, render: (i) => <Name text={threadName(d, i)} /> },
		{ key: 'entry', title: 'Begins in', help: 'the function that its call paths begin in', width: 'minmax(7rem, .8fr)', least: 110, className: 'mono', sortable: false, render: (i) => <Name text={entries[i]} /> },
		{ key: 'cpu', ...words('threads', 'sampled_cpu_s'), num: true, width: '9rem', render: (i) => <Bar share={agg.threadNs[i] / largest} room="4.6rem">{seconds(agg.threadNs[i])}</Bar> },
		{ key: 'samples', ...words('threads', 'samples'), num: true, width: '6rem', render: (i) => grouped(agg.threadSamples[i]) },
		{ key: 'elapsed', ...words('threads', 'elapsed_s'), num: true, width: '6.5rem', render: known(threads.elapsed_ns) },
		{ key: 'user', ...words('threads', 'user_s'), num: true, width: '6.5rem', render: known(threads.user_ns) },
		{ key: 'system', ...words('threads', 'system_s'), num: true, width: '6.5rem', render: known(threads.system_ns) },
		{ key: 'wait', ...words('threads', 'wait_cpu_s'), num: true, width: '9.4rem', render: known(threads.wait_cpu_ns) },
		{ key: 'blocked', ...words('threads', 'blocked_s'), num: true, width: '6.5rem', render: known(threads.blocked_ns) },
		{ key: 'traced', ...words('threads', 'traced_blocked_s'), num: true, width: '8rem', sortable: false, render: (i) => agg.waits?.threadWait[i] > 0 ? seconds(agg.waits.threadWait[i]) : '' },
		...columnsOf('threads', chunks).map((c) => ({ ...c, sortable: false })),
	];
	return <>
		<Head title="Threads">user, system, waiting and blocked are the kernel's account of the whole run{exact ? '' : '; only the first two columns follow the filter'}</Head>
		<section class="panel flush fill"><Table label="Threads" columns={columns} rows={rows} rowKey={(i) => i} sort={sort}
			onSort={(key) => setSort({ key, ascending: key === sort.key && !sort.ascending })} onOpen={(i) => setParams({ th: formatRanges(new Set([i])) })} />
			<div class="foot">{grouped(rows.length)} threads · double click or Enter keeps one thread as filter</div></section>
		<Processes d={d} />
	</>;
}

function Processes({ d }) {
	const { processes } = d, rows = indices(Math.min(processes.rows, 500)), hasRanks = processes.rank.some((r) => r >= 0);
	return <section class="panel" style={{ flex: 'none' }}><h2>Processes <span class="dim">{grouped(processes.rows)}</span></h2><div class="scroll" style={{ maxHeight: '16rem' }}>
		<table class="small"><Titles of={`##|#pid|${hasRanks ? '#rank|' : ''}Host|Command|#User|#System|#Exit|Clock`} />
			<tbody>{rows.map((i) => <tr key={i}><td class="num">{i}</td><td class="num">{processes.pid[i]}</td>{hasRanks && <td class="num">{processes.rank[i] >= 0 ? processes.rank[i] : ''}</td>}<td>{visible(processes.host.at(i))}</td><td class="wide mono"><Name text={processes.arguments.at(i) || processes.program.at(i)} /></td><td class="num">{seconds(processes.user_ns[i])}</td><td class="num">{seconds(processes.system_ns[i])}</td><td class="num">{processes.exit_status[i] < 0 ? '–' : processes.exit_status[i]}</td><td>{visible(processes.mechanism.at(i))}</td></tr>)}</tbody></table></div>
		{processes.rows > rows.length && <p class="dim">and {grouped(processes.rows - rows.length)} more</p>}</section>;
}

export function Provenance({ d }) {
	const started = new Date(toc.started_realtime_ns / 1e6);
	const facts = [
		['Command', <code>{visible(toc.arguments ?? '')}</code>], ['Experiment', visible(toc.experiment ?? '') + (toc.label ? ` (${visible(toc.label)})` : '')],
		['Started', toc.started_realtime_ns > 0 ? started.toISOString().replace('T', ' ').replace(/\.\d+Z/, ' UTC') : 'unknown'], ['Host', visible(toc.host ?? 'unknown')], ['CPU', visible(toc.cpu_model ?? 'unknown')], ['Kernel', visible(toc.kernel ?? 'unknown')],
		['Exit status', toc.exit_status < 0 ? 'unknown' : toc.exit_status], ['Clock', `${visible(toc.clock_mechanism ?? 'unknown')}${toc.asked_hz ? `, ${grouped(toc.asked_hz)} Hz asked for` : ''}`],
		['Samples', `${grouped(toc.samples)}, ${grouped(toc.lost)} lost`],
		['CPU time', toc.cpu_ns === null ? `sampled ${seconds(toc.sampled_ns)}; the kernel gave no account` : `sampled ${seconds(toc.sampled_ns)} of ${seconds(toc.cpu_ns)} by the kernel's account (${percent(toc.cpu_ns > 0 ? toc.sampled_ns / toc.cpu_ns : 0)})`],
		['Cost of measuring', percent(toc.overhead_share)], ['Clocks of hosts agree within', seconds(toc.clock_error_ns)],
		['Recorded by', `sonde ${visible(toc.version ?? '')}`],
		['Records in this page', toc.slice_ns > 0 ? `samples merged over slices of ${seconds(toc.slice_ns)}` : toc.stride > 1 ? `one sample of every ${toc.stride}, with the time of all` : 'every sample'],
		['To reproduce', <code>sonde {visible(toc.arguments ?? '')}</code>],
	];
	const environment = Object.entries(toc.environment);
	return <>
		<Head title="Provenance">what was run, where, and how it was measured</Head>
		<div class="grid2"><section class="panel"><h2>The run</h2><dl class="facts">{facts.map(([k, v]) => <Fragment key={k}><dt>{k}</dt><dd>{v}</dd></Fragment>)}</dl></section>
			<section class="panel"><h2>Fall-backs and gaps</h2><Warnings none="None that sonde knows of." />
				<h2 style={{ margin: '1rem 0 .5rem' }}>This page</h2><table class="small"><tbody>{toc.chunks.map((c) => <tr key={c.name}><td>{c.name}</td><td class="num">{grouped(c.rows)} rows</td><td class="num">{bytes(c.bytes)}</td></tr>)}</tbody></table></section></div>
		<section class="panel"><h2>Modules</h2><div class="scroll"><table class="small"><Titles of="Module|Build id|Compiled by" /><tbody>{indices(d.modules.rows).filter((i) => d.modules.cpu_ns[i] > 0).map((i) => <tr key={i}><td class="mono wrap"><span class="name">{visible(d.modules.path.at(i))}</span></td><td class="mono dim">{visible(d.modules.build_id.at(i))}</td><td class="wrap dim">{visible(d.modules.producer.at(i)) || 'not recorded'}</td></tr>)}</tbody></table></div></section>
		<section class="panel"><h2>Environment <span class="dim">{environment.length ? 'values that may be secret are ***' : ''}</span></h2>{environment.length ? <dl class="facts">{environment.map(([k, v]) => <Fragment key={k}><dt class="mono">{visible(k)}</dt><dd class="mono">{visible(v ?? '')}</dd></Fragment>)}</dl> : <p class="dim">Not recorded.</p>}</section>
	</>;
}

export function Absent({ title, what, command }) {
	return <><Head title={title} /><section class="panel"><Empty command={command}>{what}</Empty></section></>;
}

// The first page: where elapsed time went, and what to look at next.
import { Fragment, h } from 'preact';
import { useMemo } from 'preact/hooks';
import { toc } from '../chunks.js';
import { Empty, FunctionLink, Head, LoopLink, Name, Quality, Share, StackedBar, Tile, Titles, Warnings, elapsedS, place } from '../parts.jsx';
import { workColour, workMeaning } from '../palette.js';
import { grouped, indices, percent, seconds, visible } from '../format.js';
import { linkTo } from '../state.js';
import { WhatIf, gainsAtAll } from './whatif.jsx';

const top = (values, count, without) => {
	const order = [];
	for (let i = 0; i < values.length; i++)
		if (values[i] > 0 && !without?.[i])
			order.push(i);
	return order.sort((a, b) => values[b] - values[a]).slice(0, count);
};

export function Summary({ d, agg, filter, chunks, theme }) {
	const share = (ns) => agg.total > 0 ? ns / agg.total : 0;
	const loopsNs = useMemo(() => {
		let inLoop = 0, innermost = 0;
		for (let i = 0; i < d.loops.rows; i++) {
			inLoop += agg.ownLoopExcl[i];
			innermost += d.loops.flags[i] & 1 ? agg.ownLoopExcl[i] : 0;
		}
		return { inLoop, innermost };
	}, [agg]);
	const processes = toc.process_count ?? d.processes.rows, count = toc.thread_count ?? d.threads.rows;
	const span = filter.time ? filter.time[1] - filter.time[0] : elapsedS();
	const inLoops = agg.filtered || toc.loops_share === null ? share(loopsNs.inLoop) : toc.loops_share;
	const innermost = agg.filtered || toc.innermost_share === null ? share(loopsNs.innermost) : toc.innermost_share;
	return <>
		<Head title="Global">{agg.filtered ? `of ${seconds(agg.total)} CPU time that pass the filter` : 'where the time went'}</Head>
		<div class="tiles">
			<Tile label={filter.time ? 'Range' : 'Elapsed'} value={seconds(span * 1e9)} note={toc.exit_status > 0 ? `exit status ${toc.exit_status}` : `${grouped(processes)} process${processes === 1 ? '' : 'es'}, ${grouped(count)} thread${count === 1 ? '' : 's'}`} />
			<Tile label="CPU time" value={seconds(agg.filtered || toc.cpu_ns === null ? agg.total : toc.cpu_ns)} note={agg.filtered || toc.user_ns === null ? `system ${percent(share(agg.system))}` : `user ${seconds(toc.user_ns)} · system ${seconds(toc.system_ns)}`} />
			<Tile label="CPUs in use" value={span > 0 ? (agg.total / (span * 1e9)).toFixed(2) : '–'} note="CPU time over elapsed" />
			<Tile label="In loops" value={percent(inLoops)} note={`innermost ${percent(innermost)}`} />
			<Tile label="Samples" value={grouped(agg.sampleTotal)} note={toc.lost > 0 ? `${grouped(toc.lost)} lost` : `${toc.rate_hz ? grouped(toc.rate_hz) + ' Hz, ' : ''}none lost`} />
			<Tile label="Cost of measuring" value={percent(toc.overhead_share)} note={toc.clock_mechanism || 'unknown clock'} />
		</div>
		<Verdict filtered={agg.filtered} />
		<div class="grid2">
			<TopLoops d={d} agg={agg} />
			<TopFunctions d={d} agg={agg} />
		</div>
		<div class="grid2">
			<Elapsed d={d} agg={agg} filter={filter} />
			<section class="panel"><h2>What kind of work <span class="dim">CPU time by category</span></h2>
				{agg.total > 0 ? <StackedBar label="CPU time by category" items={toc.categories.map((name, i) => ({ name, value: agg.categories[i], colour: workColour(name), help: workMeaning(name) })).sort((a, b) => b.value - a.value)} />
					: <Empty>No CPU time was sampled.</Empty>}</section>
		</div>
		{gainsAtAll && <WhatIf d={d} filter={filter} chunks={chunks} theme={theme} />}
		<div class="grid2">
			<Options d={d} />
			<section class="panel"><h2>Not measured, or not sure</h2>
				<Warnings none="Nothing was missed that sonde knows of." /></section>
		</div>
	</>;
}

// Of the whole run, whatever the filter: the same words as in the terminal.
function Verdict({ filtered }) {
	if (!toc.verdict?.sentence)
		return '';
	return <section class="panel"><h2 class="verdict">{visible(toc.verdict.sentence)} <span class="dim">confidence: {toc.verdict.confidence}{filtered ? '; of the whole run, whatever the filter' : ''}</span></h2>
		<ol class="findings">{toc.findings.map((f, i) => <li key={i}><b class="num">{seconds(f.seconds * 1e9)}</b><span class="num dim" title="of the threads' time">{f.share === null ? '' : percent(f.share)}</span>
			<div>{visible(f.sentence)} <a href={toc.finding_links[i]}>evidence</a><p class="remedy">{visible(f.remedy)}</p></div>
			<span class="dim" title="confidence">{f.confidence}</span></li>)}</ol></section>;
}

function Elapsed({ d, agg, filter }) {
	const { threads } = d, sum = { user: 0, spin: 0, system: 0, wait: 0, workers: 0, blocked: 0, off: 0, unknown: 0 };
	const exact = !filter.time && !filter.phases && filter.module === null;
	let helpers = 0;
	// Of the whole run the text summary and this page have one source; a selection is summed here.
	const given = !filter.threads && toc.thread_elapsed_ns !== null && toc.off_cpu_ns != null;
	if (given) {
		sum.spin = Math.min(toc.spin_ns ?? 0, toc.thread_user_ns ?? 0);
		sum.user = (toc.thread_user_ns ?? 0) - sum.spin;
		sum.workers = Math.min(toc.workers_ns ?? 0, toc.blocked_ns ?? 0);
		sum.system = toc.thread_system_ns ?? 0;
		sum.wait = toc.wait_cpu_ns ?? 0;
		sum.blocked = (toc.blocked_ns ?? 0) - sum.workers;
		sum.off = toc.wait_cpu_ns === null ? toc.off_cpu_ns : 0;
	}
	for (let i = 0; i < threads.rows; i++) {
		if (filter.threads ? !filter.threads.has(i) : threads.helper[i]) {
			helpers += !filter.threads;
			continue;
		}
		if (given)
			continue;
		const add = (key, ns) => { if (ns >= 0) sum[key] += ns; };
		add('user', threads.user_ns[i]);
		add('system', threads.system_ns[i]);
		add('wait', threads.wait_cpu_ns[i]);
		add('blocked', threads.blocked_ns[i]);
		const known = [threads.user_ns, threads.system_ns, threads.wait_cpu_ns, threads.blocked_ns].reduce((s, column) => s + Math.max(0, column[i]), 0);
		if (threads.wait_cpu_ns[i] < 0 || threads.blocked_ns[i] < 0)
			add('unknown', Math.max(0, threads.elapsed_ns[i] - known));
	}
	const items = exact ? [
		{ name: 'user code', value: sum.user, colour: '--s-user' },
		{ name: 'spinning', value: sum.spin, colour: '--s-spin' },
		{ name: 'system', value: sum.system, colour: '--s-system' },
		{ name: 'waiting for CPU', value: sum.wait, colour: '--s-starved' },
		{ name: 'own workers', value: sum.workers, colour: '--s-workers' },
		{ name: 'blocked', value: sum.blocked, colour: '--s-blocked' },
		{ name: 'not running', value: sum.off, colour: '--s-off' },
		{ name: 'unknown', value: sum.unknown, colour: '--s-unknown' },
	] : [
		{ name: 'on a CPU', value: agg.total, colour: '--s-user' },
		{ name: 'blocked in traced calls', value: agg.waits?.total ?? 0, colour: '--s-blocked' },
	];
	const whole = items.reduce((s, i) => s + i.value, 0);
	return <section class="panel"><h2>Elapsed time explained <span class="dim">{exact ? `summed over threads, by the kernel's account${helpers ? `; ${grouped(helpers)} that only slept left out` : ''}` : 'in this range, by samples and traced calls'}</span></h2>
		{whole > 0 ? <StackedBar label="Elapsed time" items={items} /> : <Empty>The kernel gave no account.</Empty>}</section>;
}

function TopLoops({ d, agg }) {
	const rows = useMemo(() => top(agg.ownLoopExcl, 10), [agg]);
	return <section class="panel"><h2>Hottest loops <span class="dim"><a href={linkTo('functions', '', { rows: 'loops' })}>all loops</a></span></h2>
		{rows.length === 0 ? <Empty>No sample lies in a loop.</Empty> : <table class="small"><Titles of="Loop|#Time|#Share of CPU|!Quality" />
			<tbody>{rows.map((i) => <tr key={i}><td class="wide"><div class="pair two"><LoopLink d={d} loop={i} /> <InFunction d={d} loop={i} /></div></td>
				<td class="num">{seconds(agg.loopExcl[i])}</td><td class="num" style={{ minWidth: '7.5rem' }}><Share part={agg.loopExcl[i]} whole={agg.total} /></td>
				<td><Quality samples={agg.loopSamples[i]} share={agg.loopExcl[i] / agg.total} all={agg.sampleTotal} low={agg.filtered ? undefined : d.loops.share_low[i]} high={d.loops.share_high[i]} /></td></tr>)}</tbody></table>}
	</section>;
}

const moduleOf = (d, f) => visible(d.modules.name.at(d.functions.module[f]));

// Where its lines are unknown a loop's label has the name of the function already, without parameters; one that is only an
// address says where that is.
function InFunction({ d, loop }) {
	const f = d.loops.function[loop], name = d.functions.name.at(f);
	return d.loops.label.at(loop).startsWith(name.replace(/(?<=.)\(.*/, '')) ? /^<(function|code) at 0x/.test(name) && <span class="dim">{moduleOf(d, f)}</span>
		: <span class="dim mono in">in <Name text={name} /></span>;
}

function TopFunctions({ d, agg }) {
	const rows = useMemo(() => top(agg.funcExcl, 10, d.functions.spin), [agg]);
	return <section class="panel"><h2>Hottest functions <span class="dim"><a href={linkTo('functions')}>all functions</a></span></h2>
		{rows.length === 0 ? <Empty>No samples.</Empty> : <table class="small"><Titles of="Function|#Time|#Share of CPU|!Quality" />
			<tbody>{rows.map((i) => <tr key={i}><td class="wide"><div class="pair"><FunctionLink d={d} f={i} /> <span class="dim">{place(d, d.functions.file[i], d.functions.line[i]) || moduleOf(d, i)}</span></div></td>
				<td class="num">{seconds(agg.funcExcl[i])}</td><td class="num" style={{ minWidth: '7.5rem' }}><Share part={agg.funcExcl[i]} whole={agg.total} /></td>
				<td><Quality samples={agg.funcSamples[i]} share={agg.funcExcl[i] / agg.total} all={agg.sampleTotal} low={agg.filtered ? undefined : d.functions.share_low[i]} high={d.functions.share_high[i]} /></td></tr>)}</tbody></table>}
	</section>;
}

function Options({ d }) {
	const { modules } = d;
	const rows = indices(modules.rows).filter((i) => modules.cpu_ns[i] > 0).sort((a, b) => modules.cpu_ns[b] - modules.cpu_ns[a]).slice(0, 8);
	const all = toc.sampled_ns;
	return <section class="panel"><h2>How it was compiled <span class="dim">modules with most time</span></h2>
		{rows.length === 0 ? <Empty>No modules were sampled.</Empty> : <table class="small"><Titles of="Module|#CPU|Not used (of its time)~useful options that were not given, with the part of the module's time that lacked them" />
			<tbody>{rows.map((i) => <tr key={i} title={visible(modules.producer.at(i))}><td class="mono"><span class="name">{visible(modules.name.at(i))}</span></td><td class="num">{percent(modules.cpu_ns[i] / all)}</td>
				<td class="wrap">{modules.missing.at(i) ? <span class="q1">▲ {visible(modules.missing.at(i))}</span> : <span class="dim">{modules.producer.at(i) ? 'nothing obvious' : 'not recorded'}</span>}</td></tr>)}</tbody></table>}
	</section>;
}

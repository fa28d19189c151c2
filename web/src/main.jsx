// The page: rail, filter bar, views. State is in the address (state.js); data in chunks (chunks.js).
import { Fragment, h, render } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { load, phases, toc } from './chunks.js';
import { aggregate, isFiltered, prepare } from './aggregate.js';
import { elapsedS } from './parts.jsx';
import { current, formatRanges, go, linkTo, setParams, useAddress } from './state.js';
import { indices, percent, seconds, visible } from './format.js';
import { Flame } from './flame.jsx';
import { Timeline, rangeText } from './timeline.jsx';
import { threadName } from './threads.js';
import { Summary } from './views/summary.jsx';
import { Categories } from './views/categories.jsx';
import { Functions } from './views/functions.jsx';
import { Callers } from './views/callers.jsx';
import { Loop, Source } from './views/source.jsx';
import { Experts } from './views/experts.jsx';
import { Compare, CompareFlame, Runs, runNames } from './views/compare.jsx';
import { Phases } from './views/phases.jsx';
import { LOOP_CHUNKS, chunksOf, listedIn } from './views/listed.jsx';
import { Absent, Provenance, Threads } from './views/others.jsx';

// A page compares two sets of runs, or tells of one run.
const { compare } = toc;
const BASE = compare ? ['changes'] : ['modules', 'files', 'functions', 'loops', 'threads', 'processes', 'nodes', 'places', 'points'];

// Address, title, second key after g, component, chunks beside the base ones; of a view that has no
// component here: what it is, and the command that gives it.
const VIEWS = compare ? [
	['Overview'],
	['compare', 'Compare', 'd', Compare],
	['flame', 'Flame graph', 'g', CompareFlame, ['call_paths', 'path_names']],
	['provenance', 'Provenance', 'p', Runs],
] : [
	['Overview'],
	['summary', 'Global', 's', Summary, ['whatif', 'curves']],
	...listedIn('Overview'),
	['categories', 'Categories', 'c', Categories, ['records', 'waits']],
	['Where'],
	['functions', 'Functions & loops', 'f', Functions, chunksOf('functions', 'loops', 'modules')],
	['loop', 'Loop', 'l', Loop, ['records', 'experts', 'verdicts', 'evidence', 'advice', 'scaling', 'measured', 'entries', 'paths', 'model', ...LOOP_CHUNKS]],
	['callers', 'Callers & callees', 'k', Callers],
	['flame', 'Flame graph', 'g', Flame, ['waits']],
	['source', 'Source & assembly', 'a', Source],
	['When'],
	['timeline', 'Timeline', 't', Timeline, ['records', 'waits']],
	['phases', 'Phases', 'o', phases && Phases, null, 'Phases of the run and where to instrument them: the run has too few samples to find any', 'sonde phases'],
	['Why'],
	['expert', 'Loop experts', 'e', Experts, ['experts']],
	...listedIn('Why'),
	['System'],
	['threads', 'Threads', 'h', Threads, ['records', 'waits', ...chunksOf('threads')]],
	...listedIn('System'),
	['comm', 'Communication', null, null, null, 'Who sends how much to whom', 'sonde comm'],
	['lattice', 'Lattice', null, null, null, 'The lattice of consistent cuts of a distributed run', 'sonde lattice'],
	['compare', 'Compare', null, null, null, 'Two runs side by side', 'sonde diff --format html A B'],
	['provenance', 'Provenance', 'p', Provenance],
];
const NAMED = VIEWS.filter((v) => v.length > 1);

const ICONS = {
	brand: <svg viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="M2 13h3l2.5-9 4 13 2.5-7h4" /></svg>,
	theme: <svg viewBox="0 0 20 20" fill="currentColor" aria-hidden="true"><path d="M10 2a8 8 0 1 0 0 16zM10 3.6a6.4 6.4 0 0 1 0 12.8z" fill-rule="evenodd" /><circle cx="10" cy="10" r="7.2" fill="none" stroke="currentColor" stroke-width="1.6" /></svg>,
	link: <svg viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.7" stroke-linecap="round" aria-hidden="true"><path d="M8.5 11.5a3.2 3.2 0 0 0 4.6 0l3-3a3.2 3.2 0 0 0-4.6-4.6l-1 1M11.5 8.5a3.2 3.2 0 0 0-4.6 0l-3 3a3.2 3.2 0 0 0 4.6 4.6l1-1" /></svg>,
	print: <svg viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linejoin="round" aria-hidden="true"><path d="M6 7V3h8v4M6 14H3.5V7.5h13V14H14M6 11.5h8V17H6z" /></svg>,
	help: <svg viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.7" stroke-linecap="round" aria-hidden="true"><circle cx="10" cy="10" r="7.4" /><path d="M7.8 7.8a2.2 2.2 0 1 1 3.3 2c-.8.5-1.1.9-1.1 1.7M10 14.1v.1" /></svg>,
};

function makeMatcher(query) {
	const pattern = /^\/(.+)\/$/.exec(query);
	if (!query)
		return { matcher: null };
	try {
		return { matcher: new RegExp(pattern ? pattern[1] : query.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'i') };
	} catch {
		return { matcher: null, error: 'not a regular expression' };
	}
}

function useChunks(names) {
	const [loaded, setLoaded] = useState({});
	const [error, setError] = useState(null);
	useEffect(() => {
		for (const name of names)
			load(name).then((chunk) => setLoaded((old) => old[name] ? old : { ...old, [name]: chunk }), setError);
	}, [names.join()]);
	return [loaded, error];
}

function App() {
	const filter = useAddress();
	const [theme, setTheme] = useState(() => matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
	const [help, setHelp] = useState(false);
	const [toast, setToast] = useState(null);
	const view = NAMED.find((v) => v[0] === filter.view) ?? NAMED[0];
	const extra = view[4] ?? [];
	const filtered = !compare && isFiltered(filter);
	const names = [...BASE, ...new Set([...extra, ...(filtered ? ['records', 'waits'] : [])])];
	const [chunks, error] = useChunks(names);
	const ready = names.every((name) => chunks[name]);
	const d = useMemo(() => !compare && BASE.every((name) => chunks[name]) ? prepare({ ...Object.fromEntries(BASE.map((n) => [n, chunks[n]])) }) : null, [BASE.every((name) => chunks[name])]);
	const filterKey = [filter.params.t, filter.params.th, filter.params.m, filter.params.ph].join('|');
	const agg = useMemo(() => d && (!filtered || ready) ? aggregate(d, filter, chunks.records, chunks.waits) : null, [d, filterKey, filtered && ready, !!chunks.waits]);
	const { matcher, error: badQuery } = useMemo(() => makeMatcher(filter.query), [filter.query]);
	document.documentElement.dataset.theme = theme; // before children draw with its colours
	const say = (text) => { setToast(text); setTimeout(() => setToast(null), 1800); };
	useKeys({ d, agg, setHelp, help });
	useEffect(() => { document.body.dataset.ready = ready && (agg || compare) ? view[0] : ''; });
	const View = view[3];
	return <>
		<nav class="rail" aria-label="Views">
			<div class="brand">{ICONS.brand}sonde</div>
			{VIEWS.map(([name, title, key, component]) => title === undefined ? <h2 key={name}>{name}</h2>
				: component && <a key={name} href={linkTo(name)} aria-current={view[0] === name ? 'page' : undefined}>{title}{key && <kbd>g {key}</kbd>}</a>)}
		</nav>
		<header class="top">
			<span class="run" title={visible(toc.arguments ?? '')}>{compare ? `${runNames(compare.a.slice(0, 1))} → ${runNames(compare.b.slice(0, 1))}` : <>{visible(toc.program ?? toc.experiment ?? '').split('/').pop()} <span class="dim">{visible(toc.experiment ?? '')}</span></>}</span>
			{compare ? <Search query={filter.query} bad={badQuery} /> : <FilterBar d={d} filter={filter} badQuery={badQuery} />}
			{agg && filtered && <span class="kept" role="status">{seconds(agg.total)} = {percent(toc.sampled_ns > 0 ? agg.total / toc.sampled_ns : 0)} of CPU time</span>}
			<span class="spacer" />
			<span class="icons"><button class="icon" title="Copy a link to this view" aria-label="Copy a link to this view" onClick={() => navigator.clipboard?.writeText(location.href).then(() => say('Link copied'), () => say('The browser refused; the address bar has the link'))}>{ICONS.link}</button>
			<button class="icon" title="Light or dark" aria-label="Light or dark" onClick={() => setTheme(theme === 'dark' ? 'light' : 'dark')}>{ICONS.theme}</button>
			<button class="icon" title="Print the summary" aria-label="Print the summary" onClick={() => print()}>{ICONS.print}</button>
			<button class="icon" title="Keys (?)" aria-label="Keys" onClick={() => setHelp(true)}>{ICONS.help}</button></span>
		</header>
		<main id="main">
			{error ? <p class="notice" role="alert">This page could not be read: {String(error.message ?? error)}. Make it again with <code>sonde report</code>.</p>
				: !View ? <Absent title={view[1]} what={`${view[5]}. Not in this report.`} command={`${view[6]}${view[6].endsWith('B') ? '' : ' ' + visible(toc.experiment ?? '')}`} />
					: !(agg || compare) || !ready ? <p class="dim" role="status">Unpacking…</p>
						: <View key={view[0]} chunks={chunks} d={d} agg={agg} filter={filter} matcher={matcher} records={chunks.records} waits={chunks.waits} theme={theme} />}
		</main>
		{help && <Help onClose={() => setHelp(false)} />}
		{toast && <div class="toast" role="status">{toast}</div>}
	</>;
}

function FilterBar({ d, filter, badQuery }) {
	const { time, threads, module } = filter;
	const modules = useMemo(() => d ? indices(d.modules.rows).filter((i) => d.modules.cpu_ns[i] > 0).sort((a, b) => d.modules.cpu_ns[b] - d.modules.cpu_ns[a]).slice(0, 200) : [], [d]);
	const clear = (key) => <button aria-label="Remove this filter" onClick={() => setParams({ [key]: null })}>×</button>;
	return <>
		<TimeRange time={time} clear={time && clear('t')} />
		{d && (threads ? <span class="chip on" title="Threads">{threads.size === 1 ? visible(threadName(d, [...threads][0] < d.threads.rows ? [...threads][0] : 0)) : `${threads.size} threads`} {clear('th')}</span>
			: d.threads.rows <= 1 ? null
				: <select class="chip dim" aria-label="Threads" title={toc.thread_count < d.threads.rows ? 'a thread that runs another program (exec) is listed once for each' : undefined} value="" onChange={(e) => setParams({ th: e.target.value })}><option value="">all {toc.thread_count ?? d.threads.rows} threads</option>{indices(Math.min(d.threads.rows, 400)).map((i) => <option key={i} value={formatRanges(new Set([i]))}>{visible(threadName(d, i))}</option>)}</select>)}
		{d && (module !== null ? <span class="chip on" title="Module of the leaf">{module < d.modules.rows ? visible(d.modules.name.at(module)) : 'no such module'} {clear('m')}</span>
			: modules.length > 1 && <select class="chip dim" aria-label="Module" value="" onChange={(e) => setParams({ m: e.target.value })}><option value="">all modules</option>{modules.map((i) => <option key={i} value={i}>{visible(d.modules.name.at(i))}</option>)}</select>)}
		{phases && filter.phases && <span class="chip on" title="Phases">phase {[...filter.phases].map((k) => visible(phases.phases[k]?.name ?? String(k))).join(', ')} {clear('ph')}</span>}
		<Search query={filter.query} bad={badQuery} />
	</>;
}

// The time range as text: typed here, or dragged in the timeline.
function TimeRange({ time, clear }) {
	const said = time ? `${trim(time[0])}–${trim(time[1])} s` : `0–${trim(elapsedS())} s`;
	const [text, setText] = useState(null); // while it is typed
	const take = (words) => {
		const [, from, to] = /^\s*([\d.]*)\s*[-–]\s*([\d.]*)\s*s?\s*$/.exec(words) ?? [];
		setText(null);
		if (words.trim() === '')
			setParams({ t: null });
		else if (from !== undefined && words !== said)
			setParams({ t: rangeText(+from || 0, to === '' ? elapsedS() : +to) });
	};
	return <span class={time ? 'chip on' : 'chip dim'}><input id="time" aria-label="Time range in seconds, as 1.5-3" title="Time range: type 1.5-3, or 2- for the rest; or drag in the timeline" style={{ width: `${Math.max(said.length, (text ?? '').length) + 0.5}ch` }} value={text ?? said}
		onFocus={(e) => e.target.select()} onInput={(e) => setText(e.target.value)} onBlur={() => setText(null)}
		onKeyDown={(e) => { if (e.key === 'Enter') take(e.target.value); if (e.key === 'Enter' || e.key === 'Escape') e.target.blur(); }} />{clear}</span>;
}

const trim = (s) => s >= 100 ? s.toFixed(0) : s >= 10 ? s.toFixed(1) : +s.toPrecision(3);

function Search({ query, bad }) {
	const [text, setText] = useState(query);
	const timer = useRef();
	useEffect(() => setText(query), [query]);
	const onInput = (e) => {
		const value = e.target.value;
		setText(value);
		clearTimeout(timer.current);
		timer.current = setTimeout(() => setParams({ q: value || null }, true), 130);
	};
	return <div class="search"><input id="search" type="search" class={bad ? 'bad' : ''} value={text} placeholder="Search names ( / )" aria-label="Search functions, loops and files" aria-invalid={bad ? 'true' : undefined} title={bad ?? 'Marks and keeps names that match; /…/ is a regular expression'} onInput={onInput}
		onKeyDown={(e) => { if (e.key === 'Escape') { clearTimeout(timer.current); setParams({ q: null }, true); e.target.blur(); } else if (e.key === 'Enter') { e.target.blur(); document.querySelector('[data-table]')?.focus(); } }} /></div>;
}

function useKeys(context) {
	const latest = useRef(context);
	latest.current = context;
	useEffect(() => {
		let prefix = false;
		const onKey = (event) => {
			const { d, agg, setHelp, help } = latest.current;
			if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName))
				return;
			const table = document.querySelector('[data-table]');
			if (prefix) {
				prefix = false;
				const view = NAMED.find((v) => v[3] && v[2] === event.key);
				if (view)
					go(view[0]);
			} else if (event.key === 'g') {
				prefix = true;
			} else if (event.key === '/' || event.key === 't') {
				document.getElementById(event.key === 't' ? 'time' : 'search')?.focus();
			} else if (event.key === '?') {
				setHelp(!help);
			} else if (event.key === 'Escape') {
				if (help)
					setHelp(false);
				else
					setParams({ t: null, th: null, m: null, ph: null, q: null, z: null });
			} else if ((event.key === 'j' || event.key === 'k') && table && !table.contains(document.activeElement)) {
				table.focus();
				table.dispatchEvent(new KeyboardEvent('keydown', { key: event.key, bubbles: false }));
			} else if ((event.key === '[' || event.key === ']') && d && agg) {
				stepLoop(d, agg, event.key === ']' ? 1 : -1);
			} else {
				return;
			}
			event.preventDefault();
		};
		window.addEventListener('keydown', onKey);
		return () => window.removeEventListener('keydown', onKey);
	}, []);
}

function stepLoop(d, agg, by) {
	if (!d.loops.rows)
		return;
	const order = indices(d.loops.rows).sort((a, b) => agg.ownLoopExcl[b] - agg.ownLoopExcl[a] || agg.loopExcl[b] - agg.loopExcl[a]);
	const { view, argument } = current();
	const at = view === 'loop' ? Math.max(0, order.findIndex((i) => d.loops.id.at(i) === argument)) : -1;
	const next = order[Math.min(order.length - 1, Math.max(0, at + by))];
	go('loop', d.loops.id.at(next));
}

const KEYS = [['?', 'these keys'], ['/', 'search'], ['t', 'time range'], ...NAMED.filter((v) => v[3] && v[2]).map((v) => [`g ${v[2]}`, v[1]]), ['j k', 'next, previous row'], ['h l', 'close, open a row; sideways in the flame graph'], ['Enter', 'open the row'], ['+ − 0', 'zoom the timeline, the flame graph; ctrl + wheel'], ['← →', 'move what is zoomed'], ['[ ]', 'hotter, cooler loop'], ['Esc', 'remove all filters']];

function Help({ onClose }) {
	const ref = useRef();
	useEffect(() => ref.current.focus(), []);
	return <div class="veil" onClick={onClose}><div class="dialog" role="dialog" aria-modal="true" aria-label="Keys" tabIndex={-1} ref={ref} onClick={(e) => e.stopPropagation()}>
		<h1>Keys</h1><dl>{KEYS.map(([key, what]) => <Fragment key={key}><dt><kbd>{key}</kbd></dt><dd>{what}</dd></Fragment>)}</dl>
		<p class="dim" style={{ marginTop: '1rem' }}>The filter (time, threads, module, search) holds for every view and is part of the address: copy it to share what you see.</p></div></div>;
}

// What an ellipsis cuts off is said where the mouse rests on it.
document.addEventListener('mouseover', ({ target }) => {
	for (let e = target, up = 0; e?.id !== 'app' && e && up < 4; e = e.parentElement, up++)
		if (e.scrollWidth > e.clientWidth && (!e.title || e.dataset.cut) && getComputedStyle(e).textOverflow === 'ellipsis') {
			e.title = e.textContent.trim();
			e.dataset.cut = '1';
		}
});

const app = document.getElementById('app');
document.getElementById('static').hidden = true;
app.hidden = false;
render(<App />, app);

// Timeline: threads x time. A drag sets the time range for every view.
import { Fragment, h } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { NONE, phases, toc } from './chunks.js';
import { Canvas, Head, Name, Swatch, Switch, Tip, colourOf, elapsedS, useSize } from './parts.jsx';
import { Chart, Chosen, ticksOf, useDrag, useWheel, useZoom, zoomKey } from './chart.jsx';
import { waitsForCpu } from './gaps.js';
import { NAMED_COUNT, namedColour, workColour } from './palette.js';
import { entriesOf, threadName } from './threads.js';
import { addTo, elide, grouped, indices, largestFirst, percent, seconds, shorten, visible } from './format.js';
import { formatRanges, setParams } from './state.js';
import { Table } from './table.jsx';

// Room for threads' names, left of the picture.
export const roomFor = (width) => width < 560 ? 92 : 150;

// A time range in seconds as the address has it.
export function rangeText(a, b) {
	const clip = (t) => Math.min(Math.max(t, 0), elapsedS()).toFixed(6).replace(/\.?0+$/, '');
	return `${clip(Math.min(a, b))}-${clip(Math.max(a, b))}`;
}

// What records are coloured by: a class for each point, with names and colours.
function classes(d, agg, by) {
	const { points, places } = d;
	if (by === 'category')
		return {
			of: points.category,
			names: toc.categories,
			isUsed: (k) => agg.categories[k] > 0,
			colours: toc.categories.map(workColour),
		};
	const column = places[by === 'module' ? 'module' : by === 'loop' ? 'loop' : 'function'];
	const sums = new Map();
	for (let p = 0; p < points.rows; p++) {
		const key = column[points.place[p]];
		if (key !== NONE && key !== undefined)
			addTo(sums, key, points.cpu_ns[p]);
	}
	const top = largestFirst(sums).slice(0, NAMED_COUNT).map(([key]) => key);
	const rank = new Map(top.map((key, i) => [key, i]));
	const of = new Uint8Array(points.rows);
	for (let p = 0; p < points.rows; p++)
		of[p] = rank.get(column[points.place[p]]) ?? top.length;
	const name = { module: d.modules.name, loop: d.loops.label, function: d.functions.name }[by];
	return { of, isUsed: () => true, names: [...top.map((key) => name.at(key)), by === 'loop' ? 'in no loop, or another' : 'other'], colours: [...top.map((_, i) => namedColour(i)), namedColour(NAMED_COUNT)] };
}

// Rows of the picture: one a thread, or groups of threads where there are too many.
export function rowsOf(d, limit) {
	const order = indices(d.threads.rows);
	const group = Math.max(1, Math.ceil(order.length / limit));
	const rows = [];
	for (let i = 0; i < order.length; i += group)
		rows.push(order.slice(i, i + group));
	return rows;
}

// CPU time by row, column and class, and by row and column the time blocked and that without a CPU, in ns.
export function bins(d, records, waits, starved, rows, columns, t0, t1, classOf, classCount) {
	const unit = toc.time_unit_ns, perColumn = (t1 - t0) * 1e9 / columns;
	const rowOf = new Int32Array(d.threads.rows);
	rows.forEach((threads, row) => threads.forEach((t) => { rowOf[t] = row; }));
	const cpu = new Float32Array(rows.length * columns * classCount);
	const blocked = new Float32Array(rows.length * columns), waiting = new Float32Array(rows.length * columns);
	const base = t0 * 1e9;
	const spread = (target, row, stride, offset, from, to, weight) => {
		const first = Math.max(0, Math.floor(from)), last = Math.min(columns - 1, Math.floor(to));
		const density = to > from ? weight / (to - from) : 0;
		if (first === last || density === 0) {
			if (first >= 0 && first < columns && to >= 0)
				target[(row * columns + first) * stride + offset] += weight;
			return;
		}
		for (let c = first; c <= last; c++)
			target[(row * columns + c) * stride + offset] += density * (Math.min(to, c + 1) - Math.max(from, c));
	};
	for (let i = 0; i < records.rows; i++) {
		// A sample stands for the CPU time before it; merged ones for their slice.
		if (records.samples[i] === 0)
			continue; // left over at a thread's exit: nobody knows when it was used
		const cpuNs = records.cpu_us[i] * 1000, stamp = records.time[i] * unit;
		const from = toc.slice_ns ? stamp : stamp - cpuNs, to = toc.slice_ns ? stamp + toc.slice_ns : stamp;
		const x0 = (from - base) / perColumn, x1 = (to - base) / perColumn;
		if (x1 < 0 || x0 >= columns)
			continue;
		spread(cpu, rowOf[records.thread[i]], classCount, classOf[records.point[i]], x0, x1, cpuNs);
	}
	for (let i = 0; i < waits.rows; i++) {
		const from = waits.time[i] * unit, length = waits.duration[i] * unit;
		const x0 = (from - base) / perColumn, x1 = (from + length - base) / perColumn;
		if (x1 >= 0 && x0 < columns)
			spread(blocked, rowOf[waits.thread[i]], 1, 0, x0, x1, length);
	}
	for (let i = 0; i < starved.thread.length; i++) {
		const x0 = (starved.from[i] * unit - base) / perColumn, x1 = (starved.to[i] * unit - base) / perColumn;
		if (x1 >= 0 && x0 < columns)
			spread(waiting, rowOf[starved.thread[i]], 1, 0, x0, x1, (starved.to[i] - starved.from[i]) * unit * starved.share[i]);
	}
	return { cpu, blocked, waiting, perColumn };
}

function rgb(colour) {
	const value = parseInt(colour.slice(1), 16);
	return [value >> 16, value >> 8 & 255, value & 255];
}

export function Timeline({ d, agg, filter, records, waits, theme }) {
	const by = filter.params.by ?? 'category', table = filter.params.as === 'table';
	const whole = Math.max(elapsedS(), 1e-9), [view, setView] = useZoom(filter.params.z, (z) => setParams({ z }, true));
	const [t0, t1] = view.map((part) => part * whole), isZoomed = view[1] - view[0] < 1;
	const kinds = useMemo(() => classes(d, agg, by), [by]);
	const tools = <>
		<Switch label="Colour" value={by} options={[['category', 'Category'], ['module', 'Module'], ['function', 'Function'], ['loop', 'Loop']]} onChange={(v) => setParams({ by: v === 'category' ? null : v })} />
		{isZoomed ? <button class="plain" onClick={() => setView(0, 1)}>Show the whole run</button> : filter.time && <button class="plain" onClick={() => setView(filter.time[0] / whole, filter.time[1] / whole)}>Zoom to the range</button>}
		<button class="plain" onClick={() => setParams({ as: table ? null : 'table' })}>{table ? 'View as picture' : 'View as table'}</button>
	</>;
	return <>
		<Head title="Timeline" tools={tools}>drag over a stretch of time to filter every view; click a thread's name to keep it alone</Head>
		{toc.slice_ns > 0 && <p class="notice">This run has {grouped(toc.samples)} samples; the page holds them merged over slices of {seconds(toc.slice_ns)}, so time ranges round to that.</p>}
		{toc.stride > 1 && <p class="notice">This run has {grouped(toc.samples)} samples on very many call paths; under a filter, one of every {toc.stride} stands for its neighbours.</p>}
		{records.rows + waits.rows === 0 ? <section class="panel"><div class="empty">No samples were recorded.</div></section>
			: <Picture {...{ d, kinds, filter, records, waits, theme, t0, t1, table, view, setView }} />}
	</>;
}

// A thread's name and where it begins: whole, and in so many characters.
const labelText = ([name, entry]) => name + (entry ? ' · ' + entry : '');
const labelIn = ([name, entry], room) => {
	const left = room - name.length - 3;
	return entry && left >= 6 ? `${visible(name)} · ${shorten(visible(entry), left)}` : elide(visible(name), room);
};

function Picture({ d, kinds, filter, records, waits, theme, t0, t1, table, view, setView }) {
	const box = useRef();
	const [width] = useSize(box);
	const rows = useMemo(() => rowsOf(d, 512), []);
	const starved = useMemo(() => waitsForCpu(d.threads, records, waits, toc.time_unit_ns, toc.slice_ns), []);
	const entries = useMemo(() => entriesOf(d, records, waits), []);
	const labels = useMemo(() => rows.map(([t, ...more]) => [`${threadName(d, t)}${more.length ? ` +${more.length}` : ''}`, entries[t]]), []);
	const left = width < 700 ? roomFor(width) : Math.min(Math.max(roomFor(width), 16 + 6.6 * Math.max(...labels.map(labelText).map((l) => Math.min(l.length, 60)))), width / 4) | 0, columns = Math.max(1, Math.min(width - left - 8, 4096));
	const data = useMemo(() => bins(d, records, waits, starved, rows, columns, t0, t1, kinds.of, kinds.names.length), [columns, t0, t1, kinds]);
	const rowHeight = rows.length > 128 ? 6 : rows.length > 40 ? 11 : rows.length > 12 ? 17 : rows.length > 6 ? 26 : 36;
	const height = rows.length * rowHeight;
	const total = useMemo(() => usage(data, rows.length, columns, kinds.names.length, t0, t1), [data]);
	const range = (a, b) => setParams({ t: rangeText(a, b) });
	useWheel(box, view, setView, (x) => (x - left) / columns);
	const onKey = (e) => {
		if (!e.ctrlKey && !e.metaKey && !e.altKey && !table && zoomKey(e.key, view, setView)) {
			e.preventDefault();
			e.stopPropagation();
		}
	};
	return <>
		<section class="panel">
			<h2>CPUs in use <span class="dim">average over each column of the picture below</span></h2>
			<div style={{ marginLeft: left - 46 - 13 + 'px', marginRight: '-13px' }}><Chart data={total} series={[{ label: 'CPUs', colour: '--accent', fill: true, steps: true }]} height={110} xRange={[t0, t1]} xUnit=" s" onSelect={range} theme={theme} label="CPUs in use over time" /></div>
		</section>
		<section class="panel flush">
			<div class="canvas" ref={box} tabIndex={table ? undefined : 0} onKeyDown={onKey} aria-label="Timeline; plus and minus zoom, the arrow keys move, 0 shows the whole run" style={table ? { display: 'flex', flex: 'none', height: `min(40rem, ${rows.length * 24 + 40}px)` } : { maxHeight: 'max(22rem, 100vh - 27rem)' }}>
				{table ? <TimelineTable {...{ d, kinds, data, rows, columns, t0, t1 }} />
					: width > left + 20 && <Rows {...{ d, left, kinds, data, rows, labels, columns, rowHeight, height, filter, theme, t0, t1, range, records, waits }} />}
			</div>
			<div class="foot">{kinds.names.map((name, i) => kinds.isUsed(i) && <span key={i} class="name" title={visible(name)}><Swatch colour={kinds.colours[i]} /> {elide(visible(name), 40)}</span>)}
				{data.waiting.some((v) => v > 0) && <span title="The sum of a thread is the kernel's; it is laid over the times when the thread was on no CPU and in no traced call, the short ones first"><Swatch colour="--s-starved" /> waiting for a CPU</span>}
				<span><Swatch colour="--s-blocked" /> blocked in a traced call</span><span class="dim">height: share of the column · ctrl + wheel or + − zooms, shift + wheel moves</span></div>
		</section>
	</>;
}

function usage(data, rows, columns, classCount, t0, t1) {
	const x = new Float64Array(columns), y = new Float64Array(columns);
	for (let c = 0; c < columns; c++) {
		x[c] = t0 + (t1 - t0) * c / columns;
		let sum = 0;
		for (let r = 0; r < rows; r++)
			for (let k = 0; k < classCount; k++)
				sum += data.cpu[(r * columns + c) * classCount + k];
		y[c] = sum / data.perColumn;
	}
	// Columns narrower than a sampling period flicker between 0 and 1: smooth to what is known.
	const window = Math.ceil(Math.max(8e6 / data.perColumn, columns / 500));
	if (window <= 1)
		return [x, y];
	const smooth = new Float64Array(columns);
	for (let c = 0; c < columns; c++) {
		let sum = 0, n = 0;
		for (let k = Math.max(0, c - window); k <= Math.min(columns - 1, c + window); k++, n++)
			sum += y[k];
		smooth[c] = sum / n;
	}
	return [x, smooth];
}

function Rows({ d, left, kinds, data, rows, labels, columns, rowHeight, height, filter, theme, t0, t1, range, records, waits }) {
	const [hover, setHover] = useState(null);
	const n = kinds.names.length, AXIS = 22;
	const seconds_ = (x) => t0 + (t1 - t0) * Math.min(Math.max(x - left, 0), columns) / columns;
	const draw = (c, w, total) => {
		c.fillStyle = colourOf('--panel');
		c.fillRect(0, 0, w, total);
		c.drawImage(paint(data, rows.length, columns, n, kinds.colours, rowHeight, theme), left, AXIS, columns, height);
		c.fillStyle = colourOf('--dim');
		c.font = '11px system-ui, "DejaVu Sans", sans-serif';
		c.textBaseline = 'middle';
		if (rowHeight >= 11)
			rows.forEach((threads, i) => {
				const on = !filter.threads || filter.threads.has(threads[0]);
				c.globalAlpha = on ? 1 : 0.4;
				c.fillText(labelIn(labels[i], Math.floor((left - 14) / 6.4)), 10, AXIS + i * rowHeight + rowHeight / 2);
			});
		c.globalAlpha = 1;
		drawTicks(c, t0, t1, left, columns, AXIS);
		if (filter.phases && phases)
			rows.forEach((threads, i) => dimOthers(c, d.threads.process[threads[0]], filter.phases, (t) => left + Math.min(1, Math.max(0, (t - t0) / (t1 - t0))) * columns, AXIS + i * rowHeight, rowHeight));
		if (filter.time) {
			const x0 = left + (filter.time[0] - t0) / (t1 - t0) * columns, x1 = left + (filter.time[1] - t0) / (t1 - t0) * columns;
			c.fillStyle = colourOf('--panel');
			c.globalAlpha = 0.62;
			c.fillRect(left, AXIS, Math.max(0, x0 - left), height);
			c.fillRect(x1, AXIS, Math.max(0, left + columns - x1), height);
			c.globalAlpha = 1;
			c.fillStyle = colourOf('--accent');
			c.fillRect(x0, AXIS - 5, 1.5, height + 5);
			c.fillRect(x1, AXIS - 5, 1.5, height + 5);
		}
	};
	const [drag, events] = useDrag({
		can: (x) => x >= left,
		onEnd: (from, to) => range(seconds_(from), seconds_(to)),
		onClick: (x, y) => {
			const row = rows[Math.floor((y - AXIS) / rowHeight)];
			if (x < left && row)
				setParams({ th: filter.threads?.size === row.length && filter.threads.has(row[0]) ? null : formatRanges(new Set(row)) });
		},
		onMove: (x, y, e) => setHover(x >= 0 && x < left + columns && y >= AXIS && y < AXIS + height ? { p: [x, y - AXIS], at: [e.clientX, e.clientY] } : null),
	});
	return <>
		<div class="picture">
			<Canvas width={left + columns + 8} height={height + AXIS + 6} draw={draw} inputs={[data, kinds, filter, theme, rowHeight]} label={`Timeline of ${rows.length} rows; the same numbers are under "View as table"`} {...events} />
			{drag && <Chosen drag={drag} low={left} high={left + columns} top={AXIS} height={height} />}
		</div>
		{hover && hover.p[0] < left && labels[Math.floor(hover.p[1] / rowHeight)] && <Tip at={hover.at}>{visible(labelText(labels[Math.floor(hover.p[1] / rowHeight)]))}</Tip>}
		{hover && hover.p[0] >= left && <CellTip {...{ d, left, kinds, data, rows, labels, columns, hover, rowHeight, t0, t: seconds_(hover.p[0]), records, waits }} />}
	</>;
}

// Numbers of the first row of each thread, in a list by thread; and of the first row from a time on.
const firstRows = (list, threads) => {
	const first = new Uint32Array(threads + 1);
	for (let i = 0; i < list.rows; i++)
		first[list.thread[i] + 1]++;
	for (let t = 0; t < threads; t++)
		first[t + 1] += first[t];
	return first;
};

function firstFrom(times, low, high, time) {
	while (low < high) {
		const middle = (low + high) >> 1;
		if (times[middle] < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

// The call path that took most of [from, to) in units of records, of these threads: node and time; a
// sample stands for the time before it.
function pathAt(d, records, waits, firstOf, threads, from, to) {
	const sums = new Map();
	for (const t of threads.slice(0, 64)) {
		const end = firstOf.records[t + 1];
		for (let i = firstFrom(records.time, firstOf.records[t], end, from), left = 2000; i < end && left; i++, left--) {
			const cpu = toc.slice_ns ? records.cpu_us[i] : Math.min(to, records.time[i]) - Math.max(from, records.time[i] - records.cpu_us[i] * 1000 / toc.time_unit_ns);
			const node = d.points.node[records.point[i]];
			if (cpu > 0 && node !== NONE)
				addTo(sums, node, cpu);
			if (records.time[i] >= to)
				break;
		}
		const last = firstFrom(waits.time, firstOf.waits[t], firstOf.waits[t + 1], to);
		for (let i = Math.max(firstOf.waits[t], last - 8); i < last; i++) {
			const part = Math.min(to, waits.time[i] + waits.duration[i]) - Math.max(from, waits.time[i]);
			if (part > 0 && waits.node[i] !== NONE)
				addTo(sums, waits.node[i], part);
		}
	}
	return largestFirst(sums)[0]?.[0] ?? NONE;
}

const TIP_FRAMES = 8;

function Stack({ d, node }) {
	const names = [];
	for (let n = node; n !== NONE; n = d.nodes.parent[n])
		if (d.nodes.loop[n] === NONE && d.nodes.function[n] !== NONE)
			names.push(d.functions.name.at(d.nodes.function[n]));
	return names.length === 0 ? '' : <div style={{ marginTop: '.3rem' }}>{names.slice(0, TIP_FRAMES).map((name, i) => <div key={i} class={i ? 'dim mono' : 'mono'}>{i ? 'from ' : ''}{elide(visible(name), 64)}</div>)}
		{names.length > TIP_FRAMES && <div class="dim">and {names.length - TIP_FRAMES} more callers</div>}</div>;
}

function CellTip({ d, left, kinds, data, rows, labels, columns, hover, rowHeight, t0, t, records, waits }) {
	const firstOf = useMemo(() => ({ records: firstRows(records, d.threads.rows), waits: firstRows(waits, d.threads.rows) }), [records, waits]);
	const row = Math.floor(hover.p[1] / rowHeight), column = Math.min(columns - 1, Math.floor(hover.p[0] - left));
	if (!rows[row])
		return null;
	const n = kinds.names.length, cell = row * columns + column, whole = data.perColumn * rows[row].length;
	const from = (t0 * 1e9 + column * data.perColumn) / toc.time_unit_ns;
	const parts = largestFirst(kinds.names.map((name, k) => [name, data.cpu[cell * n + k]]).filter(([, v]) => v > 0));
	return <Tip at={hover.at}><div><b>{visible(labelText(labels[row]))}</b></div>
		<div class="dim">at {t.toPrecision(5)} s, over {seconds(data.perColumn)}</div>
		{parts.slice(0, 5).map(([name, v], i) => <div key={i}>{elide(visible(name), 60)} {percent(Math.min(1, v / whole))}</div>)}
		{data.waiting[cell] > 0 && <div>waiting for a CPU {percent(Math.min(1, data.waiting[cell] / whole))}</div>}
		{data.blocked[cell] > 0 && <div>blocked {percent(Math.min(1, data.blocked[cell] / whole))}</div>}
		{parts.length === 0 && !data.blocked[cell] && !data.waiting[cell] && <div>not on a CPU</div>}
		<Stack d={d} node={pathAt(d, records, waits, firstOf, rows[row], from, from + data.perColumn / toc.time_unit_ns)} />
	</Tip>;
}

// One off-screen picture, a pixel a cell, stretched by the caller.
function paint(data, rows, columns, n, variables, rowHeight) {
	const image = new ImageData(columns, rows * rowHeight), pixels = new Uint32Array(image.data.buffer);
	const word = (variable) => { const [r, g, b] = rgb(colourOf(variable)); return 0xff000000 | b << 16 | g << 8 | r; };
	const colours = variables.map(word), empty = word('--sunken'), blocked = word('--s-blocked'), waiting = word('--s-starved');
	for (let r = 0; r < rows; r++)
		for (let c = 0; c < columns; c++) {
			const cell = r * columns + c;
			let best = 0, sum = 0;
			for (let k = 0; k < n; k++) {
				const v = data.cpu[cell * n + k];
				sum += v;
				if (v > data.cpu[cell * n + best])
					best = k;
			}
			const inner = Math.max(1, rowHeight - (rowHeight > 8 ? 2 : 1));
			const busy = Math.min(inner, Math.round(sum / data.perColumn * inner)) || (sum > 0 ? 1 : 0);
			const starved = busy + Math.round(data.waiting[cell] / data.perColumn * inner), wait = starved + Math.round(data.blocked[cell] / data.perColumn * inner);
			for (let y = 0; y < inner; y++) {
				const fromBottom = inner - 1 - y;
				pixels[(r * rowHeight + y) * columns + c] = fromBottom < busy ? colours[best] : fromBottom < starved ? waiting : fromBottom < wait ? blocked : empty;
			}
		}
	const canvas = document.createElement('canvas');
	canvas.width = columns;
	canvas.height = rows * rowHeight;
	canvas.getContext('2d').putImageData(image, 0, 0);
	return canvas;
}

// Pales the intervals of a process that are not of the phases kept.
function dimOthers(c, process, kept, x, y, height) {
	const ribbon = phases.ribbons.find((r) => r.process === process), unit = phases.interval_ns / 1e9;
	let from = ribbon?.first;
	c.fillStyle = colourOf('--panel');
	c.globalAlpha = 0.68;
	for (let i = 0; i < ribbon?.runs.length; i += 2) {
		const to = from + ribbon.runs[i + 1];
		if (!kept.has(ribbon.runs[i]))
			c.fillRect(x(from * unit), y, x(to * unit) - x(from * unit), height);
		from = to;
	}
	c.globalAlpha = 1;
}

export function drawTicks(c, t0, t1, left, columns, axis) {
	c.fillStyle = colourOf('--dim');
	for (const t of ticksOf(t0, t1, columns / 110)) {
		const x = left + (t - t0) / (t1 - t0) * columns;
		c.fillRect(x, axis - 4, 1, 4);
		if (x < left + columns - 30)
			c.fillText(`${t} s`, x + 3, axis - 11);
	}
}

function TimelineTable({ d, kinds, data, rows, columns }) {
	const n = kinds.names.length;
	const list = useMemo(() => rows.map((threads, r) => {
		const sums = new Float64Array(n);
		let blocked = 0, waiting = 0;
		for (let c = 0; c < columns; c++) {
			for (let k = 0; k < n; k++)
				sums[k] += data.cpu[(r * columns + c) * n + k];
			blocked += data.blocked[r * columns + c];
			waiting += data.waiting[r * columns + c];
		}
		return { r, threads, sums, blocked, waiting, total: sums.reduce((a, b) => a + b, 0) };
	}), [data]);
	const columnsOf = [
		{ key: 'thread', title: 'Thread', width: 'minmax(12rem, 1fr)', least: 190, sortable: false, render: (row) => <Name text={threadName(d, row.threads[0]) + (row.threads.length > 1 ? ` +${row.threads.length - 1}` : '')} /> },
		{ key: 'cpu', title: 'CPU', num: true, width: '7rem', sortable: false, render: (row) => seconds(row.total) },
		...kinds.names.map((name, k) => kinds.isUsed(k) && { key: 'k' + k, title: elide(visible(name), 18), num: true, width: '7rem', sortable: false, render: (row) => row.sums[k] > 0 ? seconds(row.sums[k]) : '' }).filter(Boolean),
		{ key: 'waiting', title: 'No CPU', help: 'waiting for a CPU', num: true, width: '7rem', sortable: false, render: (row) => row.waiting > 0 ? seconds(row.waiting) : '' },
		{ key: 'blocked', title: 'Blocked', num: true, width: '7rem', sortable: false, render: (row) => row.blocked > 0 ? seconds(row.blocked) : '' },
	];
	return <Table label="Time of threads in the range shown" columns={columnsOf} rows={list} rowKey={(row) => row.r} />;
}

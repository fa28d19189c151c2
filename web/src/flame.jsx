// Flame graph: call paths merged by function, from the roots down or from the leaves up.
import { Fragment, h } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { NONE, toc } from './chunks.js';
import { Canvas, Head, Name, Swatch, Switch, Tip, colourOf, useSize, place } from './parts.jsx';
import { useWheel, useZoom, zoomKey } from './chart.jsx';
import { NAMED_COUNT, inkOn, mix, namedColour, workColour } from './palette.js';
import { elide, grouped, indices, percent, seconds, shorten, visible } from './format.js';
import { go, setParams } from './state.js';
import { Table } from './table.jsx';

const BAR = 19;
const BLOCKED = 255; // beside the categories
const KINDS = (toc.categories?.length ?? 0) + 1;

// A merged tree as parallel arrays: entity (function, or functions + loop), value, parent, children.
export class Tree {
	constructor(entities) {
		this.entities = entities;
		this.index = new Map();
		this.parent = [-1];
		this.entity = [-1];
		this.value = [0];
		this.sums = new Array(KINDS).fill(0); // by node and kind of work
	}
	child(parent, entity) {
		const key = parent * (this.entities + 1) + entity;
		let node = this.index.get(key);
		if (node === undefined) {
			node = this.parent.length;
			this.index.set(key, node);
			this.parent.push(parent);
			this.entity.push(entity);
			this.value.push(0);
			for (let k = 0; k < KINDS; k++)
				this.sums.push(0);
		}
		return node;
	}
	// The category that brings most to a node colours it.
	weigh(node, value, category) {
		this.value[node] += value;
		this.sums[node * KINDS + (category === BLOCKED ? KINDS - 1 : category)] += value;
	}
	finish() {
		this.children = Array.from({ length: this.parent.length }, () => []);
		for (let i = 1; i < this.parent.length; i++)
			this.children[this.parent[i]].push(i);
		for (const list of this.children)
			list.sort((a, b) => this.value[b] - this.value[a] || this.entity[a] - this.entity[b]);
		this.category = this.parent.map((_, node) => {
			let best = 0;
			for (let k = 1; k < KINDS; k++)
				if (this.sums[node * KINDS + k] > this.sums[node * KINDS + best])
					best = k;
			return best === KINDS - 1 ? BLOCKED : best;
		});
		this.index = this.sums = null;
		return this;
	}
}

// Values by node of the call tree: CPU time of its points and, for wall time, blocked time.
function leaves(d, agg, wall) {
	const { points, nodes } = d, list = [];
	for (let p = 0; p < points.rows; p++)
		if (agg.pointNs[p] > 0 && points.node[p] !== NONE)
			list.push([points.node[p], agg.pointNs[p], points.category[p]]);
	if (wall && agg.waits)
		for (let n = 0; n < nodes.rows; n++)
			if (agg.waits.nodeWait[n] > 0)
				list.push([n, agg.waits.nodeWait[n], BLOCKED]);
	return list;
}

export function buildTree(d, agg, { up, wall, loops }) {
	const { nodes, functions } = d;
	const tree = new Tree(functions.rows + d.loops.rows + 1);
	const unknown = functions.rows + d.loops.rows;
	const entityOf = (node) => nodes.loop[node] !== NONE ? functions.rows + nodes.loop[node]
		: nodes.function[node] !== NONE ? nodes.function[node] : unknown;
	const shown = (node) => loops || nodes.loop[node] === NONE;
	const list = leaves(d, agg, wall);
	if (up) {
		for (const [node, value, category] of list) {
			let at = 0;
			tree.weigh(0, value, category);
			for (let n = node; n !== NONE; n = nodes.parent[n])
				if (shown(n)) {
					at = tree.child(at, entityOf(n));
					tree.weigh(at, value, category);
				}
		}
		return tree.finish();
	}
	const merged = new Int32Array(nodes.rows);
	for (let n = 0; n < nodes.rows; n++) {
		const parent = nodes.parent[n] === NONE ? 0 : merged[nodes.parent[n]];
		merged[n] = shown(n) && (agg.nodeIncl[n] > 0 || wall) ? tree.child(parent, entityOf(n)) : parent;
	}
	for (const [node, value, category] of list)
		for (let at = merged[node]; at >= 0; at = tree.parent[at])
			tree.weigh(at, value, category);
	return tree.finish();
}

export function entityName(d, entity) {
	if (entity < 0)
		return 'all';
	if (entity < d.functions.rows)
		return d.functions.name.at(entity);
	if (entity < d.functions.rows + d.loops.rows)
		return 'loop ' + d.loops.label.at(entity - d.functions.rows);
	return 'unknown';
}

// Boxes to draw: the path to `root` at full width, below it its descendants wide enough to see. Of the
// width only [low, high] is in view.
export function layout(tree, root, width, low = 0, high = 1) {
	const boxes = [], path = [];
	for (let at = root; at >= 0; at = tree.parent[at])
		path.unshift(at);
	path.forEach((node, depth) => boxes.push({ node, x: 0, w: width, depth }));
	const scale = tree.value[root] > 0 ? width / tree.value[root] / (high - low) : 0;
	const open = [[root, -low * width / (high - low), path.length - 1]];
	let depthMax = path.length - 1;
	while (open.length) {
		const [node, x0, depth] = open.pop();
		let x = x0;
		for (const child of tree.children[node]) {
			const w = tree.value[child] * scale;
			if (w < 0.4)
				break; // children are sorted: the rest is smaller still
			if (x < width && x + w > 0) {
				boxes.push({ node: child, x, w, depth: depth + 1 });
				depthMax = Math.max(depthMax, depth + 1);
				open.push([child, x, depth + 1]);
			}
			x += w;
		}
	}
	return { boxes, rows: depthMax + 1 };
}

function pathOf(d, tree, node) {
	const names = [];
	for (let at = node; at > 0; at = tree.parent[at])
		names.push(entityName(d, tree.entity[at]));
	return names;
}

// A node as the entities on the way to it, for the address: it is found again in another tree, or what is left of the way.
const wayTo = (tree, node) => {
	const way = [];
	for (let at = node; at > 0; at = tree.parent[at])
		way.unshift(tree.entity[at]);
	return way.join('.') || null;
};

function nodeOf(tree, way) {
	let at = 0;
	for (const entity of way ? way.split('.').map(Number) : []) {
		const next = tree.children[at].find((child) => tree.entity[child] === entity);
		if (next === undefined)
			break;
		at = next;
	}
	return at;
}

export function Flame({ d, agg, filter, theme, matcher }) {
	const { params } = filter;
	const up = params.dir === 'up', wall = params.time === 'wall', loops = params.loops !== '0';
	const table = params.as === 'table';
	const colourBy = params.by ?? 'category';
	const tree = useMemo(() => buildTree(d, agg, { up, wall, loops }), [agg, up, wall, loops]);
	const matched = useMemo(() => {
		if (!matcher)
			return null;
		const hit = new Uint8Array(tree.parent.length);
		let sum = 0;
		for (let i = 1; i < hit.length; i++) { // parents come first
			const self = matcher.test(entityName(d, tree.entity[i]));
			const above = hit[tree.parent[i]] > 0;
			hit[i] = self ? 1 : above ? 2 : 0;
			if (self && !above)
				sum += tree.value[i];
		}
		return { hit, sum };
	}, [tree, matcher]);
	const tools = <>
		<Switch label="Direction" value={up ? 'up' : 'down'} options={[['down', 'Top-down'], ['up', 'Bottom-up']]} onChange={(v) => setParams({ dir: v === 'up' ? 'up' : null, root: null })} />
		<Switch label="Time" value={wall ? 'wall' : 'cpu'} options={[['cpu', 'CPU time'], ['wall', 'CPU + blocked']]} onChange={(v) => setParams({ time: v === 'wall' ? 'wall' : null, root: null })} />
		<Switch label="Colour" value={colourBy} options={[['category', 'By category'], ['module', 'By module']]} onChange={(v) => setParams({ by: v === 'category' ? null : v })} />
		<button class="plain" aria-pressed={loops} onClick={() => setParams({ loops: loops ? '0' : null, root: null })}>{loops ? 'Hide loops' : 'Show loops'}</button>
		<button class="plain" onClick={() => setParams({ as: table ? null : 'table' })}>{table ? 'View as graph' : 'View as table'}</button>
	</>;
	return <>
		<Head title="Flame graph" tools={tools}>{up ? 'leaves at the top, callers below' : 'callers at the top, callees below'} · width is {wall ? 'CPU and blocked' : 'CPU'} time, {seconds(tree.value[0])} in all{wall && agg.waits?.idleThreads ? ` (without ${seconds(agg.waits.idle)} of ${grouped(agg.waits.idleThreads)} ${agg.waits.idleThreads === 1 ? 'thread' : 'threads'} that only slept, as on Global)` : ''}{matched ? ` · ${percent(matched.sum / tree.value[0])} on matching paths` : ''}</Head>
		{toc.folded_share > 0 && <p class="notice">This run has more call paths than the page holds: {percent(toc.folded_share)} of the time lies on paths whose inner frames are left out here and count for the last frame shown. <span class="mono">sonde show tree</span> has them all.</p>}
		<section class="panel flush fill">{tree.value[0] === 0 ? <div class="empty">No time to show under this filter.</div>
			: table ? <FlameTable d={d} tree={tree} matched={matched} />
				: <FlameCanvas key={`${up}${wall}${loops}`} d={d} tree={tree} matched={matched} colourBy={colourBy} theme={theme} zoom={params.root ?? null} setZoom={(way, isPart) => setParams({ root: way }, isPart)} />}</section>
	</>;
}

function FlameTable({ d, tree, matched }) {
	const [closed, setClosed] = useState(new Set());
	const rows = useMemo(() => {
		const list = [], open = [[1, 0]];
		open.pop();
		for (const child of [...tree.children[0]].reverse())
			open.push([child, 0]);
		while (open.length && list.length < 200000) {
			const [node, depth] = open.pop();
			list.push({ node, depth });
			if (!closed.has(node) && (depth < 3 || closed.has(~node)))
				for (const child of [...tree.children[node]].reverse())
					open.push([child, depth + 1]);
		}
		return list;
	}, [tree, closed]);
	const isOpen = (row) => tree.children[row.node].length === 0 ? undefined : !closed.has(row.node) && (row.depth < 3 || closed.has(~row.node));
	const toggle = (row) => {
		const next = new Set(closed);
		if (isOpen(row)) {
			next.add(row.node);
			next.delete(~row.node);
		} else {
			next.delete(row.node);
			next.add(~row.node);
		}
		setClosed(next);
	};
	const columns = [
		{ key: 'name', title: 'Call path', width: 'minmax(20rem, 1fr)', least: 280, className: 'mono', sortable: false, render: (r) => <span style={{ paddingLeft: `${r.depth * 0.9}rem` }}><button class="twist" tabIndex={-1} onClick={() => toggle(r)}>{isOpen(r) === undefined ? '' : isOpen(r) ? '▾' : '▸'}</button><span class={matched?.hit[r.node] === 1 ? 'hit' : ''}><Name text={entityName(d, tree.entity[r.node])} /></span></span> },
		{ key: 'time', title: 'Time', num: true, width: '7rem', sortable: false, render: (r) => seconds(tree.value[r.node]) },
		{ key: 'share', title: 'Share', num: true, width: '8rem', sortable: false, render: (r) => percent(tree.value[r.node] / tree.value[0]) },
	];
	return <Table label="Call paths" columns={columns} rows={rows} rowKey={(r) => r.node} tree={{ depth: (r) => r.depth, isOpen, toggle }} />;
}

// heat(node): [colour, strength] in place of category or module; legend, tip, say: what goes with it.
// zoom, setZoom: the way to the node that fills the width and, after a *, the part of it in view, kept by
// the caller; else kept here.
export function FlameCanvas({ d, tree, matched, colourBy, theme, heat, legend, tip, say, zoom, setZoom }) {
	const box = useRef();
	const [width, height] = useSize(box);
	const [own, setOwn] = useState(null);
	const [hover, setHover] = useState(null);
	const [way, part] = ((setZoom ? zoom : own) ?? '').split('*');
	const keep = (node, text) => (setZoom ?? setOwn)([wayTo(tree, node) ?? '', text].filter((s, i) => !i || s).join('*') || null, !!text);
	const setRoot = (node) => keep(node);
	const at = useMemo(() => nodeOf(tree, way), [tree, way]);
	const [view, setView] = useZoom(part, (text) => keep(at, text));
	const change = (low, high) => high - low >= 1 && view[1] - view[0] >= 1 && at > 0 ? setRoot(tree.parent[at]) : setView(low, high);
	const plan = useMemo(() => layout(tree, at, Math.max(1, width), ...view), [tree, at, width, view]);
	useWheel(box, view, change, (x) => x / width);
	const moduleRank = useMemo(() => {
		if (heat)
			return null;
		const order = indices(d.modules.rows).sort((a, b) => d.modules.cpu_ns[b] - d.modules.cpu_ns[a]);
		const colours = {};
		order.forEach((m, i) => { colours[m] = i; });
		return colours;
	}, []);
	const variableOf = (node) => {
		const entity = tree.entity[node];
		if (colourBy === 'module') {
			const f = entity < d.functions.rows ? entity : entity < d.functions.rows + d.loops.rows ? d.loops.function[entity - d.functions.rows] : NONE;
			return namedColour(f === NONE ? NAMED_COUNT : moduleRank[d.functions.module[f]] ?? NAMED_COUNT);
		}
		return tree.category[node] === BLOCKED ? '--s-blocked' : workColour(toc.categories[tree.category[node]]);
	};
	const draw = (c) => {
		const palette = {}, shades = {}, panel = colourOf('--panel');
		c.fillStyle = panel;
		c.fillRect(0, 0, width, plan.rows * BAR + 8);
		c.font = '11.5px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';
		c.textBaseline = 'middle';
		const char = c.measureText('m').width;
		for (const { node, x, w, depth } of plan.boxes) {
			const [variable, strength] = node === 0 ? ['--line-strong'] : heat ? heat(node) : [variableOf(node)];
			palette[variable] ??= colourOf(variable);
			const entity = tree.entity[node];
			const isLoop = entity >= d.functions.rows && entity < d.functions.rows + d.loops.rows;
			// Shades vary with the name so that neighbours can be told apart.
			const alpha = matched && matched.hit[node] !== 1 ? 0.22 : strength ?? (isLoop ? 0.68 : 0.93 + ((entity * 7919) % 7) / 100);
			const fill = mix(palette[variable], panel, alpha), left = Math.max(x, 0), right = Math.min(x + w, width);
			c.fillStyle = fill;
			c.fillRect(left, depth * BAR, Math.max(0.5, right - left - (w > 3 ? 0.7 : 0)), BAR - 1);
			const room = Math.floor((right - left - 8) / char);
			if (room >= 3) {
				c.fillStyle = shades[fill] ??= inkOn(fill, inkOn(palette[variable]));
				c.fillText(shorten(visible(entityName(d, entity)), room), left + 4, depth * BAR + BAR / 2);
			}
		}
	};
	const find = (event) => {
		const rect = event.currentTarget.getBoundingClientRect();
		const x = event.clientX - rect.left, depth = Math.floor((event.clientY - rect.top) / BAR);
		return plan.boxes.find((b) => b.depth === depth && x >= b.x && x < b.x + b.w);
	};
	const open = (node) => {
		if (heat)
			return;
		const entity = tree.entity[node];
		if (entity >= 0 && entity < d.functions.rows)
			go('source', `f${entity}`);
		else if (entity >= d.functions.rows && entity < d.functions.rows + d.loops.rows)
			go('loop', d.loops.id.at(entity - d.functions.rows));
	};
	const onKey = (event) => {
		const list = tree.children[at], siblings = at > 0 ? tree.children[tree.parent[at]] : [];
		const i = siblings.indexOf(at);
		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		const isPart = view[1] - view[0] < 1;
		if (event.key === 'Escape' && (at !== 0 || isPart))
			setRoot(0);
		else if ((isPart || !event.key.startsWith('Arrow')) && zoomKey(event.key, view, change))
			;
		else if ((event.key === 'j' || event.key === 'ArrowDown') && list.length)
			setRoot(list[0]);
		else if ((event.key === 'k' || event.key === 'ArrowUp') && at > 0)
			setRoot(tree.parent[at]);
		else if ((event.key === 'l' || event.key === 'ArrowRight') && i + 1 < siblings.length)
			setRoot(siblings[i + 1]);
		else if ((event.key === 'h' || event.key === 'ArrowLeft') && i > 0)
			setRoot(siblings[i - 1]);
		else if (event.key === 'Enter')
			open(at);
		else
			return;
		event.preventDefault();
		event.stopPropagation();
	};
	const used = new Set(plan.boxes.slice(0, 400).map((b) => b.node).filter((n) => n > 0).map((n) => colourBy === 'module' ? variableOf(n) : tree.category[n]));
	const modules = !heat && colourBy === 'module' ? Object.entries(moduleRank).filter(([, rank]) => rank < NAMED_COUNT && used.has(namedColour(rank))).sort((a, b) => a[1] - b[1]) : [];
	return <>
		<div class="canvas" ref={box} tabIndex={0} onKeyDown={onKey} aria-label={`Flame graph, at ${visible(entityName(d, tree.entity[at]))}; arrow keys move, plus and minus zoom, Enter opens, Escape goes back to all`}>
			<Canvas width={width} height={Math.max(height - 2, plan.rows * BAR + 8)} draw={draw} inputs={[plan, matched, theme, colourBy, heat]}
				label={`Flame graph of ${plan.boxes.length} boxes; the same numbers are under "View as table"`}
				onMouseMove={(e) => { const b = find(e); setHover(b ? { node: b.node, at: [e.clientX, e.clientY] } : null); }}
				onMouseLeave={() => setHover(null)}
				onClick={(e) => { const b = find(e); if (b) setRoot(b.node); }}
				onDblClick={(e) => { const b = find(e); if (b) open(b.node); }} />
		</div>
		<div class="foot">
			{legend}{colourBy === 'category' && [...used].sort((a, b) => a - b).map((k) => <span key={k}><Swatch colour={k === BLOCKED ? '--s-blocked' : workColour(toc.categories[k])} /> {k === BLOCKED ? 'blocked' : toc.categories[k]}</span>)}
			{modules.map(([m, rank]) => <span key={m}><Swatch colour={namedColour(rank)} /> <Name text={d.modules.name.at(+m)} /></span>)}{used.has(namedColour(NAMED_COUNT)) && <span><Swatch colour={namedColour(NAMED_COUNT)} /> others</span>}
			<span>{at > 0 || view[1] - view[0] < 1 ? <>zoomed to <b><Name text={shorten(entityName(d, tree.entity[at]), 60)} /></b>, {percent(tree.value[at] / tree.value[0])} · {view[1] - view[0] < 1 ? `${percent(view[1] - view[0])} of its width in view · ` : ''}<button class="plain" onClick={() => setRoot(0)}>back to all (Esc)</button></> : heat ? 'click or ctrl + wheel zooms' : 'click or ctrl + wheel zooms, shift + wheel moves, double click opens the source'}</span>
		</div>
		{hover && <FlameTip d={d} tree={tree} hover={hover} root={at} tip={tip} say={say} />}
	</>;
}

function FlameTip({ d, tree, hover, root, tip, say }) {
	const { node } = hover, entity = tree.entity[node];
	const callers = pathOf(d, tree, node).slice(1, 7);
	const f = !tip && entity >= 0 && entity < d.functions.rows ? entity : NONE;
	return <Tip at={hover.at}>
		<div><b class="mono">{elide(visible(entityName(d, entity)), 240)}</b></div>
		<div>{seconds(tree.value[node])} · {percent(tree.value[node] / tree.value[0])} of all{root > 0 ? ` · ${percent(tree.value[node] / tree.value[root])} of what is shown` : ''}</div>
		{say && <div>{say(node)}</div>}{tip?.(node)}
		{f !== NONE && <div class="dim">{d.modules.name.at(d.functions.module[f])}{d.functions.file[f] !== NONE ? ` · ${place(d, d.functions.file[f], d.functions.line[f])}` : ''}</div>}
		{callers.map((name, i) => <div key={i} class="dim mono">{i === 0 ? 'from ' : '     '}{elide(visible(name), 70)}</div>)}
	</Tip>;
}

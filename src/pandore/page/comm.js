/* Communication graphs: chosen, grouped and drawn as sonde comm does it (graph.c, draw.c). */

const LABELLED = 10, DRAWN = 400, FOCUSABLE = 120;
const NAME_MOST = 26; /* characters of a name in a box */

/* The end of a long name: call paths end with the call. */
function boxName(name) {
	return name.length > NAME_MOST ? '…' + name.slice(1 - NAME_MOST) : name;
}

function natural(a, b) {
	return a.localeCompare(b, 'en', { numeric: true });
}

/* The arcs of one profile under the view, as sonde comm --format json prints them. */
/* Of a program of MPI: nodes are ranks, variables functions. */
const isOfRanks = (profile) => profile.scheme === 'MPI';

function arcsOf(profile, view) {
	const found = new Map(), node = isOfRanks(profile) ? 'rank' : 'node', at = isOfRanks(profile) ? '@' : '';
	for (const t of profile.traffic) {
		if ((view.phase !== '' && profile.phases[t.phase] !== view.phase) ||
			(view.zone !== '' && (t.zone < 0 || profile.zones[t.zone].zone !== view.zone)) ||
			view.hiddenNodes.has(t.from) || view.hiddenNodes.has(t.to) || view.hiddenVariables.has(t.source) ||
			(!t.broadcast && view.hiddenVariables.has(t.target)))
			continue;
		const byNode = view.by === 'node', byVariable = view.by === 'variable';
		const arc = {
			broadcast: t.broadcast && !byNode,
			source: byNode ? `${node} ${t.from}` : byVariable ? t.source : t.source + at + t.from,
			target: byNode ? `${node} ${t.to}` : byVariable || t.broadcast ? t.target : t.target + at + t.to,
			sourceRow: byNode ? '' : t.source, targetRow: byNode ? '' : t.target,
			from: byVariable ? -1 : t.from, to: byVariable || (t.broadcast && !byNode) ? -1 : t.to,
			messages: 0, bytes: 0, wait_s: 0, lines: new Set(),
		};
		const key = `${arc.broadcast} ${arc.source} ${arc.from} ${arc.target} ${arc.to}`;
		if (!found.has(key))
			found.set(key, arc);
		const kept = found.get(key);
		kept.messages += t.messages;
		kept.bytes += t.bytes;
		kept.wait_s += t.wait_s;
		kept.lines.add(t.line);
	}
	const order = (a, b) => a.broadcast - b.broadcast || natural(a.sourceRow, b.sourceRow) || a.from - b.from ||
		natural(a.targetRow, b.targetRow) || a.to - b.to;
	return [...found.values()].sort(order);
}

function valueText(arc, view) {
	return view.value === 'wait_s' ? seconds(arc.wait_s) : grouped(arc[view.value]);
}

function sentence(arc) {
	const lines = [...arc.lines].sort((a, b) => a - b);
	return `${arc.source} → ${arc.target}${arc.broadcast ? ' (broadcast)' : ''}: ${grouped(arc.messages)} messages, ` +
		`${grouped(arc.bytes)} bytes, the receiver waited ${seconds(arc.wait_s)}; line${lines.length > 1 ? 's' : ''} ${lines.join(', ')}`;
}

/* Rows are variables, targets above sources as the paper draws V over A; columns are nodes. What no node
 * parts stands in lines. */
function layoutOf(arcs) {
	const rows = [], columns = [];
	const note = (list, item) => list.includes(item) || list.push(item);
	arcs.filter((a) => a.targetRow !== a.sourceRow).forEach((a) => note(rows, a.targetRow));
	arcs.forEach((a) => { note(rows, a.sourceRow); note(rows, a.targetRow); });
	arcs.forEach((a) => { note(columns, a.from); note(columns, a.to); });
	const nodes = columns.filter((c) => c >= 0).sort((a, b) => a - b);
	const ring = rows.length === 1 && nodes.length > 5;
	const longest = Math.max(0, ...arcs.map((a) => [boxName(a.source).length, boxName(a.target).length]).flat());
	const pitch = Math.max(92, longest * 7.4 + 34);
	const perLine = !nodes.length && rows.length > 5 ? Math.max(1, Math.floor(1100 / pitch)) : 1, lines = Math.ceil(rows.length / perLine);
	const isApart = pitch > 92 && nodes.length && columns.includes(-1); /* room for what no node has, beside them */
	const width = ring ? 460 : (Math.max(perLine, nodes.length) + (isApart ? 1 : 0)) * pitch + 70, height = ring ? 420 : (lines - 1) * 118 + 130;
	const place = (row, column) => {
		const at = nodes.indexOf(column);
		if (ring) {
			const angle = 2 * Math.PI * at / nodes.length - Math.PI / 2;
			return [width / 2 + 180 * Math.cos(angle), height / 2 + 165 * Math.sin(angle)];
		}
		if (perLine > 1)
			return [35 + pitch / 2 + rows.indexOf(row) % perLine * pitch, 65 + Math.floor(rows.indexOf(row) / perLine) * 118];
		return [at < 0 ? (isApart ? width - 35 - pitch / 2 : width / 2) : 35 + pitch / 2 + at * pitch, 65 + rows.indexOf(row) * 118];
	};
	return { width, height, place };
}

/* The first of the points at which a text neither covers a box nor another text; it is noted as taken. */
function freePlace(points, text, taken) {
	const width = text.length * 5.8;
	const place = points.find(([x, y]) => !taken.some((t) => Math.abs(t.x - x) < (t.width + width) / 2 && Math.abs(t.y - y) < (t.height + 11) / 2));
	if (place)
		taken.push({ x: place[0], y: place[1], width, height: 11 });
	return place;
}

/* taken: what labels must not cover; null: no labels. */
function drawArc(svg, arc, layout, view, share, taken) {
	const [ax, ay] = layout.place(arc.sourceRow, arc.from), [bx, by] = layout.place(arc.targetRow, arc.to);
	const dx = bx - ax, dy = by - ay, length = Math.hypot(dx, dy);
	const group = add(svg, 'g', { class: 'arc' + (arc.broadcast ? ' broadcast' : ''), role: 'button', 'aria-label': sentence(arc) });
	add(group, 'title', {}, sentence(arc));
	let path, points;
	if (length < 1) { /* within one box */
		path = `M${ax - 10} ${ay - 13}C${ax - 26} ${ay - 52} ${ax + 26} ${ay - 52} ${ax + 10} ${ay - 13}`;
		points = [[ax, ay - 46]];
	} else {
		/* leaves and enters at the edge of the boxes, bent to its right, so that both directions are seen */
		const bend = arc.sourceRow === arc.targetRow && ay === by ? 22 + 0.18 * length : 12 + 0.11 * length, cx = (ax + bx) / 2 - dy / length * -bend, cy = (ay + by) / 2 - dx / length * bend;
		const edge = (x, y) => {
			const ux = cx - x, uy = cy - y, scale = Math.min(24 / Math.abs(ux || 1e-9), 15 / Math.abs(uy || 1e-9), 1);
			return [x + ux * scale, y + uy * scale];
		};
		const [x0, y0] = edge(ax, ay), [x1, y1] = edge(bx, by);
		path = `M${x0.toFixed(1)} ${y0.toFixed(1)}Q${cx.toFixed(1)} ${cy.toFixed(1)} ${x1.toFixed(1)} ${y1.toFixed(1)}`;
		const point = (at) => [(1 - at) ** 2 * x0 + 2 * at * (1 - at) * cx + at * at * x1, (1 - at) ** 2 * y0 + 2 * at * (1 - at) * cy + at * at * y1 - 3];
		points = [arc.sourceRow === arc.targetRow ? 0.5 : 0.27, 0.4, 0.6, 0.73, 0.2, 0.8].map(point);
	}
	add(group, 'path', { class: 'hit', d: path });
	add(group, 'path', { d: path, 'stroke-width': (0.7 + 4 * share).toFixed(2), 'marker-end': 'url(#tip)' });
	const place = taken && freePlace(points, valueText(arc, view), taken);
	if (place)
		add(group, 'text', { x: place[0].toFixed(1), y: place[1].toFixed(1) }, valueText(arc, view));
	return group;
}

function drawGraph(parent, arcs, view, largest, choose) {
	const shown = arcs.filter((a) => a[view.value] >= largest * view.least / 100).sort((a, b) => b[view.value] - a[view.value]).slice(0, DRAWN);
	const layout = layoutOf(shown);
	const svg = add(add(parent, 'div', { class: 'drawing' }), 'svg', { class: 'graph', viewBox: `0 0 ${layout.width} ${layout.height}`, width: layout.width, role: 'group',
		'aria-label': `graph of ${shown.length} arcs; the table has the same numbers` });
	const tip = add(add(svg, 'defs'), 'marker', { id: 'tip', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 9, markerHeight: 9,
		markerUnits: 'userSpaceOnUse', orient: 'auto' });
	add(tip, 'path', { class: 'tip', d: 'M0 0L8 4L0 8z' });
	const boxes = new Map(), halfWidth = (name) => Math.max(23, boxName(name).length * 3.7 + 6);
	shown.forEach((arc) => {
		boxes.set(arc.source, layout.place(arc.sourceRow, arc.from));
		boxes.set(arc.target, layout.place(arc.targetRow, arc.to));
	});
	const taken = shown.length <= LABELLED ? [...boxes].map(([name, [x, y]]) => ({ x, y, width: 2 * halfWidth(name), height: 26 })) : null;
	shown.forEach((arc, at) => {
		arc.mark = drawArc(svg, arc, layout, view, largest > 0 ? arc[view.value] / largest : 0, taken);
		pick(arc.mark, () => choose(arc), at < FOCUSABLE);
	});
	for (const [name, [x, y]] of boxes) {
		const shown = boxName(name), half = halfWidth(name);
		const box = add(svg, 'rect', { class: 'box', x: x - half, y: y - 13, width: 2 * half, height: 26, rx: 4 });
		add(box, 'title', {}, name);
		add(svg, 'text', { x, y: y + 4 }, shown);
	}
	if (shown.length < arcs.length)
		add(parent, 'p', { class: 'dim' }, `${arcs.length - shown.length} thinner arcs are not drawn; the table has them.`);
}

function pick(element, act, isFocusable) {
	if (isFocusable)
		element.setAttribute('tabindex', 0);
	element.addEventListener('click', act);
	element.addEventListener('keydown', (event) => {
		if (event.key === 'Enter' || event.key === ' ') {
			act();
			event.preventDefault();
		}
	});
}

/* Senders down, receivers across: what stays readable with many nodes. */
function drawMatrix(parent, arcs, view, largest, choose) {
	const rows = [...new Set(arcs.map((a) => a.source))].sort(natural), columns = [...new Set(arcs.map((a) => a.target))].sort(natural);
	const size = Math.max(7, Math.min(34, 620 / Math.max(rows.length, columns.length, 1))), left = 76, top = 62;
	const width = left + size * columns.length + 24, height = top + size * rows.length + 24;
	const svg = add(parent, 'svg', { class: 'graph', viewBox: `0 0 ${width} ${height}`, width, role: 'group',
		'aria-label': `matrix of ${rows.length} senders and ${columns.length} receivers; the table has the same numbers` });
	const step = Math.ceil(12 / size);
	add(svg, 'text', { class: 'small', x: left - 40, y: top - 12 }, 'from \\ to');
	rows.forEach((name, at) => at % step || add(svg, 'text', { class: 'small', x: left - 30, y: top + size * (at + 0.5) + 4 }, name));
	columns.forEach((name, at) => {
		const x = left + size * (at + 0.5);
		if (at % step === 0)
			add(svg, 'text', { class: 'small', x, y: top - 14, transform: size < 30 ? `rotate(-45 ${x} ${top - 14})` : null }, name);
	});
	arcs.forEach((arc, at) => {
		const share = largest > 0 ? arc[view.value] / largest : 0, x = left + size * columns.indexOf(arc.target), y = top + size * rows.indexOf(arc.source);
		arc.mark = add(svg, 'rect', { class: 'cell', x, y, width: size, height: size, fill: 'var(--heat)',
			'fill-opacity': (0.12 + 0.88 * share).toFixed(3), role: 'button', 'aria-label': sentence(arc) });
		add(arc.mark, 'title', {}, sentence(arc));
		pick(arc.mark, () => choose(arc), at < FOCUSABLE);
	});
}

const ARC_COLUMNS = [['kind', (a) => (a.broadcast ? 'broadcast' : 'arc'), 'text'], ['from', (a) => a.source, 'text'], ['to', (a) => a.target, 'text'],
	['messages', (a) => a.messages, 'count'], ['bytes', (a) => a.bytes, 'count'], ['waiting', (a) => a.wait_s, 'seconds'],
	['lines', (a) => [...a.lines].sort((x, y) => x - y).join(', '), 'text']];

function phaseRows(p) {
	return p.phase_times.map((t) => ({ ...t, name: p.phases[t.phase],
		wait_s: sum(p.traffic.filter((r) => r.phase === t.phase && r.to === t.node), (r) => r.wait_s),
		assignments: sum(p.assignments.filter((r) => r.phase === t.phase && r.node === t.node), (r) => r.count) }));
}

function zoneRows(p) {
	return p.zone_times.map((z) => {
		const got = p.traffic.filter((r) => r.zone === z.zone && r.to === z.node);
		return { ...z, name: p.zones[z.zone].zone, phase: p.phases[p.zones[z.zone].phase], wait_s: sum(got, (r) => r.wait_s),
			messages: sum(got, (r) => r.messages), bytes: sum(got, (r) => r.bytes),
			assignments: sum(p.assignments.filter((r) => r.zone === z.zone && r.node === z.node), (r) => r.count) };
	});
}

function nodeRows(p) {
	return Array.from({ length: p.nodes }, (_, node) => {
		const wait_s = sum(p.traffic.filter((r) => r.to === node), (r) => r.wait_s) +
			sum(p.phase_times.filter((r) => r.node === node), (r) => r.other_wait_s);
		return { node, assignments: sum(p.assignments.filter((r) => r.node === node), (r) => r.count), wait_s,
			busy_s: sum(p.phase_times.filter((r) => r.node === node), (r) => r.run_s) - wait_s,
			sent: sum(p.traffic.filter((r) => r.from === node), (r) => r.messages),
			received: sum(p.traffic.filter((r) => r.to === node), (r) => r.messages) };
	});
}

function balance(rows, value) {
	const all = sum(rows, value);
	return all > 0 ? (Math.max(...rows.map(value)) * rows.length / all).toFixed(2) : 'unknown';
}

function profileTables(parent, p) {
	const nodes = nodeRows(p);
	if (isOfRanks(p)) {
		add(parent, 'p', { class: 'dim' }, `Largest over mean: busy time ${balance(nodes, (r) => r.busy_s)} (1 is perfect).`);
		table(parent, 'ranks', [['rank', (r) => r.node, 'count'], ['busy', (r) => r.busy_s, 'seconds'],
			['waiting', (r) => r.wait_s, 'seconds'], ['sent', (r) => r.sent, 'count'], ['received', (r) => r.received, 'count']], nodes);
		return;
	}
	add(parent, 'h3', {}, 'Nodes');
	add(parent, 'p', { class: 'dim' }, `Largest over mean: assignments ${balance(nodes, (r) => r.assignments)}, busy time ${balance(nodes, (r) => r.busy_s)} (1 is perfect).`);
	table(parent, 'nodes', [['node', (r) => r.node, 'count'], ['assignments', (r) => r.assignments, 'count'], ['busy', (r) => r.busy_s, 'seconds'],
		['waiting', (r) => r.wait_s, 'seconds'], ['sent', (r) => r.sent, 'count'], ['received', (r) => r.received, 'count']], nodes);
	add(parent, 'h3', {}, 'Phases');
	table(parent, 'phases', [['phase', (r) => r.name, 'text'], ['node', (r) => r.node, 'count'], ['calls', (r) => r.calls, 'count'],
		['assignments', (r) => r.assignments, 'count'], ['trigger', (r) => r.trigger_wait_s, 'seconds'], ['distribution', (r) => r.distribution_s, 'seconds'],
		['run', (r) => r.run_s, 'seconds'], ['waiting', (r) => r.wait_s, 'seconds'], ['collection', (r) => r.collection_s, 'seconds']], phaseRows(p));
	if (!p.zone_times.length)
		return;
	add(parent, 'h3', {}, 'Instrumentation zones');
	table(parent, 'zones', [['phase', (r) => r.phase, 'text'], ['zone', (r) => r.name, 'text'], ['node', (r) => r.node, 'count'],
		['executions', (r) => r.executions, 'count'], ['time', (r) => r.time_s, 'seconds'], ['waiting', (r) => r.wait_s, 'seconds'],
		['assignments', (r) => r.assignments, 'count'], ['received', (r) => r.messages, 'count'], ['bytes', (r) => r.bytes, 'count']], zoneRows(p));
}

/* A box for each name; taken away it goes into the set. */
function boxes(parent, legend, names, hidden, label, change) {
	const field = add(parent, 'fieldset');
	add(field, 'legend', {}, legend);
	const inner = add(field, 'div'), all = [];
	for (const name of names) {
		const text = add(inner, 'label'), box = add(text, 'input', { type: 'checkbox' });
		box.checked = !hidden.has(name);
		text.append(label(name));
		all.push(box);
		box.addEventListener('change', () => {
			hidden[box.checked ? 'delete' : 'add'](name);
			change();
		});
	}
	if (names.length < 3)
		return;
	add(inner, 'button', { type: 'button', class: 'plain' }, 'all or none').addEventListener('click', () => {
		const on = hidden.size > 0;
		all.forEach((box) => { box.checked = on; });
		hidden.clear();
		if (!on)
			names.forEach((name) => hidden.add(name));
		change();
	});
}

function options(parent, label, names, current, change) {
	const field = add(parent, 'label', { class: 'field' });
	add(field, 'span', {}, label);
	const list = add(field, 'select');
	for (const name of names)
		add(list, 'option', { value: name, selected: name === current ? '' : null }, name === '' ? 'all' : name);
	list.addEventListener('change', () => change(list.value));
}

/* "rows" of "rows.trace.jsonl" */
function traceOf(profile, traces) {
	return traces.find((row) => row.trace.split('/').pop().replace(/(\.trace)?\.jsonl$/, '') === profile.name) || {};
}

/* A run in a column; sn_comm_total of the profiler has the same sums. The critical path is in traces only. */
function showPrograms(parent, profiles, traces) {
	const runs = profiles.map((p) => {
		const busy = nodeRows(p).map((n) => n.busy_s), trace = traceOf(p, traces);
		return { p, trace, work_s: sum(busy, (s) => s), longest_s: Math.max(...busy), run_s: Math.max(...nodeRows(p).map((n) => n.busy_s + n.wait_s)) };
	});
	const rounded = (x) => (x === undefined || Number.isNaN(x) ? '' : String(Number(x.toPrecision(3))));
	const measures = [['scheme', (r) => r.p.scheme], ['nodes', (r) => grouped(r.p.nodes)], ['messages', (r) => grouped(sum(r.p.traffic, (t) => t.messages))],
		['bytes', (r) => grouped(sum(r.p.traffic, (t) => t.bytes))], ['waiting', (r) => seconds(sum(r.p.traffic, (t) => t.wait_s))],
		['work', (r) => seconds(r.work_s)], ['longest node', (r) => seconds(r.longest_s)], ['run', (r) => seconds(r.run_s)],
		['busy nodes', (r) => rounded(r.work_s / r.run_s)]];
	const hasTraces = runs.some((r) => r.trace.critical_path_s);
	if (hasTraces)
		measures.push(['critical path', (r) => seconds(r.trace.critical_path_s ?? null)], ['possible parallelism', (r) => rounded(r.trace.potential_parallelism)],
			['realised', (r) => rounded(r.trace.realised_parallelism)]);
	add(parent, 'h3', {}, 'Side by side');
	add(parent, 'p', { class: 'dim' }, 'Work: the time that all nodes were busy. Run: the longest node\'s, waiting included. Busy nodes: work over run.' +
		(hasTraces ? ' From the traces: the critical path, which no number of nodes goes below, and work over it; realised is work over the time from the first event to the last.' : ''));
	table(parent, 'programs side by side', [['', (measure) => measure[0], 'label'], ...runs.map((r) => [r.p.name, (measure) => measure[1](r), 'value'])], measures);
}

function showComm(profiles, asked, traces) {
	const unique = (lists) => [...new Set(lists.flat())].sort();
	const nodes = Array.from({ length: Math.max(...profiles.map((p) => p.nodes)) }, (_, i) => i);
	const variables = unique(profiles.map((p) => p.traffic.map((t) => (t.broadcast ? [t.source] : [t.source, t.target])).flat()));
	const view = { phase: asked.phase || '', zone: asked.zone || '', by: asked.by, value: asked.value, draw: nodes.length > 12 ? 'matrix' : 'graph', least: 0,
		hiddenNodes: new Set(asked.nodes ? nodes.filter((n) => !asked.nodes.split(',').includes(String(n))) : []),
		hiddenVariables: new Set(asked.variables ? variables.filter((v) => !asked.variables.split(',').includes(v)) : []), chosen: null };
	const ofRanks = profiles.every(isOfRanks);
	const form = add(panel('Who sends what to whom', `Arcs go from ${ofRanks ? 'the function that sends to the one that receives' : 'the owner of a value to where it was needed'}; their width follows the value that is chosen, on one scale for all.`), 'div', { class: 'choices' });
	const graphs = add(form.parentNode, 'div', { class: 'graphs' });
	const said = add(form.parentNode, 'p', { class: 'said', 'aria-live': 'polite' });
	const tables = add(form.parentNode, 'div');

	function choose(arc) {
		document.querySelectorAll('.chosen').forEach((e) => e.classList.remove('chosen'));
		said.textContent = sentence(arc);
		for (const element of [arc.mark, arc.line])
			if (element)
				element.classList.add('chosen');
	}
	function show() {
		const all = profiles.map((p) => arcsOf(p, view));
		const largest = Math.max(0, ...all.flat().map((a) => a[view.value]));
		graphs.textContent = tables.textContent = said.textContent = '';
		profiles.forEach((p, at) => {
			const figure = add(graphs, 'figure'), arcs = all[at];
			const caption = add(figure, 'figcaption');
			add(caption, 'h3', {}, p.name);
			add(caption, 'span', { class: 'dim' }, `${p.nodes} ${isOfRanks(p) ? 'ranks' : 'nodes'}, ${p.scheme}: ${grouped(sum(arcs, (a) => a.messages))} messages, ${grouped(sum(arcs, (a) => a.bytes))} bytes on ${arcs.length} arcs; waiting ${seconds(sum(arcs, (a) => a.wait_s))}`);
			if (arcs.length)
				(view.draw === 'matrix' ? drawMatrix : drawGraph)(figure, arcs, view, largest, choose);
			else
				add(figure, 'p', {}, 'No messages.');
			if (profiles.length > 1)
				add(tables, 'h3', {}, p.name);
			table(tables, `arcs of ${p.name}`, ARC_COLUMNS, arcs, choose);
		});
	}
	const set = (key) => (value) => { view[key] = value; show(); };
	choice(form, 'Added up by', [['partition', ofRanks ? 'function of a rank' : 'partition'], ['node', ofRanks ? 'rank' : 'node'], ['variable', ofRanks ? 'function' : 'variable']], view.by, set('by'));
	choice(form, 'Value', [['messages', 'messages'], ['bytes', 'bytes'], ['wait_s', 'waiting time']], view.value, set('value'));
	choice(form, 'Drawn as', [['graph', 'graph'], ['matrix', 'matrix']], view.draw, set('draw'));
	if (!ofRanks)
		options(form, 'Phase', ['', ...unique(profiles.map((p) => p.phases))], view.phase, set('phase'));
	if (profiles.some((p) => p.zones.length))
		options(form, 'Zone', ['', ...unique(profiles.map((p) => p.zones.map((z) => z.zone)))], view.zone, set('zone'));
	const least = add(add(form, 'label', { class: 'field' }), 'span', {}, 'Hide arcs below, % of the largest').parentNode;
	const number = add(least, 'input', { type: 'number', min: 0, max: 100, value: 0 });
	number.addEventListener('input', () => set('least')(Math.min(100, Math.max(0, Number(number.value) || 0))));
	boxes(form, ofRanks ? 'Ranks' : 'Nodes', nodes, view.hiddenNodes, (n) => String(n), show);
	boxes(form, ofRanks ? 'Functions' : 'Variables', variables, view.hiddenVariables, (v) => v, show);
	show();
	if (profiles.length > 1 || traces.length)
		showPrograms(panel('Programs'), profiles, traces);
	for (const p of profiles)
		profileTables(panel((isOfRanks(p) ? 'Ranks' : 'Nodes, phases and zones') + (profiles.length > 1 ? `: ${p.name}` : '')), p);
}

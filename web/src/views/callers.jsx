// Callers and callees of one function, with attributed time.
import { Fragment, h } from 'preact';
import { useMemo } from 'preact/hooks';
import { NONE } from '../chunks.js';
import { Empty, Head, Name, Share, Times } from '../parts.jsx';
import { addTo, argmax, indices, seconds, visible } from '../format.js';
import { go, linkTo } from '../state.js';
import { Table } from '../table.jsx';

// The function that a path node is in, loops skipped.
function enclosing(nodes, node) {
	while (node !== NONE && nodes.loop[node] !== NONE)
		node = nodes.parent[node];
	return node;
}

// Recursion as in src/profile: the outermost occurrence decides the caller, the innermost the callee.
export function callsOf(d, agg, f) {
	const { nodes, points, places } = d;
	const callers = new Map(), callees = new Map();
	let self = 0;
	// For each node: the outermost node of f above or at it, and the function entered after the
	// innermost one; both inherited from the parent.
	const outer = new Int32Array(nodes.rows).fill(-1), inner = new Int32Array(nodes.rows).fill(-1);
	for (let n = 0; n < nodes.rows; n++) {
		const parent = nodes.parent[n];
		const fromParent = parent === NONE ? -1 : outer[parent];
		const function_ = nodes.loop[n] !== NONE ? NONE : nodes.function[n];
		outer[n] = fromParent >= 0 ? fromParent : function_ === f ? n : -1;
		if (outer[n] < 0)
			continue;
		const innerParent = parent === NONE ? -1 : inner[parent];
		inner[n] = function_ === f ? -1 : innerParent >= 0 ? innerParent : function_ !== NONE ? function_ : -1;
	}
	for (let p = 0; p < points.rows; p++) {
		const ns = agg.pointNs[p], node = points.node[p];
		if (ns === 0 || node === NONE || outer[node] < 0)
			continue;
		const above = nodes.parent[outer[node]] === NONE ? NONE : enclosing(nodes, nodes.parent[outer[node]]);
		addTo(callers, above === NONE ? NONE : nodes.function[above], ns);
		if (inner[node] < 0 || places.function[points.place[p]] === f && inner[node] < 0)
			self += ns;
		else
			addTo(callees, inner[node], ns);
	}
	const list = (map) => [...map].map(([other, ns]) => ({ other, ns })).sort((a, b) => b.ns - a.ns);
	return { callers: list(callers), callees: list(callees), self };
}

export function Callers({ d, agg, filter, matcher }) {
	const asked = /^f(\d+)$/.exec(filter.argument);
	const f = asked && +asked[1] < d.functions.rows ? +asked[1] : argmax(agg.funcExcl);
	const calls = useMemo(() => d.functions.rows ? callsOf(d, agg, f) : null, [agg, f]);
	const list = useMemo(() => {
		const order = indices(d.functions.rows).filter((i) => agg.funcIncl[i] > 0 && (!matcher || matcher.test(d.functions.name.at(i))));
		return order.sort((a, b) => agg.funcIncl[b] - agg.funcIncl[a]);
	}, [agg, matcher]);
	if (!d.functions.rows)
		return <><Head title="Callers & callees" /><section class="panel"><Empty>No functions were sampled.</Empty></section></>;
	const pivot = (other) => other !== NONE && go('callers', `f${other}`);
	const columns = (whole, title) => [
		{ key: 'name', title, width: 'minmax(9rem, 1fr)', least: 150, className: 'mono', sortable: false, render: (r) => r.other === NONE ? <span class="dim">{title === 'Caller' ? 'start of the thread' : 'unknown'}</span> : <a href={linkTo('callers', `f${r.other}`)}><Name text={d.functions.name.at(r.other)} /></a> },
		{ key: 'ns', title: 'Attributed', help: 'inclusive time that comes through this call', num: true, width: '6.2rem', sortable: false, render: (r) => seconds(r.ns) },
		{ key: 'share', title: 'Share', num: true, width: '6.6rem', sortable: false, render: (r) => <Share part={r.ns} whole={whole} /> },
	];
	const incl = agg.funcIncl[f];
	return <>
		<Head title="Callers & callees" tools={<><a class="plain" href={linkTo('source', `f${f}`)}>Source & assembly</a></>}>click a function to put it in the middle</Head>
		<section class="panel"><h2 style={{ margin: 0 }}><span class="mono name">{visible(d.functions.name.at(f))}</span> <span class="dim"><Times agg={agg} f={f} /></span></h2></section>
		<div class="panes">
			<section class="panel flush"><h2>Callers</h2><Table label="Callers" columns={columns(incl, 'Caller')} rows={calls.callers} rowKey={(r) => r.other} onOpen={(r) => pivot(r.other)} empty="No time passes the filter." /></section>
			<section class="panel flush"><h2>Functions <span class="dim">by inclusive time</span></h2><Table label="Functions" selected={f} onSelect={(i) => i !== undefined && i !== f && pivot(i)} columns={[
				{ key: 'name', title: 'Function', width: 'minmax(9rem, 1fr)', least: 150, className: 'mono', sortable: false, render: (i) => <Name text={d.functions.name.at(i)} query={matcher} /> },
				{ key: 'incl', title: 'Inclusive', num: true, width: '6.2rem', sortable: false, render: (i) => seconds(agg.funcIncl[i]) },
				{ key: 'share', title: 'Share', num: true, width: '6.6rem', sortable: false, render: (i) => <Share part={agg.funcIncl[i]} whole={agg.total} /> },
			]} rows={list} rowKey={(i) => i} /></section>
			<section class="panel flush"><h2>Callees <span class="dim">itself: {seconds(calls.self)}</span></h2><Table label="Callees" columns={columns(incl, 'Callee')} rows={calls.callees} rowKey={(r) => r.other} onOpen={(r) => pivot(r.other)} empty="It calls nothing that was sampled." /></section>
		</div>
	</>;
}

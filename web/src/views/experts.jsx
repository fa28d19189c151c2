// What the static model says of hot loops (src/cqa): cycles, bottleneck, what-if variants, advice.
import { Fragment, h } from 'preact';
import { useMemo } from 'preact/hooks';
import { toc } from '../chunks.js';
import { Empty, Head, Name, Share } from '../parts.jsx';
import { percent, visible } from '../format.js';
import { go, linkTo } from '../state.js';
import { Table } from '../table.jsx';

const VARIANTS = [['clean', 'Clean', 'without integer and address work that the loop may not need'], ['fp_vector', 'FP vector', 'arithmetic at full width, memory as it is'], ['full_vector', 'Full vector', 'memory too, where strides allow'], ['no_dependence', 'No dependence', 'without the loop-carried dependence'], ['next_bottleneck', 'Next', 'with the first bottleneck gone']];
const times = (x) => x >= 1.005 ? `${x.toFixed(2)}×` : x > 0 ? '1×' : '';
const bottleneck = (q, i) => q.bottleneck.at(i).replace('_', ' ');

// What the whole program would gain (Amdahl 1967) if this share of it ran so much faster.
const overall = (share, speedup) => 1 / (1 - share + share / speedup);

export function Experts({ d, agg, quality: q }) {
	const rows = useMemo(() => [...q.loop.keys()].sort((a, b) => agg.loopExcl[q.loop[b]] - agg.loopExcl[q.loop[a]]), [agg]);
	const columns = [
		{ key: 'loop', title: 'Loop', width: 'minmax(14rem, 2fr)', least: 200, className: 'mono', render: (i) => <a href={linkTo('loop', d.loops.id.at(q.loop[i]))}><Name text={d.loops.label.at(q.loop[i])} /></a> },
		{ key: 'share', title: 'Share', num: true, width: '7.5rem', render: (i) => <Share part={agg.loopExcl[q.loop[i]]} whole={agg.total} /> },
		{ key: 'cycles', title: 'Cycles', help: 'core cycles for a pass over the body, data in L1', num: true, width: '5rem', render: (i) => q.cycles[i] >= 0 ? q.cycles[i].toFixed(1) : '' },
		{ key: 'bound', title: 'Limited by', width: '6.5rem', render: (i) => bottleneck(q, i) },
		{ key: 'vector', title: 'Vector', help: 'packed over vectorizable instructions', num: true, width: '6rem', render: (i) => q.vector_ratio[i] >= 0 ? percent(q.vector_ratio[i]) : '' },
		...VARIANTS.map(([key, title, help]) => ({ key, title, help, num: true, width: '7.6rem', render: (i) => times(q[key][i]) })),
		{ key: 'first', title: 'First advice', width: 'minmax(12rem, 3fr)', least: 180, render: (i) => { const text = visible(q.not_analysed.at(i)) || q.advice.at(i).split('\n')[0].split('\t')[2] || ''; return <span class={q.not_analysed.at(i) ? 'dim' : ''} title={text}>{text}</span>; } },
	].map((c) => ({ sortable: false, ...c }));
	return <>
		<Head title="Loop experts">static model of {toc.machine ?? 'no machine'}, data in L1; speed-ups are of the loop alone</Head>
		<section class="panel flush fill"><Table label="Static quality of loops" columns={columns} rows={rows} rowKey={(i) => i} onOpen={(i) => go('loop', d.loops.id.at(q.loop[i]))} empty="No hot loop was analysed: none is above 0.1 % of CPU time, its code is not in the experiment, or this CPU has no model." /></section>
	</>;
}

export function LoopQuality({ d, loop, share, quality: q }) {
	const i = q.loop.indexOf(loop);
	if (i < 0 || q.not_analysed.at(i))
		return <section class="panel"><h2>What would it gain?</h2><Empty command={i < 0 ? `sonde cqa --loop '${visible(d.loops.id.at(loop))}' PROGRAM` : undefined}>{i < 0 ? 'This loop was not analysed.' : visible(q.not_analysed.at(i))}</Empty></section>;
	const advice = q.advice.at(i).split('\n').filter(Boolean).map((line) => line.split('\t'));
	return <section class="panel"><h2>What would it gain? <span class="dim">static model of {toc.machine}, data in L1: {q.cycles[i].toFixed(1)} cycles a pass, limited by {bottleneck(q, i)}</span></h2>
		<div class="legend" style={{ marginBottom: '.7rem' }}>{VARIANTS.filter(([key]) => q[key][i] >= 1.005).map(([key, title, help]) => <span key={key} title={help}><b>{title}</b> {times(q[key][i])} <span class="dim">(program {times(overall(share, q[key][i]))})</span></span>)}</div>
		<ul class="sentences quiet-list">{advice.map(([confidence, , sentence, evidence], k) => <li key={k}><span>{visible(sentence)} <span class="tag">{confidence}</span> <span class="dim">{visible(evidence)}</span></span></li>)}</ul>
		{advice.length === 0 && <p class="dim">The model knows nothing better for this code.</p>}
	</section>;
}

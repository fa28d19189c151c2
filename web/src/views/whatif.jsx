// What the whole program would gain if its loops were better code: by variant of the static model,
// and how far the first few loops go (ONE View's cumulative speed-up). src/whatif computes it.
import { Fragment, h } from 'preact';
import { useMemo } from 'preact/hooks';
import { toc } from '../chunks.js';
import { Chart } from '../chart.jsx';
import { LoopLink, Swatch, Titles } from '../parts.jsx';
import { gain, grouped, percent, times, visible } from '../format.js';
import { go, setParams } from '../state.js';

export const VARIANTS = {
	clean: ['Clean', 'without integer and address work that the loop may not need', '--n-2'],
	fp_vector: ['FP vector', 'arithmetic at full vector width, memory accesses as they are', '--n-8'],
	full_vector: ['Full vector', 'memory accesses too, where strides allow', '--n-1'],
	no_dependence: ['No dependence', 'without the dependence from one iteration to the next', '--n-3'],
	next_bottleneck: ['Next bottleneck', 'with the first bottleneck gone', '--n-4'],
};
const DRAWN = ['clean', 'fp_vector', 'full_vector'];

// Steps by variant: loops in the order of what they save, and the program's speed-up with all so far.
function stepsOf(steps, w) {
	const lists = w.variants.map(() => []);
	for (let i = 0; i < steps.rows; i++)
		lists[steps.variant[i]].push(i);
	return lists;
}

// One x for all lines: a variant with fewer loops stays where it is.
function curves(lists, steps, drawn) {
	const count = Math.min(400, drawn.reduce((m, v) => Math.max(m, lists[v].length), 0));
	const x = Float64Array.from({ length: count + 1 }, (_, i) => i);
	return [x, ...drawn.map((v) => Float64Array.from(x, (i) => i === 0 || !lists[v].length ? 1 : steps.cumulative_speedup[lists[v][Math.min(i, lists[v].length) - 1]]))];
}

export function WhatIf({ d, filter, steps, theme }) {
	const w = toc.whatif, lists = useMemo(() => stepsOf(steps, w), []);
	// Full vectors unless they gain nothing: then what gains most.
	const usual = useMemo(() => (w.variants.find((v) => v.variant === 'full_vector' && v.speedup >= 1.02) ?? w.variants.reduce((best, v) => (v.speedup ?? 1) > (best.speedup ?? 1) ? v : best, w.variants.at(-1))).variant, []);
	const chosen = Math.max(0, w.variants.findIndex((v) => v.variant === (filter.params.v ?? usual)));
	// The chosen one is drawn last, over the others.
	const drawn = useMemo(() => [...w.variants.keys()].filter((i) => i !== chosen && DRAWN.includes(w.variants[i].variant)).concat(chosen), [chosen]);
	const data = useMemo(() => curves(lists, steps, drawn), [drawn]);
	const variant = w.variants[chosen], list = lists[chosen];
	const choose = (name) => setParams({ v: name === usual ? null : name }, true);
	const saved = list.reduce((sum, i) => sum + steps.saved_share[i], 0);
	const gains = data[0].length > 1, gaps = w.variants.some((v) => v.not_estimated_share >= 0.0005);
	// As the column of the table counts it (docs/method/whatif.md): of the speed-up beyond 1, not of the time saved.
	const most = 1 + 0.8 * (variant.speedup - 1);
	return <section class="panel"><h2>What it could gain <span class="dim">static model of {visible(w.arch_title ?? w.arch)}; loops with figures are {percent(w.analysed_share)} of CPU time{filter.time || filter.threads || filter.phases || filter.module !== null ? '; of the whole run, whatever the filter' : ''}</span></h2>
		<div class="grid2"><div class="scroll"><table class="small"><Titles of="If all loops were|#Program~95 % interval, from all data in RAM to all in L1, with the error of the model|#In RAM~if all data come from RAM|#In L1~if all data are in L1|#No doubt~by loops whose figures hold no doubt, data in L1|#Loops|#For 80 %~so many loops bring 80 % of the gain, the speed-up beyond 1" />
			<tbody>{w.variants.map((v, i) => <tr key={v.variant} aria-selected={i === chosen}><td><button class="link" aria-pressed={i === chosen} title={VARIANTS[v.variant]?.[1]} onClick={() => choose(v.variant)}>{VARIANTS[v.variant]?.[0] ?? v.variant}</button></td>
				<td class="num">{v.speedup === null ? <span class="dim">unknown</span> : <b>{gain(v.speedup_low, v.speedup_high)}</b>}</td><td class="num">{times(v.ram_speedup)}</td><td class="num">{times(v.speedup)}</td><td class="num">{times(v.reliable_speedup)}</td><td class="num">{grouped(v.loops)}</td><td class="num">{v.loops && v.speedup !== null ? grouped(v.loops_for_80_percent) : ''}</td></tr>)}</tbody></table>
			<p class="dim" style={{ marginTop: '.6rem' }}>{VARIANTS[variant.variant]?.[0]}: {VARIANTS[variant.variant]?.[1]}. {variant.not_estimated_share >= 0.0005 && <b>Not estimated: {percent(variant.not_estimated_share)} of CPU time, in loops without FP arithmetic or without figures. </b>}Samples do not tell where the data come from: the program's gain is an interval from all in RAM to all in L1, the rest is for L1. For 80 %: so many loops bring that part of the gain. Flow complexity {w.flow_complexity?.toFixed(2)} paths a loop; array access efficiency {percent(w.array_access_efficiency_share)}.{w.left_out_loops ? ` ${grouped(w.left_out_loops)} loops have no figures.` : ''}</p></div>
			{gains ? <div><Chart data={data} series={drawn.map((i) => ({ label: VARIANTS[w.variants[i].variant][0], colour: VARIANTS[w.variants[i].variant][2], dots: data[0].length < 60, steps: true, fill: i === chosen }))} xRange={[0, data[0].length - 1 + Math.max(0.3, data[0].length * 0.02)]} yRange={[1, Math.max(...drawn.map((i, k) => data[k + 1][data[0].length - 1])) * 1.04]} xLeast={1}
				xLabel="loops, most gain first" yLabel="program speed-up" yUnit="×" height={208} theme={theme} label={`Cumulative speed-up of the program; the numbers are in the table${variant.speedup > 1.005 ? `; 80 % of the gain is ${most.toFixed(3)}` : ''}`}
				level={variant.speedup > 1.005 ? [most, `80 % of the gain of ${VARIANTS[variant.variant][0]}`] : undefined}
				tip={(i) => <><div class="dim">{i === 0 ? 'as it is' : `${i} loop${i === 1 ? '' : 's'}`}</div>{drawn.map((v, k) => <div key={v}><Swatch colour={VARIANTS[w.variants[v].variant][2]} /> {VARIANTS[w.variants[v].variant][0]} {data[k + 1][i].toFixed(2)}× {i > 0 && lists[v][i - 1] !== undefined && <span class="mono">{visible(d.loops.label.at(steps.loop[lists[v][i - 1]]))}</span>}</div>)}</>}
				onPick={(i) => list[i - 1] !== undefined && go('loop', d.loops.id.at(steps.loop[list[i - 1]]))} />
				<div class="legend">{drawn.map((i) => <span key={i}><Swatch colour={VARIANTS[w.variants[i].variant][2]} />{VARIANTS[w.variants[i].variant][0]}</span>)}<span class="dim">a click opens the loop</span></div></div>
				: <p class="dim">{gaps ? 'Clean and vector code is estimated of loops with FP arithmetic only: what the others would gain is not known.' : 'The model knows nothing that clean or vector code would gain here.'}</p>}</div>
		{list.length > 0 && <details><summary class="dim">{list.length === 1 ? 'the loop that gains' : `the ${grouped(Math.min(list.length, 50))} loops that gain most`} as {VARIANTS[variant.variant][0].toLowerCase()} code</summary><div class="scroll"><table class="small"><Titles of="##|Loop|#Saves of CPU time|#of all saved|#Program, with all so far|Doubt" />
			<tbody>{list.slice(0, 50).map((i, k) => <tr key={i}><td class="num">{k + 1}</td><td class="wide"><LoopLink d={d} loop={steps.loop[i]} /></td><td class="num">{percent(steps.saved_share[i])}</td><td class="num">{percent(saved > 0 ? steps.saved_share[i] / saved : 0)}</td><td class="num">{times(steps.cumulative_speedup[i])}</td><td>{steps.reliable[i] ? '' : <span class="q1" title="the loop's view says which">▲ to be checked</span>}</td></tr>)}</tbody></table></div></details>}
	</section>;
}

// What the whole program would gain if its loops were better code: by variant of the static model, and by what was
// measured; and how far the first few loops go (ONE View's cumulative speed-up). src/whatif computes it.
import { Fragment, h } from 'preact';
import { useMemo } from 'preact/hooks';
import { toc } from '../chunks.js';
import { Chart } from '../chart.jsx';
import { LoopLink, Swatch, Titles } from '../parts.jsx';
import { gain, grouped, indices, percent, times, visible } from '../format.js';
import { go, setParams } from '../state.js';

export const VARIANTS = {
	clean: ['Clean', 'without integer and address work that the loop may not need', '--n-2'],
	fp_vector: ['FP vector', 'arithmetic at full vector width, memory accesses as they are', '--n-8'],
	full_vector: ['Full vector', 'memory accesses too, where strides allow', '--n-1'],
	no_dependence: ['No dependence', 'without the dependence from one iteration to the next', '--n-3'],
	next_bottleneck: ['Next bottleneck', 'with the first bottleneck gone', '--n-4'],
	dl1: ['Data in L1', 'perfect blocking: all data in first-level cache', '--n-5'],
	ls: ['Arithmetic free', 'loads and stores alone', '--n-6'],
	fp: ['FP memory free', 'floating-point arithmetic alone', '--n-7'],
	arith: ['Integer memory free', 'integer arithmetic alone', '--n-7'],
	pf: ['Prefetched', 'with the prefetches of PF', '--n-3'],
};
const DRAWN = ['clean', 'fp_vector', 'full_vector', 'dl1'];
const MODELLED = toc.whatif?.variants ?? [], ALL = [...MODELLED, ...toc.measured ?? []];
export const gainsAtAll = ALL.some((v) => v.speedup >= 1.05);

// Steps by variant: loops in the order of what they save, and the program's speed-up with all so far.
function stepsOf({ whatif, curves }) {
	const lists = ALL.map(() => []);
	[[whatif, 0], [curves, MODELLED.length]].forEach(([x, first]) => indices(x.rows).forEach((i) => lists[first + x.variant[i]].push({
		loop: x.loop[i], saved: x.saved_share[i], all: x.cumulative_speedup[i], low: x.low?.[i], high: x.high?.[i], sure: x.reliable ? x.reliable[i] : 1 })));
	return lists;
}

// One x for all lines: a variant with fewer loops stays where it is.
function curvesOf(lists, drawn) {
	const count = Math.min(400, drawn.reduce((m, v) => Math.max(m, lists[v].length), 0));
	const x = Float64Array.from({ length: count + 1 }, (_, i) => i);
	return [x, ...drawn.map((v) => Float64Array.from(x, (i) => i === 0 || !lists[v].length ? 1 : lists[v][Math.min(i, lists[v].length) - 1].all))];
}

export function WhatIf({ d, filter, chunks, theme }) {
	const w = toc.whatif, lists = useMemo(() => stepsOf(chunks), []);
	// What was measured of data in cache; else full vectors, unless they gain nothing: then what gains most.
	const usual = useMemo(() => (ALL.find((v) => v.variant === 'dl1' && v.speedup >= 1.02) ?? ALL.find((v) => v.variant === 'full_vector' && v.speedup >= 1.02) ?? ALL.reduce((best, v) => (v.speedup ?? 1) > (best.speedup ?? 1) ? v : best)).variant, []);
	const chosen = Math.max(0, ALL.findIndex((v) => v.variant === (filter.params.v ?? usual)));
	// The chosen one is drawn last, over the others.
	const drawn = useMemo(() => [...ALL.keys()].filter((i) => i !== chosen && DRAWN.includes(ALL[i].variant)).concat(chosen), [chosen]);
	const data = useMemo(() => curvesOf(lists, drawn), [drawn]);
	const variant = ALL[chosen], list = lists[chosen], [title, meaning] = VARIANTS[variant.variant], measured = chosen >= MODELLED.length;
	const choose = (name) => setParams({ v: name === usual ? null : name }, true);
	const saved = list.reduce((sum, s) => sum + s.saved, 0);
	const gains = data[0].length > 1, gaps = ALL.some((v) => v.not_estimated_share >= 0.0005);
	// As the column of the table counts it (docs/method/whatif.md): of the speed-up beyond 1, not of the time saved.
	const most = 1 + 0.8 * (variant.speedup - 1), bars = measured ? [0, 1].map((end) => Array.from(data[0], (n) => list[n - 1]?.[end ? 'high' : 'low'] ?? NaN)) : undefined;
	return <section class="panel"><h2>What it could gain <span class="dim">{w && `static model of ${visible(w.arch_title ?? w.arch)}; loops with figures are ${percent(w.analysed_share)} of CPU time`}{filter.time || filter.threads || filter.phases || filter.module !== null ? '; of the whole run, whatever the filter' : ''}</span></h2>
		<div class="grid2"><div class="scroll"><table class="small"><Titles of="If all loops were|#Program~95 % interval: of the static model from all data in RAM to all in L1, with its error|#In RAM~if all data come from RAM|#In L1~if all data are in L1|#No doubt~by loops whose figures hold no doubt, data in L1|#Loops|#For 80 %~so many loops bring 80 % of the gain, the speed-up beyond 1" />
			<tbody>{ALL.map((v, i) => <tr key={v.variant} aria-selected={i === chosen}><td><button class="link" aria-pressed={i === chosen} title={VARIANTS[v.variant][1]} onClick={() => choose(v.variant)}>{VARIANTS[v.variant][0]}</button>{i >= MODELLED.length && <span class="tag">measured</span>}</td>
				<td class="num">{v.speedup === null ? <span class="dim">unknown</span> : <b>{gain(v.speedup_low, v.speedup_high)}</b>}</td>{i < MODELLED.length ? [v.ram_speedup, v.speedup, v.reliable_speedup].map((x) => <td class="num">{times(x)}</td>) : <td colSpan={3} />}<td class="num">{grouped(v.loops)}</td><td class="num">{v.loops && v.speedup !== null ? grouped(v.loops_for_80_percent) : ''}</td></tr>)}</tbody></table>
			<p class="dim" style={{ marginTop: '.6rem' }}>{title}: {meaning}. {measured ? `Measured by sonde decan, in loops of ${percent(variant.measured_share)} of CPU time; bars are 95 % intervals. ` : <>{variant.not_estimated_share >= 0.0005 && <b>Not estimated: {percent(variant.not_estimated_share)} of CPU time, in loops without FP arithmetic or without figures. </b>}Samples do not tell where the data come from: the program's gain is an interval from all in RAM to all in L1, the rest is for L1. </>}For 80 %: so many loops bring that part of the gain.{w && <> Flow complexity {w.flow_complexity?.toFixed(2)} paths a loop; array access efficiency {percent(w.array_access_efficiency_share)}.{w.left_out_loops ? ` ${grouped(w.left_out_loops)} loops have no figures.` : ''}</>}</p></div>
			{gains ? <div><Chart data={data} series={drawn.map((i) => ({ label: VARIANTS[ALL[i].variant][0], colour: VARIANTS[ALL[i].variant][2], dots: data[0].length < 60, steps: true, fill: i === chosen, bars: i === chosen ? bars : undefined }))} xRange={[0, data[0].length - 1 + Math.max(0.3, data[0].length * 0.02)]} yRange={[1, Math.max(...drawn.map((i, k) => data[k + 1][data[0].length - 1])) * 1.04]} xLeast={1}
				xLabel="loops, most gain first" yLabel="program speed-up" yUnit="×" height={208} theme={theme} label={`Cumulative speed-up of the program; the numbers are in the table${variant.speedup > 1.005 ? `; 80 % of the gain is ${most.toFixed(3)}` : ''}`}
				level={variant.speedup > 1.005 ? [most, `80 % of the gain of ${title}`] : undefined}
				tip={(i) => <><div class="dim">{i === 0 ? 'as it is' : `${i} loop${i === 1 ? '' : 's'}`}</div>{drawn.map((v, k) => <div key={v}><Swatch colour={VARIANTS[ALL[v].variant][2]} /> {VARIANTS[ALL[v].variant][0]} {data[k + 1][i].toFixed(2)}× {lists[v][i - 1] && <span class="mono">{visible(d.loops.label.at(lists[v][i - 1].loop))}</span>}</div>)}</>}
				onPick={(i) => list[i - 1] && go('loop', d.loops.id.at(list[i - 1].loop))} />
				<div class="legend">{drawn.map((i) => <span key={i}><Swatch colour={VARIANTS[ALL[i].variant][2]} />{VARIANTS[ALL[i].variant][0]}</span>)}<span class="dim">a click opens the loop</span></div></div>
				: <p class="dim">{gaps ? 'Clean and vector code is estimated of loops with FP arithmetic only: what the others would gain is not known.' : 'The model knows nothing that clean or vector code would gain here.'}</p>}</div>
		{list.length > 0 && <details><summary class="dim">{list.length === 1 ? 'the loop that gains' : `the ${grouped(Math.min(list.length, 50))} loops that gain most`}: {title}</summary><div class="scroll"><table class="small"><Titles of="##|Loop|#Saves of CPU time|#of all saved|#Program, with all so far|Doubt" />
			<tbody>{list.slice(0, 50).map((s, k) => <tr key={s.loop}><td class="num">{k + 1}</td><td class="wide"><LoopLink d={d} loop={s.loop} /></td><td class="num">{percent(s.saved)}</td><td class="num">{percent(saved > 0 ? s.saved / saved : 0)}</td><td class="num">{times(s.all)}</td><td>{s.sure ? '' : <span class="q1" title="the loop's view says which">▲ to be checked</span>}</td></tr>)}</tbody></table></div></details>}
	</section>;
}

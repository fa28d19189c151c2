// What a faster piece of code would bring: a curve for each, all of one scale, with its 95 % band.
import { Fragment, h } from 'preact';
import { toc } from '../chunks.js';
import { Empty, Head, Name, Titles } from '../parts.jsx';
import { ticksOf } from '../chart.jsx';
import { indices, percent, visible } from '../format.js';

const WIDTH = 290, HEIGHT = 190, LEFT = 44, RIGHT = 8, TOP = 8, BOTTOM = 34;
const known = Number.isFinite;
const whole = (v) => `${Math.round(100 * v) + 0} %`;
const told = (p) => `${whole(p.speedup)}: ${whole(p.effect)}${known(p.effect_low) ? ` [${whole(p.effect_low)} to ${whole(p.effect_high)}]` : ''}`;

function Curve({ row, low, high }) {
	const px = (v) => LEFT + (WIDTH - LEFT - RIGHT) * v, py = (v) => TOP + (HEIGHT - TOP - BOTTOM) * (high - v) / (high - low);
	const points = [{ speedup: 0, effect: 0, effect_low: 0, effect_high: 0 }, ...row.points], band = points.filter((p) => known(p.effect_low));
	const path = (list, key) => list.map((p) => `${px(p.speedup).toFixed(1)},${py(p[key]).toFixed(1)}`).join(' ');
	return <svg class="causal" width={WIDTH} height={HEIGHT} role="img" aria-label={`${visible(row.name)}: the numbers are in the table below`}>
		{ticksOf(low, high, 8).map((v) => <g key={v} class="axis"><line class={v ? '' : 'zero'} x1={LEFT} x2={WIDTH - RIGHT} y1={py(v)} y2={py(v)} /><text x={LEFT - 5} y={py(v) + 4} text-anchor="end">{whole(v)}</text></g>)}
		{[0, .25, .5, .75, 1].map((v) => <g key={v} class="axis"><text x={px(v)} y={HEIGHT - BOTTOM + 14} text-anchor={v === 1 ? 'end' : 'middle'}>{whole(v)}</text></g>)}
		<text x={(LEFT + WIDTH) / 2} y={HEIGHT - 4} text-anchor="middle">of its own time spared</text>
		<polygon points={`${path(band, 'effect_high')} ${path(band.toReversed(), 'effect_low')}`} />
		<polyline points={path(points, 'effect')} />
		{row.points.map((p) => <circle key={p.speedup} cx={px(p.speedup)} cy={py(p.effect)} r="3"><title>{`${told(p)}, ${p.experiments} experiments`}</title></circle>)}
	</svg>;
}

// What `sonde show causal` says of all experiments, below the answers and their curves.
const notesOf = (rows) => toc.views.find((view) => view.name === 'causal').foot.split('\n').filter((line) => line && line[1] !== ' ' && !rows.some((r) => line === ' ' + r.sentence));

export function Causal({ chunks }) {
	const x = chunks['view-causal'];
	const rows = indices(x.rows).map((i) => ({ name: x.name.at(i), of: x.function.at(i), kind: x.kind.at(i), verdict: x.verdict.at(i), share: x.cpu_share[i],
		sentence: x.sentence.at(i), slope: x.slope[i], low: x.slope_low[i], high: x.slope_high[i], points: JSON.parse(x.points.at(i)) }));
	const values = rows.flatMap((r) => r.points.flatMap((p) => [p.effect, p.effect_low, p.effect_high])).filter(known);
	const low = Math.min(-.05, ...values), high = Math.max(.1, ...values);
	return <>
		<Head title="Causal">how much less time a step of the program takes, if a piece of code takes less</Head>
		{rows.length ? <>
			<section class="panel"><div class="curves">{rows.map((r) => <figure key={r.kind + r.name}><figcaption><b><Name text={r.name} /></b> {r.kind}: <b class={r.verdict}>{r.verdict}</b></figcaption>{r.points.length > 0 && <Curve row={r} low={low} high={high} />}<p>{visible(r.sentence.replace(r.name + ' ', ''))}</p></figure>)}</div>
				{notesOf(rows).map((line) => <div class="foot" key={line}>{visible(line)}</div>)}</section>
			<section class="panel"><div class="scroll"><table class="small"><Titles of="Code|#CPU|#Slope|#95 %|Spared: less for a step" />
				<tbody>{rows.map((r) => <tr key={r.kind + r.name}><td class="mono wrap">{visible(r.name)}{r.of !== r.name && ' in ' + visible(r.of)}</td><td class="num">{percent(r.share)}</td><td class="num">{known(r.slope) ? r.slope.toFixed(2) : ''}</td>
					<td class="num">{known(r.low) ? `${r.low.toFixed(2)} to ${r.high.toFixed(2)}` : ''}</td><td>{r.points.map((p) => <div key={p.speedup}>{told(p)}</div>)}</td></tr>)}</tbody></table></div>
				<p class="dim">Other threads were held up while this code ran (<code>sonde causal</code>). A flat line is code that nobody waits for, however much CPU time it has.</p></section>
		</> : <section class="panel"><Empty>No experiments were made: sonde causal makes them.</Empty></section>}
	</>;
}

// Loops beside what the machine does at most: both axes in powers of ten. A point is one thread in one loop;
// what is not known is a line as long as it may be, never a point.
import { Fragment, h } from 'preact';
import { useRef } from 'preact/hooks';
import { Empty, Head, Name, Titles, useSize } from '../parts.jsx';
import { indices, percent, prefixed, visible } from '../format.js';
import { linkTo } from '../state.js';

const LEFT = 64, RIGHT = 150, TOP = 12, BOTTOM = 38, HEIGHT = 430;
const known = Number.isFinite;

// Loops and the roofs of one thread, as objects.
function read(loops, roofs) {
	const rows = indices(loops.rows).map((i) => ({
		id: loops.loop.at(i), label: loops.label.at(i), of: loops.function.at(i), share: loops.share[i], kind: loops.arithmetic.at(i), bound: loops.bound_by.at(i), reason: loops.reason.at(i),
		x: loops.flop_per_byte[i], x0: loops.flop_per_byte_low[i], x1: loops.flop_per_byte_high[i], y: loops.flop_per_second[i], y0: loops.flop_per_second_low[i], y1: loops.flop_per_second_high[i],
		roof: loops.roof_flop_per_second[i], part: loops.of_roof_share[i], source: loops.rate_source.at(i),
	}));
	const lines = indices(roofs.rows).filter((i) => roofs.threads[i] === 1).map((i) => ({ kind: roofs.kind.at(i), level: roofs.level.at(i), value: roofs.value[i], low: roofs.low[i], high: roofs.high[i], state: roofs.state.at(i) }));
	const used = new Set(rows.map((r) => r.kind));
	return [rows, lines.filter((l) => l.kind === 'read'), lines.filter((l) => !l.level && (used.has(l.kind) || l.kind === 'fma_double'))];
}

function frame(rows, slopes, flats, width) {
	const xs = rows.flatMap((r) => [r.x0, r.x1]).filter((v) => v > 0), ys = rows.flatMap((r) => [r.y, r.y0]).filter((v) => v > 0);
	const top = Math.max(...flats.map((l) => l.high), ...ys, 1e9), ridge = top / Math.min(...slopes.map((l) => l.value), top);
	const x = [Math.min(1 / 32, ...xs) / 1.6, Math.max(ridge * 2, 4, ...xs.map((v) => v * 1.6))];
	const y = [Math.min(top / 300, ...ys.map((v) => v / 2)), top * 1.5];
	const span = Math.max(60, width - LEFT - RIGHT), px = (v) => LEFT + span * Math.log(v / x[0]) / Math.log(x[1] / x[0]);
	const py = (v) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - Math.log(v / y[0]) / Math.log(y[1] / y[0]));
	return { x, y, px, py, right: LEFT + span, inside: (v) => Math.min(HEIGHT - BOTTOM, Math.max(TOP, py(v))) };
}

const decades = ([low, high], step) => {
	const list = [];
	for (let k = Math.ceil(Math.log(low) / Math.log(step)); step ** k <= high; k++)
		list.push(step ** k);
	return list;
};
const ratio = (v) => v >= 1 ? String(+v.toPrecision(3)) : `1/${Math.round(1 / v)}`;
const title = (r) => `${visible(r.label)} in ${visible(r.of)}: ${percent(r.share)} of CPU time; ${known(r.x) ? r.x.toPrecision(3) : 'no'} FLOP/byte, ${known(r.y) ? prefixed(r.y) + 'FLOP/s' : 'FLOP/s not known'}${r.reason ? '; ' + visible(r.reason) : ''}`;

function Roof({ f, line }) {
	const label = `${line.level || line.kind.replace('_', ' ')} ${prefixed(line.value)}${line.level ? 'B/s' : 'FLOP/s'}${line.state === 'uncertain' ? ' ?' : ''}`;
	const help = `${label}; windows from ${prefixed(line.low)} to ${prefixed(line.high)}; ${line.state}`;
	if (!line.level)
		return <g class="roof flat"><title>{help}</title><line x1={LEFT} x2={f.right} y1={f.py(line.value)} y2={f.py(line.value)} /><text x={f.right + 5} y={f.py(line.value) + 4}>{label}</text></g>;
	const from = Math.max(f.x[0], f.y[0] / line.value), to = Math.min(f.x[1], f.y[1] / line.value);
	return <g class="roof"><title>{help}</title><line x1={f.px(from)} y1={f.py(from * line.value)} x2={f.px(to)} y2={f.py(to * line.value)} /></g>;
}

// Names of the slopes stand to the left of the picture's middle, one below the other where they would meet.
function SlopeNames({ f, slopes }) {
	const at = f.x[0] * 1.12;
	let before = -Infinity;
	return slopes.toSorted((a, b) => b.value - a.value).map((line) => {
		const y = Math.max(before + 13, f.inside(at * line.value) - 16);
		before = y;
		return <text key={line.level} class="slope" x={f.px(at)} y={y}>{line.level} {prefixed(line.value)}B/s{line.state === 'uncertain' ? ' ?' : ''}</text>;
	});
}

function Point({ f, r }) {
	const size = 3.5 + 9 * Math.sqrt(Math.min(1, r.share)), x = known(r.x) && r.x > 0 ? f.px(r.x) : f.right - 6;
	const top = known(r.y1) ? r.y1 : known(r.roof) ? r.roof : f.y[1], bottom = known(r.y0) ? r.y0 : f.y[0];
	return <a href={linkTo('loop', r.id)} class={known(r.y) ? 'point' : 'point band'} aria-label={title(r)}><title>{title(r)}</title>
		<line x1={x} x2={x} y1={f.inside(top)} y2={f.inside(bottom)} />
		{known(r.y) && r.x1 > r.x0 * 1.02 && <line x1={f.px(r.x0)} x2={f.px(r.x1)} y1={f.inside(r.y)} y2={f.inside(r.y)} />}
		{known(r.y) && <circle cx={x} cy={f.inside(r.y)} r={size} />}</a>;
}

function Plot({ rows, slopes, flats }) {
	const ref = useRef(), [width] = useSize(ref), f = frame(rows, slopes, flats, width);
	return <div ref={ref}>{width > 0 && <svg class="roofline" width={width} height={HEIGHT} role="img" aria-label="Roofline of one thread; the numbers are in the table below">
		{decades(f.x, 2).map((v, i) => <g key={v} class="axis"><line x1={f.px(v)} x2={f.px(v)} y1={TOP} y2={HEIGHT - BOTTOM} />{(width > 900 || i % 2 === 0) && <text x={f.px(v)} y={HEIGHT - BOTTOM + 14} text-anchor="middle">{ratio(v)}</text>}</g>)}
		{decades(f.y, 10).map((v) => <g key={v} class="axis"><line x1={LEFT} x2={f.right} y1={f.py(v)} y2={f.py(v)} /><text x={LEFT - 6} y={f.py(v) + 4} text-anchor="end">{prefixed(v).replace('.00', '').replace('.0', '')}</text></g>)}
		<text class="word" x={(LEFT + f.right) / 2} y={HEIGHT - 6} text-anchor="middle">FLOP for each byte loaded or stored (at L1)</text>
		<text class="word" x={4} y={TOP + 4}>FLOP/s</text>
		{[...slopes, ...flats].map((line) => <Roof key={line.kind + line.level} f={f} line={line} />)}
		<SlopeNames f={f} slopes={slopes} />
		{rows.slice(0, 60).map((r) => <Point key={r.id} f={f} r={r} />)}
	</svg>}</div>;
}

const range = (low, high, show) => known(low) && known(high) && high > low * 1.02 ? <span class="dim"> {show(low)} to {show(high)}</span> : '';

export function Roofline({ chunks }) {
	const [rows, slopes, flats] = read(chunks['view-roofline'], chunks['view-roofs']);
	if (!rows.length)
		return <><Head title="Roofline" /><section class="panel"><Empty>No loop with a thousandth of the time does floating-point arithmetic, or this processor has no model.</Empty></section></>;
	return <>
		<Head title="Roofline">loops beside what one thread of this machine does at most</Head>
		<section class="panel"><Plot rows={rows} slopes={slopes} flats={flats} />
			<p class="dim">Lines are the bandwidths of loads and the peaks of arithmetic, as <code>sonde calibrate</code> measured them. Bytes are those that a loop's own instructions load and store: which of them come from beyond L1 is not known without hardware counters. A dashed line is a loop whose passes nobody counted: it stands somewhere below its roof.{slopes.length ? '' : ' The roofs of this machine were not measured: sonde calibrate --roofs, then make this report again.'}</p></section>
		<section class="panel"><div class="scroll"><table class="small told"><Titles of="Loop|#Share|#FLOP/byte|#FLOP/s|by|#Roof|#of roof|Bound by" />
			<tbody>{rows.map((r) => <Fragment key={r.id}><tr><td class="mono"><a href={linkTo('loop', r.id)}><Name text={r.label} /></a></td><td class="num">{percent(r.share)}</td>
				<td class="num">{known(r.x) ? r.x.toPrecision(3) : 'no bytes'}{range(r.x0, r.x1, (v) => v.toPrecision(2))}</td><td class="num">{known(r.y) ? prefixed(r.y) : ''}{range(r.y0, r.y1, prefixed)}</td><td>{visible(r.source)}</td>
				<td class="num" title={visible(r.kind)}>{known(r.roof) ? prefixed(r.roof) : ''}</td><td class="num">{known(r.part) ? percent(r.part) : ''}</td><td>{r.bound ? visible(r.bound) : <span class="dim">not known</span>}</td></tr>
				{r.reason && <tr class="why"><td class="wrap dim" colSpan={8}>{visible(r.reason)}</td></tr>}</Fragment>)}</tbody></table></div></section>
	</>;
}

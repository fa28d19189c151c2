// How a loop scales over the runs of the campaign that this one is of; the law and the sentences are evidence.
import { Fragment, h } from 'preact';
import { Chart } from '../chart.jsx';
import { Swatch, Titles } from '../parts.jsx';
import { visible } from '../format.js';

const fixed = (v) => Number.isNaN(v) ? '' : v.toFixed(2);

export function Scaling({ loop, chunks: { scaling: x }, theme }) {
	const rows = [...x.loop_number.keys()].filter((k) => x.loop_number[k] === loop);
	const of = (value) => rows.map((k) => value(k));
	if (!rows.length)
		return '';
	const most = 1.05 * Math.max(...of((k) => x.workers[k])), high = of((k) => x.efficiency_high[k] * x.ideal_speedup[k]);
	const data = [of((k) => x.workers[k]), of((k) => x.speedup[k]), of((k) => x.ideal_speedup[k])];
	const top = 1.08 * Math.max(...data[1], ...data[2]);
	return <section class="panel"><h2>Scaling <span class="dim">over the runs of the campaign, by the CPU time of the busiest worker</span></h2><div class="grid2">
		<div><Chart data={data} xRange={[0, most]} yRange={[0, top]} xLeast={1} xLabel="workers (ranks × threads)" yLabel="speed-up" height={190} theme={theme} label="Speed-up over workers; the numbers are in the table"
			series={[{ label: 'speed-up', colour: '--accent', dots: true, bars: [of((k) => x.efficiency_low[k] * x.ideal_speedup[k]), high] }, { label: 'ideal', colour: '--dim', dash: true }]} />
			<div class="legend"><span><Swatch colour="--accent" />speed-up, with its 95 % interval</span><span><Swatch colour="--dim" />ideal</span></div></div>
		<div class="scroll"><table class="small"><Titles of="Configuration|#Workers|#Speed-up|#Efficiency|#95 %|Why" />
			<tbody>{rows.map((k) => <tr key={k}><td>{visible(x.configuration.at(k))}</td><td class="num">{x.workers[k]}</td><td class="num">{fixed(x.speedup[k])}</td><td class="num">{fixed(x.efficiency[k])}</td><td class="num">{x.efficiency_low[k] >= 0 ? `${fixed(x.efficiency_low[k])} to ${fixed(x.efficiency_high[k])}` : ''}</td><td class="wrap dim">{visible(x.reason.at(k))}</td></tr>)}</tbody></table></div>
	</div></section>;
}

// The critical path: a strip over the threads that it goes through, and what it consists of.
import { Fragment, h } from 'preact';
import { Head, Name, Share, Swatch, Titles, elapsedS } from '../parts.jsx';
import { indices, percent, seconds, visible } from '../format.js';
import { namedColour } from '../palette.js';

const LANES = 24, ROWS = 200; // shown; what has less of the path is summed up, or left out

export function Critical({ chunks }) {
	const x = chunks['view-critical'], sums = new Map(), threads = new Map(), end = elapsedS();
	const put = (map, key, made, time) => {
		const item = map.get(key) ?? made;
		item.time += time;
		map.set(key, item);
		return item;
	};
	for (let i = 0; i < x.rows; i++) {
		const at = (key) => Number.isNaN(x[key][i]) ? '' : x[key][i], time = x.time_s[i], kind = x.kind.at(i), name = x.function.at(i);
		const lane = put(threads, `${x.process[i]} ${x.thread[i]}`, { time: 0, spans: [], name: `${at('rank') === '' ? '' : `rank ${at('rank')} `}${at('thread')}` }, time);
		const sum = put(sums, `${kind} ${name}`, { time: 0, i, kind, name, lanes: new Set() }, time);
		if (!(time < sum.most))
			[sum.most, sum.i] = [time, i]; // its line is the largest part's
		sum.lanes.add(lane);
		for (const span of JSON.parse(x.spans.at(i)))
			lane.spans.push([...span, sum]);
	}
	const largest = (map) => [...map.values()].sort((a, b) => b.time - a.time), rows = largest(sums), lanes = largest(threads);
	rows.forEach((sum, rank) => { sum.colour = namedColour(rank); });
	const others = lanes.splice(LANES);
	if (others.length)
		lanes.push({ name: `${others.length} others`, spans: others.flatMap((l) => l.spans) });
	return <>
		<Head title="Critical path">{indices(x.rows).map((i) => visible(x.sentence.at(i)))}</Head>
		<section class="panel path">{lanes.map((l) => <Fragment key={l.name}><span class="dim">{l.name}</span><div>{l.spans.map(([a, b, sum]) =>
			<i style={{ left: `${100 * a / end}%`, width: `${100 * (b - a) / end}%`, background: `var(${sum.colour})` }} title={`${sum.kind} ${visible(sum.name)}: ${seconds(a * 1e9)} to ${seconds(b * 1e9)}`} />)}</div></Fragment>)}<span /><p class="dim">0 <span>{seconds(end * 1e9)}</span></p></section>
		<section class="panel"><div class="scroll"><table class="small"><Titles of="Share|#Time|#2x saves|#Threads|Kind|Function|Source" />
			<tbody>{rows.slice(0, ROWS).map((sum) => <tr key={sum.kind + sum.name}><td style={{ minWidth: '9rem' }}><Share part={sum.time} whole={end} /></td><td class="num">{seconds(sum.time * 1e9)}</td><td class="num">{x.saved_share[sum.i] >= 0 && percent(x.saved_share[sum.i])}</td><td class="num">{sum.lanes.size}</td>
				<td><Swatch colour={sum.colour} /> {sum.kind}</td><td class="mono"><Name text={sum.name} /></td><td class="mono"><Name text={x.source.at(sum.i)} /></td></tr>)}</tbody></table></div><div class="foot">of the whole run, whatever the filter</div></section>
	</>;
}

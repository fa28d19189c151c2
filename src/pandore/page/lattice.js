/* Levels of a lattice and its bottlenecks. The drawing of the cuts is in the page already. */

function drawLevels(parent, trace, choose) {
	const width = 1120, height = 120, left = 34, count = trace.mean.length, most = Math.max(1, trace.active);
	const svg = add(parent, 'svg', { class: 'levels', viewBox: `0 0 ${width} ${height + 34}`, width, role: 'img',
		'aria-label': `mean number of events possible next on each of ${trace.events} levels; the table of bottlenecks says where it is low` });
	const x = (level) => left + (width - left) * level / trace.events, y = (mean) => 8 + height * (1 - mean / most);
	for (let d = 0; d <= most; d += Math.ceil(most / 4)) {
		add(svg, 'path', { d: `M${left} ${y(d)}H${width}` });
		add(svg, 'text', { x: left - 8, y: y(d) + 4, 'text-anchor': 'end' }, d);
	}
	trace.mean.forEach((mean, at) => {
		if (mean === null)
			return;
		const from = x(at * trace.events / count), to = x((at + 1) * trace.events / count);
		const bar = add(svg, 'rect', { class: 'bar' + (trace.whole[at] ? '' : ' pale'), x: from.toFixed(2), y: y(mean).toFixed(1),
			width: Math.max(0.6, to - from - (to - from > 4 ? 1 : 0)).toFixed(2), height: (height * mean / most).toFixed(1) });
		add(bar, 'title', {}, `level ${Math.floor(at * trace.events / count)}: ${mean.toFixed(2)} events possible next on average`);
	});
	for (const segment of trace.segments) {
		const from = x(segment.first), to = Math.max(x(Math.min(segment.last + 1, trace.events)), from + 2);
		segment.mark = add(svg, 'rect', { class: 'neck', x: from.toFixed(1), y: 8, width: (to - from).toFixed(1), height });
		add(segment.mark, 'title', {}, `bottleneck ${segment.number}`);
		segment.mark.addEventListener('click', () => choose(segment));
	}
	add(svg, 'text', { x: left, y: height + 26 }, '0');
	add(svg, 'text', { x: width, y: height + 26, 'text-anchor': 'end' }, `level ${trace.events}: events done`);
}

function showLattice(trace) {
	const section = document.getElementById(trace.id), choose = (segment) => {
		section.querySelectorAll('.chosen').forEach((e) => e.classList.remove('chosen'));
		segment.mark.classList.add('chosen');
		segment.line.classList.add('chosen');
		segment.line.scrollIntoView({ block: 'nearest' });
	};
	if (!trace.events)
		return;
	add(section, 'h3', {}, 'Events possible next, level by level');
	add(section, 'p', { class: 'dim' }, 'Averages over the cuts of each level; full height: every process can act. Bottlenecks are shaded. Pale: counted only within windows.');
	drawLevels(section, trace, choose);
	add(section, 'h3', {}, 'Bottlenecks');
	if (!trace.segments.length) {
		add(section, 'p', {}, 'None.');
		return;
	}
	if (trace.segmentCount > trace.segments.length)
		add(section, 'p', { class: 'dim' }, `The first ${trace.segments.length} of ${trace.segmentCount}.`);
	const hasTime = trace.segments.some((s) => s.lost_s !== null);
	table(section, 'bottlenecks', [['#', (s) => s.number, 'count'], ['levels', (s) => `${s.first}–${s.last}`, 'text'],
		['events possible next', (s) => (s.mean === null ? null : Number(s.mean.toFixed(2))), 'text'],
		...(hasTime ? [['loses, process-seconds', (s) => s.lost_s, 'seconds'], ['processes busy', (s) => (s.busy === null ? null : Number(s.busy.toFixed(2))), 'text']] : []),
		['can act', (s) => s.acts, 'list'], ['waits', (s) => s.waits, 'list']], trace.segments, choose);
}

const COMPARED = [['trace', 'trace', 'text'], ['processes', 'processes', 'count'], ['events', 'events', 'count'],
	['events a step', 'events_per_step', 'real'], ['by level', 'mean_level_out_degree', 'real'], ['cuts', 'cuts', 'count'],
	['arcs', 'arcs', 'count'], ['mean out', 'mean_out_degree', 'real'], ['wide', 'wide_share', 'share'], ['narrow', 'narrow_share', 'share'],
	['chain', 'depth', 'count'], ['syncs', 'synchronisations', 'count']];
const COMPARED_TIME = [['work', 'work_s', 'seconds'], ['critical path', 'critical_path_s', 'seconds'],
	['possible', 'potential_parallelism', 'real'], ['realised', 'realised_parallelism', 'real'], ['waiting in the model', 'modelled_wait_s', 'seconds'], ['bottlenecks lose', 'bottleneck_lost_s', 'seconds']];

function compared(value, kind) {
	if (value === null || kind === 'text' || kind === 'seconds')
		return value;
	return kind === 'real' ? Number(value.toPrecision(4)) : kind === 'share' ? Number((100 * value).toPrecision(3)) : Number(value);
}

/* Cuts are decimal strings: as numbers they are in order, if not exact. */
function showComparison(comparison) {
	const section = document.getElementById('compared');
	const hasTime = comparison.rows.some((row) => row.work_s !== null), shown = hasTime ? [...COMPARED, ...COMPARED_TIME] : COMPARED;
	const columns = shown.map(([title, key, kind]) => [kind === 'share' ? title + ', %' : title, (row) => compared(row[key], kind),
		kind === 'real' || kind === 'share' ? 'count' : kind]);
	section.hidden = false;
	add(section, 'p', { class: 'dim' }, 'By level: events possible next, on average over the levels. Mean out: the same over the cuts. Wide: cuts in which all processes but one can act. ' +
		'Narrow: levels in a bottleneck. Chain: events of which each needs the one before. Syncs: inner levels with one cut.' +
		(hasTime ? ' Possible: work over critical path; realised: work over the time from the first event to the last.' : ''));
	table(section, 'lattices side by side', columns, comparison.rows);
}

document.getElementById('page').querySelectorAll('.only-static').forEach((e) => e.remove());
setUpTheme();
const comm = data('comm'), lattices = data('lattices'), comparison = data('comparison');
if (comm)
	showComm(comm.profiles, comm.view, comparison ? comparison.rows : []);
if (document.getElementById('compared'))
	showComparison(comparison);
if (lattices)
	lattices.forEach(showLattice);

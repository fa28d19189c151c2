// Tables of `sonde show`, as their views describe them: the page knows of none by name (toc.views), nor of
// the columns that its own rows have beside those that it computes (toc.row_columns).
import { Fragment, h } from 'preact';
import { useMemo } from 'preact/hooks';
import { toc } from '../chunks.js';
import { Head, Name, Share } from '../parts.jsx';
import { grouped, indices, percent, prefixed, visible } from '../format.js';
import { sortOf } from '../state.js';
import { Table } from '../table.jsx';
import { Causal } from './causal.jsx';
import { Critical } from './critical.jsx';
import { Roofline } from './roofline.jsx';

const compares = !!toc.compare;
const isText = (c) => c.kind === 'text';

function cell(c, x, i) {
	const value = x[c.key][i];
	if (Number.isNaN(value))
		return '';
	if (c.kind === 'share')
		return percent(value);
	if (c.kind === 'bool')
		return value ? 'yes' : 'no';
	if (c.kind === 'rate')
		return prefixed(value);
	return c.kind === 'integer' ? grouped(value) : value >= 100 ? grouped(value) : value.toFixed(Math.min(value >= 10 ? 1 : 4, c.decimals ?? 4));
}

// Rows that the search keeps, in the order asked for: numbers largest first, texts by the alphabet.
function sorted(view, x, matcher, key, ascending) {
	const texts = view.columns.filter(isText), column = view.columns.find((c) => c.key === key), sign = ascending ? -1 : 1;
	const rows = indices(x.rows).filter((i) => !matcher || texts.some((c) => matcher.test(x[c.key].at(i))));
	const known = (v) => Number.isNaN(v) ? -Infinity : v;
	if (!column)
		return rows;
	const less = isText(column) ? (a, b) => x[key].at(a) < x[key].at(b) ? -1 : x[key].at(a) > x[key].at(b) ? 1 : 0 : (a, b) => known(x[key][b]) - known(x[key][a]);
	return rows.sort((a, b) => sign * (less(a, b) || 0) || a - b);
}

// Headings and sentences of the page begin large.
const large = (words) => words.charAt(0).toUpperCase() + words.slice(1);
const heading = (c) => large(c.title ?? c.key.replaceAll('_', ' '));

// Columns share the room by their longest texts, so that short words leave it to names; the first, which names the row, has more.
const longest = (texts, rows) => Math.min(40, Math.max(5, ...Array.from({ length: Math.min(rows, 1000) }, (_, i) => visible(texts.at(i)).length)));
const roomOf = (length, most = 8) => `minmax(${Math.min(most, length * .6 + 1.4).toFixed(1)}rem, ${length}fr)`;

// A column of `sonde show` with the numbers and texts of chunk x.
const tableColumn = (c, x, query, n) => ({ key: c.key, title: heading(c), help: c.help ?? c.key, num: !isText(c),
	width: isText(c) ? roomOf(longest(x[c.key], x.rows), n === 0 ? 14 : 8) : c.kind === 'share' ? '9rem' : `${Math.max(7.4, heading(c).length * .58 + 2.6)}rem`, least: isText(c) ? 110 : 84, className: isText(c) ? 'mono' : '',
	render: isText(c) ? (i) => <Name text={x[c.key].at(i)} query={query} /> : c.kind === 'share' && x[c.key].every((v) => !(v > 1)) ? (i) => Number.isNaN(x[c.key][i]) ? '' : <Share part={x[c.key][i]} whole={1} /> : (i) => cell(c, x, i) });

// Heading and meaning of a column that the page computes, as the view has them.
export const words = (rows, key) => {
	const column = toc.row_columns?.[rows]?.find((c) => c.key === key);
	return column && { title: column.title, help: column.help };
};
export const chunkOf = (rows) => rows + '-columns';
const has = (rows) => toc.chunks.some((c) => c.name === chunkOf(rows));
// The chunks of columns of these rows, if they have some.
export const chunksOf = (...rows) => compares ? [] : rows.filter(has).map(chunkOf);
export const columnsOf = (rows, chunks) => has(rows) ? toc.row_columns[rows].filter((c) => c.kind).map((c) => tableColumn(c, chunks[chunkOf(rows)])) : [];

const Headings = ({ columns }) => <thead><tr>{columns.map((c) => <th key={c.key} class={c.num ? 'num' : ''} title={c.help}>{visible(c.title)}</th>)}</tr></thead>;

const Listed = (view) => ({ chunks, filter, matcher }) => {
	const x = chunks['view-' + view.name];
	const [key, ascending, order] = sortOf(filter.params, view.sort);
	const rows = useMemo(() => sorted(view, x, matcher, key, ascending), [matcher, key, ascending]);
	const columns = view.columns.map((c, n) => tableColumn(c, x, matcher, n));
	return <>
		<Head title={visible(view.title)}>{visible(view.what)}</Head>
		<section class="panel flush fill"><Table label={visible(view.what)} columns={columns} rows={rows} rowKey={(i) => i} empty={view.why_empty && large(visible(view.why_empty)) + '.'} {...order} />
			{view.foot?.trim().split('\n').map((line) => <div class="foot" key={line}>{visible(line)}</div>)}
			<div class="foot">{grouped(rows.length)} rows, of the whole run; <code>sonde show {view.name}</code> has more columns</div></section>
	</>;
};

// Few rows whose last column is a sentence: it stands below its row, as long as it is. Severities, of one unit, have bars.
const Sentences = (view) => ({ chunks, matcher }) => {
	const x = chunks['view-' + view.name], columns = view.columns.map((c) => tableColumn(c, x, matcher)), last = columns.pop();
	return <>
		<Head title={visible(view.title)}>{visible(view.what)}</Head>
		<section class="panel"><div class="scroll"><table class="small told">
			<Headings columns={columns} />
			<tbody>{sorted(view, x, matcher, view.sort).map((i) => <Fragment key={i}>
				<tr>{columns.map((c) => <td key={c.key} class={c.num ? c.key === 'severity' ? 'num drawn' : 'num' : ''}>{c.num ? c.render(i) : visible(x[c.key].at(i))}</td>)}</tr>
				{x[last.key].at(i) && <tr class="why"><td class="wrap dim" colSpan={columns.length}>{visible(x[last.key].at(i))}</td></tr>}</Fragment>)}</tbody></table></div><div class="foot">of the whole run, whatever the filter</div></section>
	</>;
};

// Views whose rows are of loops: the view of one loop has its rows.
const ofLoops = (toc.views ?? []).filter((view) => toc.chunks.find((c) => c.name === 'view-' + view.name)?.columns.some(([key]) => key === 'loop'));
export const LOOP_CHUNKS = (toc.views ?? []).filter((view) => ofLoops.includes(view) || view.name === 'sharing').map((view) => 'view-' + view.name);
// Instances, variants and caches are drawn there (views/measured.jsx).
export const ListedOfLoop = ({ id, chunks }) => ofLoops.map((view) => {
	const x = chunks['view-' + view.name], rows = indices(x.rows).filter((i) => x.loop.at(i) === id);
	const columns = view.columns.filter((c) => c.key !== 'points' && !words('loops', c.key)).map((c) => tableColumn(c, x));
	return rows.length > 0 && !/instances|variants|caches/.test(view.name) && <section class="panel" key={view.name}><h2>{visible(view.title)} <span class="dim">{visible(view.what)}</span></h2><div class="scroll" style={{ maxHeight: '16rem' }}><table class="small">
		<Headings columns={columns} />
		<tbody>{rows.map((i) => <tr key={i}>{columns.map((c) => <td key={c.key} class={c.num ? 'num' : 'mono'}>{c.render(i)}</td>)}</tr>)}</tbody></table></div></section>;
});

// Lines of VIEWS (main.jsx).
const hasOwn = { causal: Causal, critical: Critical, roofline: Roofline };
const chunksFor = (view) => view.name === 'roofline' ? ['view-roofline', 'view-roofs'] : ['view-' + view.name];
export const listedIn = (group) => (toc.views ?? []).filter((view) => (view.group ?? 'System') === group)
	.map((view) => [view.name, visible(view.title), null, hasOwn[view.name] ?? (view.has_sentences ? Sentences : Listed)(view), chunksFor(view)]);

// Small parts that several views share.
import { Fragment, h } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { NONE, toc } from './chunks.js';
import { linkTo } from './state.js';
import { ANONYMOUS, grade, grouped, interval, partsOf, percent, seconds, visible } from './format.js';

// A sample of a colour (palette.js), for a legend.
export const Swatch = ({ colour }) => <span class="swatch" style={{ background: `var(${colour})` }} />;

export function Name({ text, query }) {
	const shown = visible(text);
	const brief = query ? shown : shown.replaceAll(ANONYMOUS, '');
	const [head, last, tail] = query ? [] : partsOf(brief);
	return (head || tail) && (!shown.startsWith('<') || head.startsWith('<')) ? <span class="name cut" dir="ltr" title={shown}>{head && <span class="before"><bdi dir="ltr">{head}</bdi></span>}<span>{last}</span>{tail && <span class="after">{tail}</span>}</span>
		: <span class="name" dir="ltr" title={shown}>{query ? mark(shown, query) : brief}</span>;
}

function mark(text, query) {
	const found = query.exec?.(text);
	if (!found || !found[0])
		return text;
	const at = found.index, end = at + found[0].length;
	return <>{text.slice(0, at)}<span class="hit">{text.slice(at, end)}</span>{text.slice(end)}</>;
}

const MARKS = ['○', '◐', '●'];
const GRADES = ['a hint only: fewer than 20 samples', 'read with care: fewer than 100 samples', 'well measured'];

export function Quality({ samples, share, all, low, high }) {
	const g = grade(samples);
	const [a, b] = low !== undefined ? [low, high] : interval((share ?? 0) * all, all);
	const text = `${GRADES[g]}; ${grouped(samples)} samples, 95 % interval ${percent(a)} to ${percent(b)}`;
	return <span class={`q${g}`} title={text} aria-label={text} role="img">{MARKS[g]}</span>;
}

export function Share({ part, whole }) {
	const share = whole > 0 ? part / whole : 0;
	return <Bar share={share}>{percent(share)}</Bar>;
}

// A bar beside the words that it draws, which have so much room; low and high are the ends of its interval.
export function Bar({ share, room = '4.4rem', children, style, low, high }) {
	const long = (v) => `calc((100% - ${room}) * ${v > 0 ? Math.min(1, v) : 0})`;
	return <div class="bar"><i style={{ width: long(share), ...style }} />{high > low && low < 1 && <b style={{ left: long(low), width: long(Math.min(1, high) - low) }} />}<span>{children}</span></div>;
}

// Of a function.
export const Times = ({ agg, f }) => [['exclusive', agg.funcExcl], ['inclusive', agg.funcIncl]].map(([word, { [f]: ns }], i) => `${i ? ' · ' : ''}${word} ${seconds(ns)} (${percent(agg.total > 0 ? ns / agg.total : 0)})`);

// What was not measured, or is not sure.
export const Warnings = ({ none }) => toc.warnings.length ? <ul class="sentences quiet-list">{toc.warnings.map((w) => <li key={w} class="warning"><span>{visible(w)}</span></li>)}</ul> : <p class="dim">{none}</p>;

export function Tile({ label, value, note }) {
	return <div class="tile"><div class="label">{label}</div><div class="value">{value}</div>
		<div class="note" title={typeof note === 'string' ? note : undefined}>{note}</div></div>;
}

// items: [{ name, value, colour (a custom property), help }]; a bar and what its parts mean.
export function StackedBar({ items, format = seconds, label }) {
	const total = items.reduce((sum, item) => sum + Math.max(0, item.value), 0);
	const shown = items.filter((item) => item.value > 0);
	return <div role="img" aria-label={`${label}: ${shown.map((i) => `${i.name} ${percent(i.value / total)}`).join(', ')}`}>
		<div class="stack" aria-hidden="true">{shown.map((item) => <div key={item.name} style={{ flex: `${item.value} 0 0`, background: `var(${item.colour})`, color: `var(${item.colour}-ink)` }}
			title={`${item.name}: ${format(item.value)}, ${percent(item.value / total)}`}>{item.value / total > 0.07 ? item.name : ''}</div>)}</div>
		<div class="legend">{shown.map((item) => <span key={item.name} title={item.help}><Swatch colour={item.colour} />{item.name} <span class="dim">{percent(item.value / total)} · {format(item.value)}</span></span>)}</div>
	</div>;
}

export function Switch({ label, value, options, onChange }) {
	return <div class="switch" role="group" aria-label={label}>{options.map(([key, title]) =>
		<button key={key} aria-pressed={value === key} onClick={() => onChange(key)}>{title}</button>)}</div>;
}

// The headings of a small table: 'Loop|#Time' has numbers in its second column; behind ~ stands what a
// heading means; one with ! in front is for screen readers only.
export const Titles = ({ of }) => <thead><tr>{of.split('|').map((each) => {
	const [, mark, title, help] = /^([#!]?)([^~]+)~?(.*)/.exec(each);
	return <th class={mark === '#' ? 'num' : ''} title={help}>{mark === '!' ? <span class="visually-hidden">{title}</span> : title}</th>;
})}</tr></thead>;

export function Empty({ children, command }) {
	return <div class="empty"><div>{children}</div>{command && <code>{command}</code>}</div>;
}

export function Head({ title, children, tools }) {
	return <div class="head"><h1>{title}</h1><span class="dim">{children}</span>
		{tools && <div class="tools">{tools}</div>}</div>;
}

// The width and height of an element as it is laid out.
export function useSize(ref) {
	const [size, setSize] = useState([0, 0]);
	useLayoutEffect(() => {
		const read = () => setSize([ref.current.clientWidth, ref.current.clientHeight]);
		const observer = new ResizeObserver(read);
		observer.observe(ref.current);
		read();
		return () => observer.disconnect();
	}, []);
	return size;
}

// A canvas sized for the screen's pixels; `draw(context, width, height)` runs when `inputs` change.
export function Canvas({ width, height, draw, inputs, label, ...events }) {
	const ref = useRef();
	useEffect(() => {
		const canvas = ref.current, scale = window.devicePixelRatio || 1;
		canvas.width = Math.max(1, Math.round(width * scale));
		canvas.height = Math.max(1, Math.round(height * scale));
		const context = canvas.getContext('2d');
		context.scale(scale, scale);
		draw(context, width, height);
	}, [width, height, ...inputs]);
	return <canvas ref={ref} role="img" aria-label={label} style={{ width: width + 'px', height: height + 'px' }} {...events} />;
}

export function colourOf(variable) {
	return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}

export function Tip({ at, children }) {
	const ref = useRef();
	useLayoutEffect(() => {
		const box = ref.current.getBoundingClientRect();
		const x = Math.min(at[0] + 14, innerWidth - box.width - 8), below = at[1] + 16;
		ref.current.style.left = Math.max(8, x) + 'px';
		ref.current.style.top = (below + box.height > innerHeight - 8 ? Math.max(8, at[1] - box.height - 12) : below) + 'px';
	});
	return <div class="tip" ref={ref}>{children}</div>;
}

export function FunctionLink({ d, f, query }) {
	if (f === NONE || f === undefined)
		return <span class="dim">unknown</span>;
	return <a class="mono" href={linkTo('source', `f${f}`)}><Name text={d.functions.name.at(f)} query={query} /></a>;
}

export function LoopLink({ d, loop }) {
	return <a class="mono" href={linkTo('loop', d.loops.id.at(loop))}><Name text={d.loops.label.at(loop)} /></a>;
}

export function place(d, file, line, last) {
	if (file === NONE || file === undefined)
		return '';
	const path = d.files.path.at(file), base = path.slice(path.lastIndexOf('/') + 1);
	return line ? `${base}:${line}${last && last !== line ? '-' + last : ''}` : base;
}

export const elapsedS = () => toc.elapsed_ns / 1e9;

// Which columns: groups is a map from title to [key, words].
export function Picker({ groups, chosen, onChange }) {
	const [open, setOpen] = useState(false);
	const ref = useRef();
	useEffect(() => {
		if (!open)
			return undefined;
		const close = (e) => { if (!ref.current.contains(e.target) || e.key === 'Escape') setOpen(false); };
		document.addEventListener('mousedown', close);
		document.addEventListener('keydown', close);
		return () => { document.removeEventListener('mousedown', close); document.removeEventListener('keydown', close); };
	}, [open]);
	const flip = (key) => {
		const next = new Set(chosen);
		if (!next.delete(key))
			next.add(key);
		onChange(next);
	};
	return <div class="picker" ref={ref}><button class="plain" aria-expanded={open} onClick={() => setOpen(!open)}>Columns</button>
		{open && <div>{[...groups].map(([title, list]) => <Fragment key={title}>{title && <b>{title}</b>}{list.map(([key, words]) => <label key={key}><input type="checkbox" checked={chosen.has(key)} onChange={() => flip(key)} />{words}</label>)}</Fragment>)}</div>}</div>;
}

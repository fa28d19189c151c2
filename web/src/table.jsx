// The virtual table: any number of rows of one height, of which only those in view exist.
import { h } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

export const ROW = 24;

// First and last row to draw. Kept apart for its test: with rows there is always one in view, however
// the scroll position came about (a filter may have shortened the table under it).
export function visibleRange(count, scrollTop, height) {
	const last = Math.max(0, count * ROW - height);
	const top = Math.min(Math.max(0, scrollTop), last);
	const first = Math.max(0, Math.floor(top / ROW) - 4);
	return [first, Math.min(count, Math.ceil((top + height) / ROW) + 4)];
}

export function useViewport(ref, count) {
	const [view, setView] = useState({ top: 0, height: 600 });
	useLayoutEffect(() => {
		const element = ref.current;
		const read = () => setView({ top: element.scrollTop, height: element.clientHeight });
		const observer = new ResizeObserver(read);
		observer.observe(element);
		element.addEventListener('scroll', read, { passive: true });
		read();
		return () => {
			observer.disconnect();
			element.removeEventListener('scroll', read);
		};
	}, []);
	useLayoutEffect(() => { // a shorter table moves the scroll position without an event
		if (ref.current && ref.current.scrollTop !== view.top)
			setView({ top: ref.current.scrollTop, height: ref.current.clientHeight });
	}, [count]);
	return visibleRange(count, view.top, view.height);
}

function scrollToRow(element, row, headHeight, toMiddle) {
	const top = row * ROW, height = element.clientHeight - headHeight;
	if (toMiddle && (top < element.scrollTop || top + ROW > element.scrollTop + height)) {
		element.scrollTop = top - height / 3;
		return;
	}
	if (top < element.scrollTop)
		element.scrollTop = top;
	else if (top + ROW > element.scrollTop + height)
		element.scrollTop = top + ROW - height;
}

// columns: [{ key, title, width (of grid-template-columns), num, help, render(row) }]
// rows: any array; a row is passed to the columns and callbacks as it is.
// tree: { depth(row), isOpen(row) (undefined: a leaf), toggle(row) } or absent.
export function Table({ label, columns, rows, rowKey, sort, onSort, onOpen, selected, onSelect, tree,
	onHover, className = '', rowClass, empty = 'Nothing passes the filter.' }) {
	const ref = useRef();
	const [first, end] = useViewport(ref, rows.length);
	const [own, setOwn] = useState(null);
	const cursor = selected !== undefined ? selected : own;
	const select = (row) => {
		setOwn(row === undefined ? null : rowKey(row));
		onSelect?.(row);
	};
	const position = rows.findIndex ? findPosition(rows, rowKey, cursor) : -1;
	const headHeight = columns.some((c) => c.title) ? 28 : 0;

	useEffect(() => {
		if (position >= 0 && selected !== undefined)
			scrollToRow(ref.current, position, headHeight, true);
	}, [selected]);

	const move = (to) => {
		const next = Math.min(rows.length - 1, Math.max(0, to));
		if (rows[next] === undefined)
			return;
		select(rows[next]);
		scrollToRow(ref.current, next, headHeight);
	};
	const onKey = (event) => {
		const page = Math.max(1, Math.floor(ref.current.clientHeight / ROW) - 2);
		const row = rows[position];
		const steps = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1, PageDown: page, PageUp: -page };
		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		if (event.key in steps)
			move(position < 0 ? 0 : position + steps[event.key]);
		else if (event.key === 'Home')
			move(0);
		else if (event.key === 'End')
			move(rows.length - 1);
		else if (event.key === 'Enter' && row !== undefined)
			onOpen?.(row);
		else if (tree && row !== undefined && (event.key === 'l' || event.key === 'ArrowRight') && tree.isOpen(row) === false)
			tree.toggle(row);
		else if (tree && row !== undefined && (event.key === 'h' || event.key === 'ArrowLeft') && tree.isOpen(row) === true)
			tree.toggle(row);
		else
			return;
		event.preventDefault();
		event.stopPropagation();
	};
	const template = { gridTemplateColumns: columns.map((c) => c.width ?? '7rem').join(' ') };
	const minimum = { minWidth: columns.reduce((sum, c) => sum + (c.least ?? 90), 0) + 'px' };
	const shown = [];
	for (let i = first; i < end; i++)
		shown.push(rows[i]);
	return (
		<div class={`grid ${className}`} ref={ref} tabIndex={0} onKeyDown={onKey} aria-label={label}
			data-table role={tree ? 'treegrid' : 'grid'} aria-rowcount={rows.length + 1}
			aria-colcount={columns.length} style={{ '--row': ROW + 'px' }}>
			{headHeight > 0 && <div class="titles cells" role="row" aria-rowindex={1} style={{ ...template, ...minimum }}>
				{columns.map((c) => <button key={c.key} role="columnheader" class={c.num ? 'num' : ''}
					title={c.help} tabIndex={-1} onClick={() => c.sortable !== false && onSort?.(c.key)}
					aria-sort={sort?.key === c.key ? (sort.ascending ? 'ascending' : 'descending') : undefined}>
					{c.title}{sort?.key === c.key ? (sort.ascending ? ' ▲' : ' ▼') : ''}</button>)}
			</div>}
			<div style={{ position: 'relative', height: rows.length * ROW + 'px', ...minimum }} role="rowgroup">
				{shown.map((row, i) => {
					const key = rowKey(row), isOpen = tree?.isOpen(row);
					return <div class={`row cells ${rowClass?.(row) ?? ''}`} role="row" key={key}
						aria-rowindex={first + i + 2} aria-selected={key === cursor}
						aria-expanded={isOpen} aria-level={tree ? tree.depth(row) + 1 : undefined}
						style={{ top: (first + i) * ROW + 'px', height: ROW + 'px', ...template }}
						onClick={() => select(row)} onDblClick={() => onOpen?.(row)}
						onMouseEnter={onHover && (() => onHover(row))} onMouseLeave={onHover && (() => onHover(null))}>
						{columns.map((c) => <div role="gridcell" key={c.key} class={c.num ? 'num' : c.className ?? ''}>{c.render(row)}</div>)}
					</div>;
				})}
			</div>
			{rows.length === 0 && <div class="empty">{empty}</div>}
		</div>
	);
}

function findPosition(rows, rowKey, key) {
	if (key === null || key === undefined)
		return -1;
	for (let i = 0; i < rows.length; i++)
		if (rowKey(rows[i]) === key)
			return i;
	return -1;
}

'use strict';
/* What the pictures and tables of the page share: elements, numbers, sortable tables, the theme. */

const SVG = 'http://www.w3.org/2000/svg';

function add(parent, name, attributes, text) {
	const inside = name === 'svg' || parent instanceof SVGElement;
	const element = inside ? document.createElementNS(SVG, name) : document.createElement(name);
	for (const [key, value] of Object.entries(attributes || {}))
		if (value !== undefined && value !== null)
			element.setAttribute(key, value);
	if (text !== undefined)
		element.textContent = text;
	parent.appendChild(element);
	return element;
}

function sum(list, value) {
	return list.reduce((total, item) => total + value(item), 0);
}

function grouped(n) {
	return Number.isInteger(n) && Math.abs(n) < 1e15 ? String(n).replace(/\B(?=(\d{3})+$)/g, ',') : String(n);
}

function seconds(s) {
	if (s === null || Number.isNaN(s))
		return '';
	if (s === 0)
		return '0';
	const [scale, unit] = s < 1e-6 ? [1e9, 'ns'] : s < 1e-3 ? [1e6, 'µs'] : s < 1 ? [1e3, 'ms'] : [1, 's'];
	return Number((s * scale).toPrecision(3)) + ' ' + unit;
}

/* columns: [title, value(row), kind], kind one of text, count, seconds, and of what cannot be put in order
 * list, label, value. Rows that choose() gets are chosen by click or Enter. */
function table(parent, caption, columns, rows, choose) {
	const scroll = add(parent, 'div', { class: 'scroll' });
	const element = add(scroll, 'table');
	add(element, 'caption', { class: 'visually-hidden' }, caption);
	const head = add(add(element, 'thead'), 'tr'), body = add(element, 'tbody');
	const isNumber = (column) => ['count', 'seconds', 'value'].includes(column[2]);
	let by = -1, down = true;

	function fill() {
		const ordered = rows.slice();
		if (by >= 0) {
			const value = columns[by][1], sign = down ? -1 : 1;
			ordered.sort((a, b) => {
				const x = value(a), y = value(b);
				return x === y ? 0 : sign * (x < y ? -1 : 1);
			});
		}
		body.textContent = '';
		for (const row of ordered) {
			const line = add(body, 'tr', choose && { tabindex: 0 });
			row.line = line;
			for (const column of columns) {
				const value = column[1](row), cell = add(line, 'td', { class: isNumber(column) ? 'num' : null });
				if (column[2] === 'list' && value.length) {
					const list = add(cell, 'ul');
					value.forEach((item) => add(list, 'li', {}, item));
				} else if (column[2] !== 'list') {
					cell.textContent = value === null || value === undefined ? ''
						: column[2] === 'seconds' ? seconds(value) : column[2] === 'count' ? grouped(value) : value;
				}
			}
			if (choose) {
				line.addEventListener('click', () => choose(row));
				line.addEventListener('keydown', (event) => {
					const next = event.key === 'ArrowDown' ? line.nextElementSibling
						: event.key === 'ArrowUp' ? line.previousElementSibling : null;
					if (event.key === 'Enter' || event.key === ' ')
						choose(row);
					else if (next)
						next.focus();
					else
						return;
					event.preventDefault();
				});
			}
		}
	}
	columns.forEach((column, at) => {
		const cell = add(head, 'th', { scope: 'col', class: isNumber(column) ? 'num' : null });
		if (['list', 'label', 'value'].includes(column[2])) {
			cell.textContent = column[0];
			return;
		}
		add(cell, 'button', { type: 'button' }, column[0]).addEventListener('click', () => {
			down = by === at ? !down : isNumber(column);
			by = at;
			head.querySelectorAll('th').forEach((other) => other.removeAttribute('aria-sort'));
			cell.setAttribute('aria-sort', down ? 'descending' : 'ascending');
			fill();
		});
	});
	fill();
	return element;
}

/* Buttons of which one is pressed. */
function choice(parent, label, names, current, change) {
	const field = add(parent, 'div', { class: 'field' });
	add(field, 'span', {}, label);
	const group = add(field, 'div', { class: 'switch', role: 'group', 'aria-label': label });
	for (const [value, name] of names) {
		const button = add(group, 'button', { type: 'button', 'aria-pressed': value === current }, name);
		button.addEventListener('click', () => {
			group.querySelectorAll('button').forEach((b) => b.setAttribute('aria-pressed', b === button));
			change(value);
		});
	}
}

function panel(title, note) {
	const page = document.getElementById('page'), section = add(page, 'section', { class: 'panel' });
	page.insertBefore(section, page.querySelector('#compared, [id^=lattice-]')); /* lattices stand there already, below */
	add(section, 'h2', {}, title);
	if (note)
		add(section, 'p', { class: 'dim' }, note);
	return section;
}

function data(id) {
	const element = document.getElementById(id);
	return element ? JSON.parse(element.textContent) : null;
}

function setUpTheme() {
	const root = document.documentElement.dataset;
	root.theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
	const button = add(document.querySelector('.head'), 'button', { type: 'button', class: 'plain' }, 'Light or dark');
	button.addEventListener('click', () => { root.theme = root.theme === 'dark' ? 'light' : 'dark'; });
}

'use strict';
/* What needs a script on the page of a campaign: one loop at a time, other figures in the cells, a search, the theme. */

const root = document.documentElement, all = (selector) => [...document.querySelectorAll(selector)];

root.dataset.theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
const theme = document.querySelector('.theme');
theme.hidden = false;
theme.addEventListener('click', () => { root.dataset.theme = root.dataset.theme === 'dark' ? 'light' : 'dark'; });

/* The address is the state: #loop-3 or #loop-3-2, the loop and its configuration. */
function open() {
	const row = document.getElementById(location.hash.slice(1)), detail = row && row.closest('.detail');
	for (const each of all('.detail'))
		each.hidden = each !== detail;
	for (const each of all('.detail tr'))
		each.classList.toggle('chosen', each === row);
	for (const each of all('.heat td'))
		each.classList.toggle('chosen', !!row && each.firstElementChild?.getAttribute('href') === location.hash);
	if (detail)
		detail.scrollIntoView({ block: 'nearest' });
}
addEventListener('hashchange', open);
addEventListener('keydown', (event) => {
	if (event.key === 'Escape' && location.hash.length > 1)
		location.hash = '';
});
open();

const choices = document.querySelector('.choices');
if (choices) {
	const buttons = [...choices.querySelectorAll('.switch button')];
	choices.hidden = false;
	buttons.forEach((button, k) => button.addEventListener('click', () => {
		buttons.forEach((each) => each.setAttribute('aria-pressed', each === button));
		for (const cell of all('[data-f]'))
			cell.textContent = cell.dataset.f.split('|')[k];
	}));
	choices.querySelector('.each').addEventListener('click', (event) => {
		const shown = event.target.getAttribute('aria-pressed') !== 'true';
		event.target.setAttribute('aria-pressed', shown);
		for (const table of all('.efficiencies'))
			table.classList.toggle('shows-runs', shown);
	});
	choices.querySelector('input').addEventListener('input', (event) => {
		const words = event.target.value.toLowerCase();
		for (const row of all('.heat tbody tr'))
			row.hidden = !row.cells[0].textContent.toLowerCase().includes(words);
	});
}
document.body.dataset.ready = 'campaign';

// Every colour of the page, and what it means. A colour has one meaning: what is coloured by kind of
// work never shares a colour with what is coloured by state, by kind of waiting, or by a legend beside it.
// Saturated colours are time on a CPU, pale ones time off it. build.mjs writes the style sheet's
// properties from here (--NAME), tests/end/page_units.mjs computes the contrasts.

// name: [light, dark, meaning]
const FRAME = {
	bg: ['#f6f7f9', '#12161c', 'behind the panels'],
	panel: ['#ffffff', '#1a2028', 'behind what is read'],
	sunken: ['#eef0f3', '#141920', 'room that holds nothing'],
	select: ['#d8ebf3', '#1d3a49', 'behind the row that is chosen'],
	'accent-soft': ['#e2f0f6', '#173240', 'behind a choice that is on'],
	'warn-soft': ['#fff4dd', '#33291a', 'behind a notice'],
	line: ['#dfe3e8', '#2b343f', 'between rows'],
	'line-strong': ['#c4cad2', '#42505f', 'around what can be changed'],
	text: ['#1b2430', '#e3e8ee', 'words'],
	dim: ['#55606e', '#a2aebb', 'words that explain'],
	faint: ['#5b6673', '#9aa7b5', 'words of the frame'],
	accent: ['#0b6e99', '#6cc3e6', 'links, the choice that is on, a single curve'],
	good: ['#1b7147', '#69c997', 'well measured; less time than before'],
	warn: ['#8f5400', '#e5ad52', 'read with care; the bound that counts'],
	bad: ['#b3261e', '#ff8a80', 'a hint only; more time than before'],
	bar: ['#8fb8cc', '#3d7c99', 'length of a share'],
	heat: ['#de7a22', '#cf7a28', 'share of a line or an instruction: the more, the stronger'],
	mark: ['#ffc800', '#d8a800', 'text that was searched for, mixed into what is behind it'],
};
// The categories of CPU time. What they mean stands apart from their colours, as the script needs only that.
const WORK_MEANINGS = {
	program: 'the program and libraries of no kind that is listed apart',
	openmp: 'in an OpenMP runtime, waiting actively included',
	mpi: 'in an MPI library, waiting actively included',
	memory: 'allocating, freeing, copying memory',
	io: 'reading and writing',
	maths: 'maths libraries',
	strings: 'text and character handling of the C library',
	os: 'threads, locks and time in libc, the loader, the kernel where nothing else claims it',
	other: 'parts of libc that no rule names, addresses that no module has',
};
const WORK = { // meanings: above
	program: ['#3a6fb0', '#5b93d6'],
	openmp: ['#d98a21', '#e4a04a'],
	mpi: ['#a8437a', '#cf6ea2'],
	memory: ['#1f9184', '#3fb3a5'],
	io: ['#7660b5', '#9a86d8'],
	maths: ['#58a6d6', '#86c5ec'],
	strings: ['#989e2e', '#bcc25c'],
	os: ['#c2543a', '#e07a5f'],
	other: ['#97897a', '#a59684'],
};
const STATE = { // of a thread's time
	user: ['#35506b', '#8ba6c1', 'on a CPU, in user code'],
	spin: ['#e2c541', '#d9c04a', 'on a CPU, waiting actively'],
	system: ['#84543c', '#c09278', 'on a CPU, in the kernel'],
	starved: ['#f0a49c', '#a5524f', 'ready to run, without a CPU'],
	workers: ['#b9dfc3', '#36604a', 'waiting for its own threads or processes that work'],
	blocked: ['#bcc6d1', '#4d5966', 'blocked'],
	off: ['#d8d0e8', '#5d4675', 'off the CPU, nobody knows why'],
	unknown: ['#e4dccd', '#5d5545', 'without an account'],
};
const WAIT = { // kinds of blocking calls
	lock: ['#e3b5d2', '#6e3f5d', 'a lock'],
	condition: ['#f7cfa2', '#7c5220', 'a condition'],
	io: ['#cbc2ee', '#4f4480', 'reading or writing'],
	poll: ['#b3d6f6', '#2e5f7a', 'something to be ready'],
	sleep: ['#d8e6a0', '#4e6324', 'time to pass'],
	child: ['#a0dcc6', '#1f685a', 'a child process'],
	other: ['#d9cabb', '#746660', 'anything else'],
	join: ['#c3e9ea', '#7d3f3b', 'a thread to end'],
};
const NAMED = { // modules, functions, loops, phases, variants: a legend stands beside
	1: ['#1d4f91', '#7aa8e8', 'the first by weight'],
	2: ['#e0803d', '#f0a070', 'the second'],
	3: ['#2b8a57', '#5fbf8a', 'and so on'],
	4: ['#93406a', '#d98ab0', ''],
	5: ['#6f8fe8', '#b3c2f7', ''],
	6: ['#a8901c', '#cdb850', ''],
	7: ['#6b4a9e', '#b49aec', ''],
	8: ['#3fa3ab', '#62c9d2', ''],
	rest: ['#a9a9a4', '#8b8b86', 'all others'],
};
const CHANGE = {
	more: ['#c0392f', '#f0766c', 'B takes more'],
	less: ['#2563d4', '#6f9dff', 'B takes less'],
};

// What style sheets and canvases call them: the name of the group, a dash, the name.
export const GROUPS = { '': FRAME, c: WORK, s: STATE, w: WAIT, n: NAMED, d: CHANGE };
const variable = (group, name) => `--${group ? group + '-' : ''}${name}`;

export const workMeaning = (category) => WORK_MEANINGS[category];
export const workColour = (category) => variable('c', category in WORK_MEANINGS ? category : 'other');
export const stateColour = (name) => variable('s', name);
export const namedColour = (rank) => variable('n', rank < NAMED_COUNT ? rank + 1 : 'rest');
export const NAMED_COUNT = 8; // of NAMED, beside the rest
// By number, as waits have it (docs/format/report-page.md).
export const WAITS = [['lock', 'lock'], ['condition', 'condition'], ['I/O', 'io'], ['poll', 'poll'], ['sleep', 'sleep'], ['child process', 'child'], ['other', 'other'], ['join', 'join']]
	.map(([name, key]) => ({ name, colour: variable('w', key) }));

const parts = (colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));

// `share` of a colour over another.
export const mix = (over, under, share) => '#' + parts(over).map((v, i) => Math.round(v * share + parts(under)[i] * (1 - share)).toString(16).padStart(2, '0')).join('');

// WCAG 2.2: relative luminance, and the contrast of two colours, 1 to 21.
const luminance = (colour) => parts(colour).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
	.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
export function contrast(a, b) {
	const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
	return (x + 0.05) / (y + 0.05);
}

export const LEGIBLE = 4.5; // WCAG 2.2, 1.4.3

// Black or white, whichever is easier to read: on any colour one of them is legible. `usual` if that is, so
// that shades of a colour do not flicker between the two.
export const inkOn = (colour, usual) => usual && contrast(colour, usual) >= LEGIBLE ? usual
	: contrast(colour, '#000000') >= contrast(colour, '#ffffff') ? '#000000' : '#ffffff';

// The properties of the style sheet; an ink for each colour that words stand on.
export function propertiesOf(theme) {
	const list = [];
	for (const [group, colours] of Object.entries(GROUPS))
		for (const [name, colour] of Object.entries(colours)) {
			list.push(`${variable(group, name)}:${colour[theme]}`);
			if (group)
				list.push(`${variable(group, name)}-ink:${inkOn(colour[theme])}`);
		}
	return list.join(';');
}
export const HEAT_MOST = 44; // percent of --heat in the hottest, beside the 8 of the coolest

// Units of the report page that need no browser: node tests/web/units.mjs WEB-FOLDER. Prints a TAP line each.
import { pathToFileURL } from 'node:url';

const from = (name) => import(pathToFileURL(`${process.argv[2]}/src/${name}`));
const { GROUPS, HEAT_MOST, LEGIBLE, NAMED_COUNT, WAITS, contrast, inkOn, mix, workColour, workMeaning } = await from('palette.js');
const { limitOf, stretches, waitsForCpu } = await from('gaps.js');
const { partsOf, shorten } = await from('format.js');

let count = 0;
function check(ok, what, ...why) {
	console.log(`${ok ? 'ok' : 'not ok'} ${++count} - ${what}`);
	if (!ok)
		console.log(`# ${why.map((w) => JSON.stringify(w)).join(' ')}`);
}
const same = (got, want, what) => check(JSON.stringify(got) === JSON.stringify(want), what, got, want);

// Contrast, against figures of the recommendation's own formula.
check(Math.abs(contrast('#000000', '#ffffff') - 21) < 1e-9, 'black on white has a contrast of 21');
check(Math.abs(contrast('#777777', '#ffffff') - 4.478) < 0.001, 'and the grey #777 one of 4.48');
same(mix('#ff0000', '#000000', 0.5), '#800000', 'a colour mixed into another');

for (const [theme, name] of [[0, 'light'], [1, 'dark']]) {
	const of = (key) => GROUPS[''][key][theme], low = [];
	const need = (ink, ground, what) => contrast(ink, ground) < LEGIBLE && low.push([what, ink, ground, contrast(ink, ground).toFixed(2)]);
	for (const ground of ['bg', 'panel', 'sunken', 'select', 'accent-soft', 'warn-soft'])
		for (const ink of ['text', 'dim', 'accent'])
			need(of(ink), of(ground), `${ink} on ${ground}`);
	for (const ground of ['panel', 'sunken', 'bg', 'select'])
		for (const ink of ['good', 'warn', 'bad', 'faint'])
			need(of(ink), of(ground), `${ink} on ${ground}`);
	// What words stand on in tables: heat, hits of a search, parts of a bound.
	for (const ground of ['panel', 'select', 'sunken']) {
		for (let share = 0; share <= 8 + HEAT_MOST; share++)
			need(of('text'), mix(of('heat'), of(ground), share / 100), `text on heat over ${ground}`);
		need(of('text'), mix(of('mark'), of(ground), 0.35), `text that was searched for on ${ground}`);
		need(of('text'), mix(of('warn'), of(ground), 0.3), `text on a part of a bound over ${ground}`);
	}
	// Words on every other colour, at every strength that the flame graph draws.
	for (const [group, colours] of Object.entries(GROUPS))
		for (const [key, colour] of Object.entries(colours))
			for (let strength = 20; group && strength <= 100; strength++) {
				const fill = mix(colour[theme], of('panel'), strength / 100);
				need(inkOn(fill, inkOn(colour[theme])), fill, `ink on ${group}-${key} at ${strength} %`);
			}
	same(low, [], `words can be read on every colour: ${name}`);
}

// One colour, one meaning. In OKLab a difference of 0.02 is about what the eye just tells apart.
function oklab(colour) {
	const [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
	const [l, m, s] = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]]
		.map(([x, y, z]) => Math.cbrt(x * r + y * g + z * b));
	return [0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s, 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s, 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s];
}
const apart = (a, b) => Math.hypot(...oklab(a).map((v, i) => v - oklab(b)[i]));
for (const [theme, name] of [[0, 'light'], [1, 'dark']]) {
	const all = Object.entries(GROUPS).flatMap(([group, colours]) => group ? Object.entries(colours).map(([key, c]) => [group, key, c[theme]]) : []);
	const near = [];
	for (let i = 0; i < all.length; i++)
		for (let k = 0; k < i; k++)
			if (apart(all[i][2], all[k][2]) < (all[i][0] === all[k][0] ? 0.05 : 0.02))
				near.push([all[i], all[k], apart(all[i][2], all[k][2]).toFixed(3)]);
	same(near, [], `no two meanings share a colour: ${name}`);
}
check(Object.values(GROUPS).every((g) => Object.values(g).every((c) => /^#[0-9a-f]{6}$/.test(c[0]) && /^#[0-9a-f]{6}$/.test(c[1]))), 'every colour has a light and a dark form');
same(NAMED_COUNT, Object.keys(GROUPS.n).length - 1, 'ranks have a colour each');
check(Object.keys(GROUPS.c).every((name) => workMeaning(name)), 'every category has a meaning');
same([WAITS.length, workColour('program'), workColour('no such')], [8, '--c-program', '--c-other'], 'categories and kinds of waiting have colours');

// Names in less room.
same(shorten('main', 10), 'main', 'a name that fits stays');
same(shorten('/usr/lib/x86_64-linux-gnu/libc.so.6', 12), '…u/libc.so.6', 'of a path the end stays');
same(shorten('LAMMPS_NS::PairLJCut::compute(int, int)', 20), '…PairLJCut::compute', 'of a C++ name the last parts');
same(shorten('std::vector<int, std::allocator<int> >::push_back(int const&)', 30), 'std::vector::push_back', 'arguments and templates go first');
same(shorten('operator<(thing const&, thing const&)', 20), 'operator<', 'an operator keeps its sign');
same(shorten('<function at 0x96bc0>', 8), '0x96bc0', 'code without a name is its address');
same(shorten('loop <function at 0x96bc0>+0x26', 9), '…bc0+0x26', 'and of a loop the end stays');
same(shorten('outer::(anonymous namespace)::Sorter<double>::run(int)', 20), 'outer::Sorter::run', 'a namespace without a name is no list of arguments');
same(shorten('(anonymous namespace)::helper(int, char)', 10), 'helper', 'nor where nothing stands before it');
same(partsOf('ns::of<a::b>::work<c::d>(e::f, int) const'), ['ns::of<a::b>::', 'work<c::d>', '(e::f, int) const'], 'parts of a name, templates with colons inside');
same(partsOf('a::b c::d<int>(e)'), ['a::b c::', 'd<int>', '(e)'], 'a result type stands before');
same([partsOf('main'), partsOf('/usr/lib/x.so'), partsOf('a::(anonymous namespace)::f()')], [['', 'main', ''], ['/usr/lib/', 'x.so', ''], ['a::(anonymous namespace)::', 'f', '()']], 'plain names, paths, what has no name');
same([partsOf('[no stack]'), partsOf('lmp -in in.lj')], [['', '[no stack]', ''], ['', 'lmp -in in.lj', '']], 'blanks part no other names');
check(partsOf('a::operator<(b, c)').join('') === 'a::operator<(b, c)', 'nothing is lost');
check([...Array(40).keys()].every((w) => w < 3 || shorten('a::b<c>::averyveryverylongname(d)', w).length <= w), 'never longer than the room');

// Waiting for a CPU.
same(stretches(0, 10, [2, 4, 6, 8], []), [0, 2, 4, 6, 8, 10], 'between what ran');
same(stretches(0, 10, [2, 4], [5, 7]), [0, 2, 4, 5, 7, 10], 'and without what was blocked');
same(stretches(0, 10, [], [0, 10]), [], 'all of it blocked leaves nothing');
same(stretches(0, 10, [1, 3, 2, 4], [3.5, 12]), [0, 1], 'what overlaps counts once');
same([limitOf([1, 2, 10], 6), limitOf([1, 2, 10], 3), limitOf([1, 2, 10], 99)], [3, 1, Infinity], 'short stretches are filled first');
const threads = { rows: 2, start_ns: [0, 0], end_ns: [1e7, 1e7], wait_cpu_ns: [4e6, -1] };
const records = { rows: 3, thread: [0, 0, 1], time: [2000, 6000, 9000], cpu_us: [1000, 2000, 1000], samples: [1, 1, 1] };
const waits = { rows: 1, thread: [0], time: [7000], duration: [3000] };
const got = waitsForCpu(threads, records, waits, 1000, 0);
same([got.thread, got.from, got.to], [[0, 0, 0], [0, 2000, 6000], [1000, 4000, 7000]], 'of a thread whose sum is known');
check(Math.abs(got.from.reduce((sum, at, i) => sum + (got.to[i] - at) * got.share[i], 0) - 4000) < 1e-6, 'and together it is the sum', got);
console.log(`1..${count}`);

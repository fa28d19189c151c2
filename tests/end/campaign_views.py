"""sonde show global and show compile of a campaign: rows of each configuration, means of times, what missing options bring."""
import html
import json
import re

from sonde_test import Test

t = Test()
with open('x.c', 'w') as out:
    out.write('''
#include <stdlib.h>
static float a[4096], b[4096];
__attribute__((noinline)) static void scale(long n)
{
	for (long r = 0; r < n; r++) {
		for (int i = 0; i < 4096; i++)
			a[i] = a[i] * 0.5f + b[i];
		__asm__ volatile("" ::: "memory");
	}
}
int main(int argc, char **argv)
{
	scale(argc > 1 ? atol(argv[1]) : 1);
	return 0;
}
''')
with open('plan.ini', 'w') as out:
    out.write('''[campaign]
repeat = 4
[default]
program = {build}/x
arguments = 60000
[configuration "plain"]
build = gcc -O2 -fno-tree-vectorize -g -o {build}/x x.c
[configuration "full"]
build = gcc -O3 -march=native -g -o {build}/x x.c
[configuration "more data"]
build = gcc -O3 -march=native -g -o {build}/x x.c
arguments = 90000
''')
done = t.run('campaign', 'run', 'plan.ini', '-o', 'c', '--seed', '3', timeout=300)
t.check(done.returncode == 0, 'the campaign ran', done.stderr)
runs = [r for r in json.loads(t.run('campaign', 'status', 'c', '--format', 'json').stdout)['runs'] if r['state'] == 'done']
names = ['plain', 'full', 'more data']


def mean_elapsed(name):
    times = [r['elapsed_s'] for r in runs if r['configuration'] == name]
    return sum(times) / len(times)


done = t.run('show', 'global', 'c', '--format', 'json')
told = json.loads(done.stdout)
rows = {name: {r['metric']: r for r in told['rows'] if r['configuration'] == name} for name in names}
t.check(done.returncode == 0 and told['schema'] == 'sonde.campaign-global/1' and told['experiment'] == 'c', 'a campaign is taken', done.stderr)
t.equal(list(told['rows'][0])[:4], ['configuration', 'experiment', 'runs', 'metric'], 'rows say whose they are')
shown = {name: rows[name]['elapsed']['experiment'] for name in names}
t.check(all(any(r['experiment'] == shown[name] and r['configuration'] == name for r in runs) for name in names),
        'each configuration is shown by one of its runs', shown)
for name in names:
    alone = {r['metric']: r for r in json.loads(t.run('show', 'global', 'c/' + shown[name], '--format', 'json').stdout)['rows']}
    t.check(list(alone) == list(rows[name]) and
            all(alone[m][k] == rows[name][m][k] for m in alone if m not in ('elapsed', 'cpu') for k in alone[m]),
            f'{name}: the figures are those of its run')
    row = rows[name]['elapsed']
    t.check(abs(row['value'] - mean_elapsed(name)) < 1e-6 * row['value'] and row['low'] <= row['value'] <= row['high'],
            f'{name}: elapsed time is the mean of its runs', row, mean_elapsed(name))
text = t.run('show', 'global', 'c').stdout
head = next(line for line in text.splitlines() if 'metric' in line)
t.check(all(name in head for name in names) and sum(line.startswith('elapsed ') for line in text.splitlines()) == 1,
        'the text has a column for each configuration', text[:600])

done = t.run('show', 'compile', 'c', '--format', 'json')
told = json.loads(done.stdout)
units = {r['configuration']: r for r in told['rows'] if r['unit_file'] == 'x.c'}
t.check(done.returncode == 0 and told['schema'] == 'sonde.campaign-compile/1' and list(units) == names, 'the units of all configurations', done.stderr)
row = units['plain']
t.check(row['options_source'] == 'measured' and row['options_from'] == 'full' and
        abs(row['options_speedup'] - mean_elapsed('plain') / mean_elapsed('full')) < 0.02 * row['options_speedup'] and
        row['options_speedup_low'] <= row['options_speedup'] and
        (row['options_speedup_high'] is None or row['options_speedup'] <= row['options_speedup_high']),
        'what missing options bring is measured by the configuration that has them', row)
t.check(units['full']['options_speedup'] is None and units['more data']['options_source'] is None,
        'nothing is missing where all options are there', units['full'])
text = t.run('show', 'compile', 'c').stdout
t.check('measured: full' in text and 'they bring' in text, 'and told in the text', text)
shown_rows = [r for r in told['rows'] if r['share'] >= 0.01 and
              (r['own_code'] or (r['options_speedup'] or 0) >= 1.005 or (r['options_speedup_high'] or 0) >= 1.005)]
left_out = len(told['rows']) - len(shown_rows)
lines = [line for line in text.splitlines() if line.startswith(tuple(names))]
t.check(len(lines) == len(shown_rows) and (not left_out or f'Left out: {left_out} row' in text),
        'units without time or gain are left out, and counted', text, told['rows'])
text = t.run('show', 'compile', 'c', '--all').stdout
t.check(sum(line.startswith(tuple(names)) for line in text.splitlines()) == len(told['rows']) and 'Left out' not in text,
        '--all has them', text)
t.check(all(r['own_code'] == (r['module'] == 'x') for r in told['rows'] if not r['module'].startswith('[')), 'which is own code is told', told['rows'])
done = t.run('report', 'c', '-o', 'c.html')
page = html.unescape(re.sub(r'<(script|style).*?</\1>', '', open('c.html').read(), flags=re.S))
section = page[page.index('id="compiled"'):page.index('id="runs"')]
of_units = re.findall(r'<tr><td class="first"><bdi>(.*?)</bdi>.*?</tr>', section, flags=re.S)
words = re.sub(r'\s+', ' ', re.sub(r'<[^>]+>', ' ', section))
ways = {(r['module'], r['unit_file'], r['compiler'], r['options'], r['compiled_without']) for r in shown_rows}
t.check(len(of_units) == len(ways) and of_units.count('x.c') == 2, 'the page has each unit once for each way it was compiled', of_units, ways)
row = units['plain']
t.check('measured: full' in words and f"{row['options_speedup']:.2f}x" in words and 'full more data' in words and
        '-O3, -march=native' in words and '-fno-tree-vectorize' in words,
        'with what is missing, what it brings, and the configurations', words)
t.check('ld-linux' not in words, 'without those that nobody need see', words)
alone = {r['unit_file']: r for r in json.loads(t.run('show', 'compile', 'c/' + shown['plain'], '--arch', 'zen5', '--format', 'json').stdout)['rows']}
row = alone['x.c']
whole = {r['metric']: r for r in json.loads(t.run('show', 'global', 'c/' + shown['plain'], '--arch', 'zen5', '--format', 'json').stdout)['rows']}
high = whole['speedup_full_vector']['high']
t.check(row['options_source'] == 'static' and row['options_speedup'] is None and row['options_speedup_low'] == 1 and
        1 < row['options_speedup_high'] <= high + 1e-9 and row['options_speedup_high'] - 1 > .8 * (high - 1),
        'one run has the range of the model: here all that vectors could bring is in one unit', row, high)

done = t.run('show', 'functions', 'c')
t.check(done.returncode != 0 and 'give the same command one of its runs' in done.stderr, 'other views ask for a run', done.stderr)
t.run('archive', 'c', '-o', 'c.sonde')
done = t.run('show', 'global', 'c.sonde', '--format', 'csv')
t.check(done.returncode == 0 and len(done.stdout.splitlines()) == 1 + sum(len(r) for r in rows.values()), 'an archive of it is taken, too', done.stderr)
with open('bad.ini', 'w') as out:
    out.write('[default]\nprogram = /bin/false\n')
t.run('campaign', 'run', 'bad.ini', '-o', 'bad')
done = t.run('show', 'compile', 'bad')
t.check(done.returncode == 3 and 'campaign status' in done.stderr, 'no run that is done: it is told', done.stderr)
t.done()

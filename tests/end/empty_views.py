"""No table is empty without a word: every view of poor experiments has rows, or a sentence that says why not."""
import os
import re

from sonde_test import Test

t = Test()
busy = t.compile('''
#include <stdlib.h>
volatile double sum;
int main(int count, char **words)
{
	for (long i = 0; i < atol(words[1]) * 1000L; i++)
		sum += 1e-9 * (double)i;
	return 0;
}
''', '-O1', '-g', output='./busy')
t.compile('''
int main(void)
{
	for (volatile long i = 0; i < 100000000; i++)
		;
	return 0;
}
''', '-O1', '-static', output='./outside.app')
# A loop in memory of its own, called once in a long while, with a name list that nobody wrote.
t.compile('''
#include <string.h>
#include <sys/mman.h>
int main(void)
{
	static const unsigned char code[] = { 0x89, 0xf9, 0xff, 0xc9, 0x75, 0xfc, 0xc3 }; /* mov ecx, edi; dec ecx; jnz; ret */
	unsigned char *room = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(room, code, sizeof(code));
	((void (*)(int))room)(500000000);
	return 0;
}
''', '-O1', '-w', output='./generated.app')
# Straight code without a loop, and without a wait.
t.compile('''
static volatile double x = 1;
#define TEN(a) a a a a a a a a a a
static int deep(int n)
{
	TEN(TEN(TEN(x = x * 0.5 + 1;)))
	return n > 0 ? deep(n - 1) + deep(n - 1) + 1 : 0;
}
int main(void)
{
	return deep(15) < 0;
}
''', '-O1', '-fno-optimize-sibling-calls', '-w', output='./straight.app')

poor = {'off': ['-C', 'off', busy, '50000'], 'tiny': ['true'], 'asleep': ['sleep', '0.2'], 'outside': ['./outside.app'],
        'generated': ['./generated.app'], 'straight': ['./straight.app'], 'short': ['-C', '10', busy, '3000']}
for name, words in poor.items():
    run = t.run('record', '-o', name, *words)
    t.check(f'sonde: {name}, ' in run.stderr, f'{name}: recorded', run)
views = re.findall(r'^  ([a-z]+) ', t.run('help', 'show').stdout.split('\nViews:')[1], re.M)
t.check(len(views) > 15, 'help lists the views', views)


def rows_of(text):
    return [line for line in text.splitlines()[1:] if line.strip()]


# Without a row these were not recorded, and that is no answer; nor is a table of samples of a run that has none. Other tables
# without a row say that there was nothing (no kernel, no loop).
RECORDED = set('roofs instances counts causal variants counters faults dataspace memory heap leaks peak mpi matrix messages waitstates critical locks '
               'blame deadlocks contention chains io openmp constructs teams windows accesses caches sharing'.split())
SENTENCE = re.compile(r'^sonde: .{40,}', re.M)
for name in poor:
    has_samples = t.show('summary', experiment=name)['samples'] > 0
    for view in views:
        words = ['show', view] + (['#1'] if view == 'loop' else []) + [name]
        text = t.run(*words)
        holds = rows_of(text.stdout) or SENTENCE.search(text.stderr)
        if view in ('summary', 'loop', 'phases', 'comm', 'whatif'):
            t.check(holds, f'{name}: show {view}: a page, or a sentence', text)
            continue
        data, csv = t.run(*words, '--format', 'json'), t.run(*words, '--format', 'csv')
        t.check(holds and (data.returncode or '"rows":[]' not in data.stdout or '"why_empty":"' in data.stdout) and
                (rows_of(csv.stdout) or SENTENCE.search(csv.stderr)), f'{name}: show {view}: rows, or why there are none',
                text, data.stdout[:300], csv)
        if view in ('scalability', 'properties'):  # of a campaign; a search, whose strategies are elsewhere in a build
            continue
        want = 3 if '"rows":[]' in data.stdout and (view in RECORDED or not has_samples) or not data.stdout else 0
        t.equal({run.returncode for run in (text, data, csv)}, {want}, f'{name}: show {view}: the exit status says which')
t.equal({t.run('show', view, 'straight').returncode for view in sorted(RECORDED & set(views))}, {3}, 'what was not recorded ends with 3')
t.equal([view for view in ('comm', 'phases', 'whatif') if t.run('show', view, 'off').returncode != 3], [], 'pages without data do, too')
t.equal(t.run('lattice', 'off').returncode, 3, 'and so does the lattice of a run without messages')

for view, reason in (('functions', 'the clock was off'), ('loops', 'the clock was off'), ('categories', 'the clock was off'),
                     ('asm', 'the clock was off'), ('source', 'the clock was off'), ('samples', 'the clock was off')):
    t.check(reason in t.run('show', view, 'off').stderr, f'{view}: {reason}', t.run('show', view, 'off'))
for attempt in range(5):  # a sample may fall into a loop of the loader at the end
    shown = t.run('show', 'loops', '@0' if attempt else 'generated')
    if not shown.stdout:
        break
    t.run('record', '-q', './generated.app')
t.check('code made at run time' in shown.stderr, 'loops: only generated code', shown)
t.check('from outside' in t.run('show', 'waits', 'outside').stderr, 'waits: sampled from outside')
t.check('has no trace of MPI' in t.run('show', 'comm', 'off').stderr, 'comm: an experiment without messages')
# a trace of which nothing can be read is not one that was never made
t.run('record', '--io', '-o', 'cut', 'cat', '/etc/passwd')
trace = next(os.path.join('cut', name) for name in os.listdir('cut') if name.endswith('.trace'))
t.check('were not traced' in t.run('show', 'locks', 'cut').stderr, 'locks: not traced')
os.truncate(trace, 40)
for view in ('io', 'locks', 'heap', 'mpi', 'openmp'):
    run = t.run('show', view, 'cut')
    t.check(trace in run.stderr and 'cut short or damaged' in run.stderr, f'{view}: a damaged trace is so called', run)
nothing = ['--filter', 'function=zzz']
for view in ('functions', 'lines', 'samples', 'tree'):
    run, data = t.run('show', view, 'straight', *nothing), t.run('show', view, 'straight', *nothing, '--format', 'csv')
    t.check("'function=zzz'" in run.stderr + data.stderr and len(data.stderr) > 40, f'{view}: a filter that nothing passes', run, data)
t.check("function~zzz" in t.run('show', 'functions', 'straight', *nothing).stderr, 'a filter by = has ~ for a hint')
for words in (['--time', '1000-'], ['--module', 'libzz'], ['--function', 'zzz']):
    run = t.run('show', 'functions', 'straight', *words)
    t.check(len(run.stderr) > 40, f'{words[0]}: what nothing passes is told', run)
os.mkdir('bare')
run = t.run('list', 'bare')
t.check(run.returncode == 0 and "no experiment in 'bare'" in run.stderr, 'list: a folder without experiments', run)
run = t.run('list', '--filter', 'experiment=zzz')
t.check("passes --filter 'experiment=zzz'" in run.stderr, 'list: a filter that nothing passes', run)
run = t.run('show', './bare')
t.check(run.returncode == 2 and "'./bare' is no experiment" in run.stderr and 'sonde list' in run.stderr, 'show: a folder that is no experiment', run)
run = t.run('show', 'functoins')
t.check(run.returncode == 2 and 'neither an experiment nor a view' in run.stderr and ' functions ' in run.stderr, 'show: no view', run)
t.done()

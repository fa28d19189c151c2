"""The trace of OpenMP: counts that are known, and waits that the program times itself, by libgomp and by LLVM's library."""
import os
import shutil
import sys

from sonde_test import HERE, Test

t = Test()
os.environ['OMP_NUM_THREADS'] = '2'
os.environ.pop('OMP_TOOL_LIBRARIES', None)
chosen = sys.argv[1:]
ROUNDS = 3


def compilers():
    """Those that can build for OpenMP here."""
    for name in ('gcc', 'clang'):
        if not shutil.which(name):
            t.skip(f'{name}: OpenMP', 'there is no such compiler')
            continue
        source = os.path.join(HERE, 'programs', 'openmp.c')
        done = t.command(name, '-O2', '-g', '-fopenmp', source, '-o', f'./openmp_{name}')
        if done.returncode:
            t.skip(f'{name}: OpenMP', 'it has no library for that here')
        else:
            yield name, f'./openmp_{name}'


def line_of(words):
    """Of the program's source: the first that begins with these words."""
    with open(os.path.join(HERE, 'programs', 'openmp.c')) as source:
        for number, line in enumerate(source, 1):
            if words in line:
                return number
    raise KeyError(words)


def region_rows(openmp):
    """By the line of the region's construct."""
    return {row['line']: row for row in openmp['rows']}


def region_line(function):
    """Of the one construct in a function."""
    start = line_of(f'static void {function}(') if function != 'many' else line_of('static long many(')
    with open(os.path.join(HERE, 'programs', 'openmp.c')) as source:
        for number, line in enumerate(source, 1):
            if number > start and 'omp parallel' in line:
                return number
    raise KeyError(function)


def near(got, told, name):
    """A wait lies within what the program sees around the call, and is most of it."""
    t.check(0.5 * told <= got <= 1.01 * told + 0.001, name, f'traced {got}, the program says {told}')


def is_sound(rows, name):
    for row in rows:
        whole = row['threads'] * row['time_s']
        parts = row['work_s'] + row['wait_s'] + row['fork_join_s']
        t.check(abs(parts - whole) <= 0.002 * whole + 1e-5, f"{name}, line {row['line']}: work, waiting and the rest are its threads' time",
                row)
        t.check(0 <= row['imbalance'] < 1, f"{name}, line {row['line']}: imbalance is a share", row)
        t.check(row['barrier_s'] + row['critical_s'] + row['task_wait_s'] <= row['wait_s'] + 1e-9,
                f"{name}, line {row['line']}: kinds of waiting", row)


def known_program():
    for compiler, program in compilers():
        for end, status in (('', 3), ('kill', 137), ('_exit', 7)):
            name = f'{compiler} {end}'.strip()
            folder = f'e.{compiler}.{end}'
            run = t.run('record', '-q', '--openmp', '-o', folder, program, ROUNDS, *([end] if end else []))
            t.equal((run.returncode, run.stderr), (status, ''), f"{name}: status and standard error are the program's")
            told = dict(line.split() for line in run.stdout.splitlines())
            told = {key: float(value) for key, value in told.items()}
            t.equal(told['sum'], 45000, f'{name}: the program computes what it should')
            openmp = t.show('openmp', folder, '--all')
            rows = region_rows(openmp)
            t.equal(openmp['lost'], {'openmp': 0}, f'{name}: nothing is lost')
            t.equal({line: (row['executions'], row['threads']) for line, row in rows.items()},
                    {region_line(f): (1000 if f == 'many' else ROUNDS, 2)
                     for f in ('triangle', 'meet', 'in_turn', 'locked', 'tasks', 'many')},
                    f'{name}: each region by its line, how often, by how many')
            if compiler == 'gcc':
                t.equal(rows[region_line('triangle')]['function'], 'triangle', f'{name}: and its function')
            is_sound(openmp['rows'], name)
            triangle = rows[region_line('triangle')]
            bodies = told['body0'] + told['body1']
            t.check(bodies * 0.99 <= triangle['work_s'] <= bodies + 0.05, f'{name}: work is what bodies take', triangle, told)
            t.within(triangle['imbalance'], 1 - bodies / 2 / max(told['body0'], told['body1']), 0.1, f'{name}: imbalance')
            t.within(triangle['gain_s'], triangle['barrier_s'] / 2, 1e-6, f'{name}: what balance would gain')
            t.within(triangle['barrier_s'], told['body1'] - told['body0'], 0.06, f'{name}: waiting at the end')
            near(rows[region_line('in_turn')]['critical_s'], told['critical'], f'{name}: waiting for a critical section')
            near(rows[region_line('locked')]['critical_s'], told['lock'], f'{name}: waiting for a lock')
            near(rows[region_line('tasks')]['task_wait_s'], told['taskwait'], f'{name}: waiting for a task')
            constructs = t.show('constructs', folder, '--all')['rows']
            counts = {}
            for row in constructs:
                counts[row['construct']] = counts.get(row['construct'], 0) + row['count']
            t.equal({key: counts.get(key) for key in ('critical', 'lock', 'taskwait', 'task')},
                    {'critical': 2 * ROUNDS, 'lock': 2 * ROUNDS, 'taskwait': ROUNDS, 'task': ROUNDS},
                    f'{name}: how often each construct was met')
            barrier = [row for row in constructs if row['construct'] == 'barrier' and row['line'] == line_of('#pragma omp barrier')]
            t.equal([row['count'] for row in barrier], [2 * ROUNDS], f'{name}: the barrier, by its line')
            near(sum(row['wait_s'] for row in barrier), told['barrier'], f'{name}: waiting at it')
            held = sum(row['inside_s'] for row in constructs if row['construct'] == 'critical')
            t.check(held >= ROUNDS * 0.04, f'{name}: time in the section', held)
            teams = t.show('teams', folder, '--all')['rows']
            t.equal(sum(row['bodies'] for row in teams), 2 * (5 * ROUNDS + 1000), f'{name}: bodies by thread')
            t.within(sum(row['work_s'] for row in teams), sum(row['work_s'] for row in openmp['rows']), 1e-6,
                     f'{name}: work by thread sums to that of regions')
            t.check(openmp['parallel_s'] <= openmp['elapsed_s'] and
                    abs(openmp['serial_s'] - (openmp['elapsed_s'] - openmp['parallel_s'])) < 1e-6, f'{name}: serial time', openmp)
        text = t.run('show', 'openmp', f'e.{compiler}.').stdout
        t.check('imbalance' in text and 'serial' in text, f'{compiler}: the text', text)
        findings = [f for f in t.show('summary', f'e.{compiler}.')['findings'] if f['kind'] == 'openmp_wait']
        t.check(not findings or 'OpenMP threads wait' in findings[0]['sentence'], f'{compiler}: the first screen', findings)


UNCHANGED = '''
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
struct big { double x[100]; };
static int fib(int n)
{
	int a, b;
	if (n < 2)
		return n;
#pragma omp task shared(a) if (n > 6)
	a = fib(n - 1);
#pragma omp task shared(b) if (n > 6)
	b = fib(n - 2);
#pragma omp taskwait
	return a + b;
}
int main(void)
{
	long sum = 0, n = 0;
	int r = 0, order = 0, c, stopped = 0;
	struct big g;
	omp_lock_t lock;
	omp_nest_lock_t nest;
	omp_set_max_active_levels(2);
	omp_init_lock(&lock);
	omp_init_nest_lock(&nest);
	for (int k = 0; k < 20; k++)
#pragma omp parallel num_threads(2) reduction(+ : sum)
	{
#pragma omp parallel for num_threads(2) reduction(+ : sum)
		for (int i = 0; i < 1000; i++)
			sum += i;
	}
#pragma omp parallel
#pragma omp single
	r = fib(18);
	for (int i = 0; i < 100; i++)
		g.x[i] = i;
#pragma omp parallel
#pragma omp single
	{
#pragma omp taskloop firstprivate(g) reduction(+ : n) grainsize(10)
		for (int i = 0; i < 1000; i++)
			n += (long)g.x[i % 100];
#pragma omp taskgroup
		for (int i = 0; i < 50; i++)
#pragma omp task depend(inout : r)
			r++;
	}
#pragma omp parallel for ordered schedule(dynamic)
	for (int i = 0; i < 100; i++)
#pragma omp ordered
		order = order * 3 + i;
#pragma omp parallel private(c)
	{
#pragma omp sections
		{
#pragma omp section
#pragma omp atomic
			n += 1;
#pragma omp section
#pragma omp atomic
			n += 2;
		}
#pragma omp single copyprivate(c)
		c = 5;
#pragma omp atomic
		n += c;
		while (!omp_test_lock(&lock))
			;
#pragma omp atomic
		n++;
		omp_unset_lock(&lock);
		omp_set_nest_lock(&nest);
		omp_set_nest_lock(&nest);
#pragma omp atomic
		n++;
		omp_unset_nest_lock(&nest);
		omp_unset_nest_lock(&nest);
#pragma omp for
		for (int i = 0; i < 1000; i++) {
			if (i == 10) {
#pragma omp atomic write
				stopped = 1;
			}
#pragma omp cancel for if (i == 10)
		}
	}
	printf("%ld %ld %d %d %d\\n", sum, n, r, order, stopped);
	if (stopped)
		exit(9);
	return 1;
}
'''


def unchanged():
    """Every construct that is wrapped: the program computes the same, in every mode of tracing."""
    with open('unchanged.c', 'w') as out:
        out.write(UNCHANGED)
    for compiler, _ in compilers():
        t.command(compiler, '-O1', '-fopenmp', 'unchanged.c', '-o', './unchanged', check=True)
        for cancel in ('true', 'false'):
            env = dict(os.environ, OMP_CANCELLATION=cancel)
            plain = t.command('./unchanged', env=env)
            for how in (['--openmp'], ['--collect', 'all'], ['--openmp', '--clock', 'off']):
                run = t.run('record', '-q', *how, '-o', 'u' + ''.join(how) + compiler + cancel, './unchanged', env=env)
                t.equal((run.returncode, run.stdout, run.stderr), (plain.returncode, plain.stdout, plain.stderr),
                        f'{compiler}, {how}, cancellation {cancel}: output and status')
    t.run('record', '-q', '-o', 'none', './unchanged')
    shown = t.run('show', 'openmp', 'none')
    t.check('--openmp' in shown.stderr, 'without a trace the view says how to make one', shown.stderr)
    run = t.run('record', '-q', '--openmp', '-o', 'alone', '/bin/true')
    t.equal((run.returncode, t.show('openmp', 'alone')['rows']), (0, []), 'a program without OpenMP has no region')


for check in (known_program, unchanged):
    if not chosen or check.__name__ in chosen:
        check()
t.done()

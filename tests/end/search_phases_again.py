"""sonde search --phase --restarts: what cannot be switched on while a program runs has a start of its own, and its values are those
of the executions that were measured."""
import json

from sonde_test import Test

# each step reads a matrix by columns, once; another loop is in no step
PROGRAM = r'''
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define KEPT __attribute__((noinline, noclone, noipa))
enum { N = 512, LINES = 1 << 18 };
static double matrix[N][N], lines[LINES * 8l];
static volatile double sink;
KEPT double columns(void)
{ double s = 0; for (int j = 0; j < N; j++) for (int i = 0; i < N; i++) s += matrix[i][j]; return s; }
KEPT double data_bound(void)
{ double s = 0; for (long i = 0; i < LINES; i++) s += lines[i * 8]; return s; }
KEPT void step(void)
{
	unsigned x = 1;
	for (int i = 0; i < 2000000; i++)
		x = x * 1664525u + 1013904223u;
	sink += x + columns() + data_bound();
}
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100, c, read = 0;
	while ((c = getchar()) != EOF)
		read++;
	memset(matrix, 1, sizeof matrix);
	memset(lines, 1, sizeof lines);
	for (int i = 0; i < n; i++)
		step();
	printf("done %d, read %d\n", n, read);
	fprintf(stderr, "start read %d\n", read);
	return 0;
}
'''
CACHES = 'L1=32k/8,L2=256k/8,L3=2m/16,line=64,TLB=64/4'


def search(t, app, *words, **more):
    done = t.run('search', '--format', 'json', '--phase', 'step', '--caches', CACHES, '--threshold', '0.002', *words, app, '500', timeout=300, **more)
    return json.loads(done.stdout) if done.stdout else {'properties': [], 'not_measurable': []}, done


def told(found):
    return [(r['property'], r['function'], round(r['severity'], 4), r['sources']) for r in found['properties']]


def main():
    t = Test()
    app = t.compile(PROGRAM, '-g', '-O2', '-fno-tree-vectorize', output='./steps')
    with open('words', 'w') as out:
        out.write('x' * 100)
    bound = None
    for attempt in range(4):  # on a loaded machine others may come between in too many of a run's instances
        with open('words') as words:
            found, done = search(t, app, '--restarts', '3', '-o', f'phase.{attempt}', stdin=words)
        bound = [r for r in found['properties'] if r['property'] == 'MemoryBoundByDecan']
        if bound:
            break
    t.check(done.returncode == 0 and 'of 4 at most: caches, of' in done.stderr and 'of 4 at most: variants, of' in done.stderr,
            'memory that could cost time asks for starts that run loops as copies', done.stderr)
    t.check(done.stderr.count('done 500, read 100') == 1 and done.stderr.count('start read 100') == 1 + done.stderr.count(' of 4 at most: ') >= 3,
            'each start reads the same input, and the output is that of the one that was measured', done.stderr)
    t.check(bound and all('variants' in r['sources'] for r in bound), 'variants say what a loop is bound by', told(found), found['not_measurable'])
    missed = [r for r in found['properties'] if r['property'] in ('LC1MissRate', 'LC2MissRate', 'LC3MissRate') and r['function'] == 'columns' and r['region_kind'] == 'loop']
    executions = found['phase']['executions']
    t.check(missed and all('caches' in r['sources'] for r in missed) and 0 < executions < 500, 'misses are proven in the loop', told(found), done.stderr)
    each = max((r['evidence']['refs'] for r in missed), default=0) / executions / 512 ** 2
    # the program's last executions may end before they are counted
    t.within(each, 1, .1, 'an execution that was measured has the accesses of one')
    t.check('matrix' in {r['data'] for r in found['properties'] if r['property'].endswith('DataMissRate') and r['function'] == 'columns'},
            'the data are named', told(found))
    stalls = [n['reason'] for n in found['not_measurable'] if n['property'] == 'StallCycles']
    cannot = t.run('record', '-q', '-e', 'cycles,stalled-cycles-backend', '-o', 'stalls', '/bin/true').returncode == 125
    t.check(not cannot or ('no start for counters: -e cycles cannot be had here' in done.stderr and len(stalls) == 1 and
                           "'counters', which nothing on this machine counts" in stalls[0]),
            'a processor that does not count is named, with the reason', cannot, stalls, done.stderr)
    losses = sum(r['severity'] for r in found['properties'] if not r['refined'] and r['property'] not in ('HotRegion', 'LateRankRegion', 'HeapLeak'))
    t.check(losses <= 1.1, 'no more is lost than there is', losses, told(found))
    found, done = search(t, app)
    reasons = [n['reason'] for n in found['not_measurable'] if "'variants', which" in n['reason'] or "'caches', which" in n['reason']]
    t.check('start 2' not in done.stderr and reasons and all('needs a start of its own (--restarts 1)' in r for r in reasons),
            'without --restarts the program is started once, and what would help is said', done.stderr, reasons)
    found, done = search(t, app, '--restarts', '1', stdin=None, input='abc')
    t.check('no start for' in done.stderr and 'came by a pipe' in done.stderr and done.stderr.count('start read 3') == 1,
            'input that is gone lets no other start be', done.stderr)
    t.done()


main()

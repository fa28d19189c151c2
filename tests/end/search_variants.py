"""sonde search with variants of loops: a loop that waits for its data is told from one that waits for the divider (whose
divisions search.py finds)."""
import json

from sonde_test import Test

PROGRAM = r'''
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define KEPT __attribute__((noinline, noclone, noipa))
enum { LINES = 1 << 19, SMALL = 1024 };
static double lines[LINES * 8l], small[SMALL], out[SMALL];
KEPT double data_bound(void)
{ double s = 0; for (long i = 0; i < LINES; i++) s += lines[i * 8]; return s; }
KEPT void divider_bound(void)
{ for (int i = 0; i < SMALL; i++) out[i] = 1.5 / (small[i] + 2.5); }
int main(int argc, char **argv)
{
	double s = 0;
	int n = argc > 2 ? atoi(argv[2]) : 0;
	memset(lines, 1, sizeof lines);
	for (int i = 0; i < SMALL; i++)
		small[i] = argc + i;
	for (int i = 0; i < n; i++) {
		if (argv[1][0] == 'm') s += data_bound();
		if (argv[1][0] == 'd') divider_bound();
	}
	printf("%g %g\n", s, out[5]);
	return 0;
}
'''


def row_of(found, function, property):
    return next((r for r in found['properties'] if r['property'] == property and r['function'] == function), None)


def lacks_variants(found):
    return any(m['property'] == 'MemoryBoundByDecan' for m in found['not_measurable'])


def main():
    t = Test()
    app = t.compile(PROGRAM, '-g', '-O2', '-fno-tree-vectorize', output='./bound')
    found = {}
    for name, arguments in (('data', ('m', '150')), ('divider', ('d', '80000'))):
        for attempt in range(4):  # on a loaded machine others may come between in too many of a run's instances
            run = f'{name}.{attempt}'
            t.run('decan', '-q', '-o', run, '--', app, *arguments)
            done = t.run('search', '--experiment', run, '--format', 'json', '--threshold', '0')
            found[name] = json.loads(done.stdout)
            if not lacks_variants(found[name]):
                break
        t.check(all(0 <= r['severity'] <= 1 for r in found[name]['properties']), f'{name}: severities are shares')
        t.check(not lacks_variants(found[name]),
                f'{name}: what bounds it is known', found[name]['not_measurable'])
    bound = row_of(found['data'], 'data_bound', 'MemoryBoundByDecan')
    t.check(bound and bound['evidence']['memory_share'] > .9 and bound['evidence']['arithmetic_share'] < 1 and
            bound['sources'].count('variants') == 1, 'a loop that takes as long without its arithmetic is bound by memory', found['data']['properties'])
    hot = row_of(found['data'], 'data_bound', 'HotRegion')
    t.check(bound and hot and bound['severity'] < max(r['severity'] for r in found['data']['properties'] if r['property'] == 'HotRegion'),
            'it loses less than it takes', bound, hot)
    t.check(not row_of(found['divider'], 'divider_bound', 'MemoryBoundByDecan'), 'a loop that divides is not')
    for _ in range(4):  # as above
        done = t.run('search', '--format', 'json', '--threshold', '0.002', app, 'm', '150')
        row = row_of(json.loads(done.stdout), 'data_bound', 'MemoryBoundByDecan')
        if row:
            break
    t.check('most: variants, of 1 hot loop with' in done.stderr and row, 'a program is started for it', done.stderr, done.stdout[-2000:])
    t.done()


main()

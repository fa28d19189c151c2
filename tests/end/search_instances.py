"""sonde search with counts of loops' instances: vectors help a loop with many iterations, and not one with three; of a team whose
threads work unequally long it is known whether they have as many iterations."""
import json

from sonde_test import Test

TRIPS = r'''
#include <stdio.h>
#include <stdlib.h>
#define KEPT __attribute__((noinline, noclone, noipa))
static float out[1024], in[1024];
KEPT void few(int n) { for (int i = 0; i < n; i++) { float x = in[i]; out[i] = x * (x * (x + 0.5f) + 1.5f) * (x * (x + 2.5f) + 3.5f) * (x - 4.5f); } }
KEPT void many(int n) { for (int i = 0; i < n; i++) { float x = in[i]; out[i] = x * (x * (x + 0.5f) + 1.5f) * (x * (x + 2.5f) + 3.5f) * (x - 4.5f); } }
int main(int argc, char **argv)
{
	for (int i = 0; i < 1024; i++)
		in[i] = argc + i;
	for (int k = 0; k < 600000; k++) {
		for (int i = 0; i < 50; i++)
			few(3);
		many(1024);
	}
	printf("%g %s\n", out[5], argv[argc - 1]);
	return 0;
}
'''

# "cost": each of two threads has as many iterations, which last the longer the higher their number; "count": one has two
# and the other one, all alike
TEAM = r'''
#include <stdio.h>
static volatile unsigned sink;
static unsigned __attribute__((noinline)) work(unsigned x, int n)
{
	for (int i = 0; i < n; i++)
		x = x * 1664525u + 1013904223u;
	return x;
}
int main(int argc, char **argv)
{
	int is_cost = argc > 1 && argv[1][0] == 'c' && argv[1][2] == 's';
	for (int k = 0; k < 400; k++) {
		#pragma omp parallel num_threads(2)
		{
			unsigned x = 1;
			if (is_cost) {
				#pragma omp for schedule(static)
				for (int i = 0; i < 1000; i++)
					x = work(x, 2 * i);
			} else {
				#pragma omp for schedule(static)
				for (int i = 0; i < 3; i++)
					x = work(x, 300000);
			}
			sink = x;
		}
	}
	puts(argv[argc - 1]);
	return 0;
}
'''


def rows_of(found, name):
    return [r for r in found['properties'] if r['property'] == name]


def trips(t):
    app = t.compile(TRIPS, '-g', '-O2', '-fno-tree-vectorize', output='./trips')
    done = t.run('search', '--format', 'json', '--restarts', '0', '--threshold', '0.001', app)
    before = {r['function']: r for r in rows_of(json.loads(done.stdout), 'NotVectorised')}
    if 'many' not in before:
        t.skip('trips', 'no model of this processor')
        return
    t.check('few' in before and 'no start for instances' in done.stderr and 'iterations_each_time' not in before['few']['evidence'] or
            before['few']['evidence']['iterations_each_time'] is None, 'without counts the code alone is judged', done.stderr, before)
    done = t.run('search', '--format', 'json', '--threshold', '0.001', '-o', 'first', app)
    found = json.loads(done.stdout)
    rows = {r['function']: r for r in rows_of(found, 'NotVectorised')}
    t.check('most: instances, of ' in done.stderr and 'many' in rows, 'what vectors could gain asks for a start that counts', done.stderr, found['properties'])
    t.check('few' not in rows, 'three iterations are no work for vectors', rows)
    many = rows.get('many', {'evidence': {}, 'sources': []})
    t.equal(many['evidence'].get('iterations_each_time'), 1024, 'how many there are is exact')
    t.check('instances' in many['sources'], 'and its source is named', many['sources'])
    t.equal(many['evidence'].get('times_as_fast'), before['many']['evidence']['times_as_fast'], 'of whole vectors nothing is left over')
    t.check(not any('instances' in n['needs'] for n in found['not_measurable']), 'nothing lacks it', found['not_measurable'])
    t.run('vprof', '-q', '-o', 'counted', '--', app)
    found = json.loads(t.run('search', '--experiment', 'counted', '--format', 'json', '--threshold', '0.001').stdout)
    t.check(not any(r['function'] == 'few' for r in rows_of(found, 'NotVectorised')), 'a run of sonde vprof has it, too', found['properties'])


def team(t):
    app = t.compile(TEAM, '-g', '-O2', '-fopenmp', '-fno-tree-vectorize', output='./team')
    for what, expected in (('cost', 1), ('count', 4 / 3)):
        for _ in range(3):  # beside other work two threads may share one CPU
            done = t.run('search', '--format', 'json', '--threshold', '0.005', app, what)
            rows = [r for r in rows_of(json.loads(done.stdout), 'ImbalanceInParallelLoop') if r['evidence'].get('iterations_most_over_mean')]
            if rows:
                break
        t.check(rows and abs(rows[0]['evidence']['iterations_most_over_mean'] - expected) < 1e-9,
                f'{what}: how unequally iterations are divided is exact', done.stderr, done.stdout[-3000:])
    untold = {m['property']: m['reason'] for m in json.loads(done.stdout)['not_measurable']}
    t.check('calls no runtime' in untold.get('AtomicFrequent', '') and 'show openmp' in untold.get('TaskTooFine', ''),
            'what no trace has is said, with what helps', untold)


def main():
    t = Test()
    trips(t)
    team(t)
    t.done()


main()

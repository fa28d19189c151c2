"""sonde search on OpenMP: each cause of lost time that a program plants, and times itself, is found with what it costs."""
import json
import os
import shutil

from sonde_test import HERE, Test

SOURCE = os.path.join(HERE, 'programs', 'omp_causes.c')
# cause: the property that names it; of a loop by its samples, if they tell one thread from the other
CAUSES = {'imbalance': 'ImbalanceInParallelRegion', 'barrier': 'ImbalanceAtBarrier', 'loop': 'ImbalanceInParallelRegion',
          'sections': 'ImbalanceInSections', 'single': 'SingleSerial', 'critical': 'CriticalContention',
          'lock': 'OmpLockContention', 'ordered': 'OrderedSerial', 'tasks': 'TaskStarvation', 'small': 'SmallParallelRegion'}
# what there is none of in a program that does not have the construct
CONSTRUCTS = {'critical': 'CriticalContention', 'lock': 'OmpLockContention', 'ordered': 'OrderedSerial',
              'tasks': 'TaskStarvation', 'sections': 'ImbalanceInSections', 'single': 'SingleSerial'}
FORTRAN = '''
program causes
  use omp_lib
  implicit none
  integer :: round
  double precision :: came(0:1), lost
  lost = 0
  do round = 1, 20
    call team(mod(round, 2), came)
    lost = lost + abs(came(0) - came(1))
  end do
  print '(f9.6)', lost
contains
  subroutine team(late, came)
    integer, intent(in) :: late
    double precision, intent(out) :: came(0:1)
    double precision :: sum
    integer :: i
    !$omp parallel num_threads(2) private(i, sum)
    sum = 0
    do i = 1, 400000
      sum = sum + 1d0 / i
    end do
    if (omp_get_thread_num() == late) call pause_us(20000)
    came(omp_get_thread_num()) = omp_get_wtime() + sum * 1d-300
    !$omp end parallel
  end subroutine
  subroutine pause_us(microseconds)
    use iso_c_binding
    integer, intent(in) :: microseconds
    interface
      integer(c_int) function usleep(n) bind(c)
        import
        integer(c_int), value :: n
      end function
    end interface
    integer(c_int) :: ignored
    ignored = usleep(int(microseconds, c_int))
  end subroutine
end program
'''
# gcc gives the call that starts the team no line, so debug information counts it to what was inlined before it
NEIGHBOUR = r'''
#include <omp.h>
#include <stdio.h>
#define N 3000
static double a[N], b[N];
static inline void fill(double *x, int n, double v)
{
	for (int i = 0; i < n; i++)
		x[i] = v * i;
}
static inline double total(const double *x, int n)
{
	double s = 0;
	for (int i = 0; i < n; i++)
		s += x[i];
	return s;
}
int main(void)
{
	double s = 0;
	for (int t = 0; t < 200; t++) {
		fill(a, N, t);
#pragma omp parallel
		{
			double q = 0;
			for (int k = 0; k < 100; k++)
				for (int i = omp_get_thread_num(); i < N; i += 2)
					q += a[i] * k / (1 + q);
			b[omp_get_thread_num()] = q;
		}
		s += total(b, N);
	}
	printf("%g\n", s);
	return 0;
}
'''
# one thread sleeps at a barrier once, until the other one has used a second of CPU time
LONG = r'''
#include <omp.h>
#include <time.h>
static volatile double sink;
static void burn(double s)
{
	struct timespec t;
	double end;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	end = (double)t.tv_sec + (double)t.tv_nsec * 1e-9 + s;
	do {
		for (int i = 0; i < 2000; i++)
			sink += i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((double)t.tv_sec + (double)t.tv_nsec * 1e-9 < end);
}
int main(void)
{
#pragma omp parallel num_threads(2)
	{
		burn(omp_get_thread_num() ? 1 : .05);
#pragma omp barrier
		burn(.4);
	}
	return 0;
}
'''
t = Test()
os.environ['OMP_NUM_THREADS'] = '2'
os.environ.pop('OMP_TOOL_LIBRARIES', None)


def searched(name, *words):
    """The search of a recorded run, and the shares that the program says it has lost, at least and at most. Its clock also sees
    what tracing took, a quarter of regions of a microsecond, which is no loss of the program."""
    done = t.run('record', '-q', '--openmp', '-o', name, *words)
    found = json.loads(t.run('search', '-e', name, '--threshold', '0.01', '--format', 'json').stdout)
    lost = [float(word) / (2 * found['phase']['mean_s']) for word in done.stdout.split()]
    traced_s = t.show('openmp', name)['overhead_s']['openmp']
    return found, max(0, lost[0] - traced_s / (2 * found['phase']['mean_s'])), lost[-1]


def rows(found, name):
    return [r for r in found['properties'] if r['property'] == name]


def told(found):
    return [(r['property'], round(r['severity'], 3), r['refined']) for r in found['properties']]


def costs(ends, least, most, what):
    severity = ends[0]['severity'] if ends else -1
    t.check(least - max(.2 * least, .02) <= severity <= most + max(.2 * most, .02), what, severity, least, most)


def cause(compiler, app, word, name):
    found, least, most = searched(f'{compiler}_{word}.run', app, word)
    ends = [r for r in rows(found, name) if not r['refined'] or word == 'loop']
    t.check(len(ends) == 1 and 'openmp' in ends[0]['sources'] and ends[0]['confidence'] == 1,
            f'{compiler}: {word} is {name}, by what was traced', told(found))
    costs(ends, least, most, f'{compiler}: {word} costs what the program says')
    t.check(any(p['name'] and 'parallel region' in p['name'] for r in ends[:1] for p in r['path']), f'{compiler}: {word} has its region',
            ends[:1])
    # LLVM's library tells of the master block that makes the tasks
    others = [p for w, p in CONSTRUCTS.items() if w != word and rows(found, p) and (w, word) != ('single', 'tasks')]
    t.equal(others, [], f'{compiler}: {word} has no other construct that waits')


def calm(compiler, app):
    """Threads that wait for each other no longer than the machine makes them."""
    found, _, lost = searched(f'{compiler}_calm.run', app, 'calm')
    most = max([r['severity'] for r in found['properties'] if r['property'] in CAUSES.values()] or [0])
    t.check(most < lost + .05, f'{compiler}: nothing is found where nothing is planted', lost, told(found))


def compilers():
    for name in ('gcc', 'clang'):
        if not shutil.which(name):
            t.skip(f'{name}: OpenMP', 'there is no such compiler')
        elif t.command(name, '-O2', '-g', '-fopenmp', SOURCE, '-o', f'./causes_{name}').returncode:
            t.skip(f'{name}: OpenMP', 'it has no library for that here')
        else:
            yield name, f'./causes_{name}'


def starts(app):
    """A program that is run is started once more for the trace, if its team waits."""
    done = t.run('search', '--format', 'json', '--threshold', '0.01', '--budget', '1', app, 'critical')
    found = json.loads(done.stdout)
    t.check('of 7 at most: openmp' in done.stderr and found['phase']['executions'] >= 2, 'waits of a team ask for a start that traces it',
            done.stderr)
    ends = [r for r in rows(found, 'CriticalContention') if not r['refined']]
    t.check(ends and all('openmp' in r['sources'] for r in ends), 'its values count', told(found))
    t.check(all(r['confidence'] < 1 and r['severity_low'] < r['severity'] for r in ends), 'but are not certain: they are of another start', ends)
    over = rows(found, 'Oversubscribed')
    t.check(all('openmp' in r['sources'] for r in over), 'also for what was asked before that start', over[:1])
    with open('alone.c', 'w') as out:
        out.write('int main(void) { volatile double s = 0; for (int i = 0; i < 100000000; i++) s += i; return 0; }')
    t.command('gcc', '-O1', 'alone.c', '-o', 'alone')
    done = t.run('search', '--format', 'json', '--budget', '1', './alone')
    t.check('openmp' not in done.stderr, 'a program without a team is not started for it', done.stderr)


REGIONS = '''property Regions(r: region(parallel)) {
  condition region_calls(r) > 0;
  confidence 1;
  severity 0.5;
  evidence calls = region_calls(r);
}
'''


def phases(compiler, app):
    """Rows have what was traced in the executions that were measured, and nothing else."""
    with open('regions.prop', 'w') as out:
        out.write(REGIONS)
    words = ('--properties', 'regions.prop', '--format', 'json', '--phase', 'imbalance', '--threshold', '0.01')
    done = t.run('search', *words, '--budget', '1', app, 'imbalance', '120')
    found = json.loads(done.stdout) if done.stdout else {'steps': [], 'properties': []}
    calls = [(r['evidence']['calls'], found['phase']['executions']) for r in rows(found, 'Regions')]
    t.check(calls and all(a == b for a, b in calls), f'{compiler}: an execution of the phase has its one region', calls, found['steps'], done.stderr)
    done = t.run('search', *words, '--budget', '1', app, 'imbalance', '160')
    found = json.loads(done.stdout) if done.stdout else {'properties': [], 'not_measurable': []}
    ends = [r for r in rows(found, 'ImbalanceInParallelRegion') if not r['refined']]
    t.check(len(ends) == 1 and 'openmp' in ends[0]['sources'], f'{compiler}: in a phase, too, waits are those that were traced', told(found))
    named = [n['property'] for n in found['not_measurable']]
    t.check('TaskStarvation' not in named and 'SmallParallelRegion' not in named, f'{compiler}: and what they tell is measurable', named)
    done = t.run('search', *words, '--budget', '0', app, 'imbalance', '80')
    found = json.loads(done.stdout) if done.stdout else {'properties': [], 'not_measurable': []}
    t.check(done.stderr.count('values of openmp are refused') == 1 and not any('openmp' in r['sources'] for r in found['properties'])
            and 'SmallParallelRegion' in [n['property'] for n in found['not_measurable']],
            f'{compiler}: a trace that took more than the budget has its values refused, and named', done.stderr, told(found))


def neighbour():
    for level in '123':
        app = t.compile(NEIGHBOUR, '-O' + level, '-g', '-fopenmp', output='./neighbour' + level)
        run = f'neighbour{level}.run'
        t.run('record', '--openmp', '-o', run, app)
        done = t.run('search', '-e', run, '--threshold', '0', '--format', 'json')
        paths = [[p for p in r['path'] if p['kind'] != 'program'] for r in json.loads(done.stdout)['properties']]
        regions = {(p['name'], p['line']) for path in paths for p in path if p['kind'] == 'parallel'}
        line = NEIGHBOUR.split('\n').index('#pragma omp parallel') + 1
        t.equal(regions, {('parallel region of main', line)}, f'-O{level}: a region is that of the function it was written in')
        around = {p['name'] for path in paths for p in path[:[q['kind'] == 'parallel' for q in path + [{'kind': 'parallel'}]].index(True)]
                  if any(q['kind'] == 'parallel' for q in path)}
        t.check('main' in around and not around & {'fill', 'total'}, f'-O{level}: what was inlined before it is not around it', around)
        functions = {r['function']: r for r in t.show('functions', experiment=run)['rows']}
        t.check(functions.get('fill', {'inclusive_share': 0})['inclusive_share'] < .5 < functions['main']['inclusive_share'],
                f'-O{level}: nor has it the team\'s time', functions.get('fill'), functions['main'])


def long_wait():
    """A wait that was traced is known exactly, though it is one."""
    app = t.compile(LONG, '-O1', '-g', '-fopenmp', compiler='clang', output='./long')
    t.run('record', '-o', 'long.run', app, env=dict(os.environ, KMP_BLOCKTIME='0'))
    done = t.run('search', '-e', 'long.run', '--threshold', '0.01', '--format', 'json')
    waits = rows(json.loads(done.stdout), 'ImbalanceAtBarrier')
    t.check(waits and all(.9 < r['confidence'] < 1 for r in waits), 'one long wait: sure, by what it lasted', waits)


def main():
    neighbour()
    built = dict(compilers())
    for compiler, app in built.items():
        for word, name in CAUSES.items():
            cause(compiler, app, word, name)
        calm(compiler, app)
        phases(compiler, app)
    if 'clang' in built:
        long_wait()
    if shutil.which('gfortran'):
        with open('causes.f90', 'w') as out:
            out.write(FORTRAN)
        app = t.compile('./causes.f90', '-O1', '-g', '-fopenmp', compiler='gfortran', output='./fortran')
        found, least, most = searched('fortran.run', app)
        ends = rows(found, 'ImbalanceInParallelRegion') # which its loop may refine
        costs(ends, least, most, 'Fortran: an imbalance costs what the program says')
    else:
        t.skip('Fortran', 'there is no gfortran')
    if built:
        starts(next(iter(built.values())))
    t.done()


main()

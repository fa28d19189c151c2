"""Strategy mpi: the region in which the late rank works longer than those that wait for it, also where all ranks run it, and where one
rank of several has it alone."""
import json

from sonde_test import Test

LATE = r'''
#include <mpi.h>
#include <time.h>
static volatile double sink;
static double cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
#define WORK(NAME) \
	__attribute__((noinline)) static void NAME(double s) \
	{ \
		for (double end = cpu_s() + s; cpu_s() < end;) \
			for (int i = 0; i < 10000; i++) \
				sink += i; \
	}
WORK(move)
WORK(forces)
WORK(mend)
int main(int argc, char **argv)
{
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int step = 0; step < 20; step++) {
		move(.04);
		forces(rank == 1 ? .06 : .02);
		if (rank == 3)
			mend(.06);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return 0;
}
'''


def record(t, app, ranks):
    """An experiment, by the first of Open MPI's and MPICH's words that starts the ranks."""
    for words in (['--allow-run-as-root', '--oversubscribe', '--mca', 'mpi_yield_when_idle', '1'], []):
        name = f'ranks{ranks}.{len(words)}'
        if t.run('record', '-q', '-o', name, '--', 'mpirun', *words, '-n', str(ranks), app, timeout=300).returncode == 0:
            return name
    return None


def late(t, name, threshold):
    """What is said of late ranks, severest first, and all of the result."""
    done = t.run('search', '--experiment', name, '--strategy', 'mpi', '--format', 'json', '--threshold', str(threshold))
    found = json.loads(done.stdout)
    return [r for r in found['properties'] if r['property'] == 'LateRankRegion'], found


def two_ranks(t, app):
    name = record(t, app, 2)
    if not t.check(name, 'two ranks run'):
        return
    rows, found = late(t, name, .001)
    told = [(r['property'], r['function'], r['processes'], r['evidence'], r['confidence']) for r in found['properties']]
    first = rows[0] if rows else {}
    t.check(first.get('function') == 'forces' and first.get('processes') == '1', 'the late rank and what it has more of are named', told)
    # 1.2 s against 0.4 s of CPU time: 5 sigma of coin tosses
    rate = t.show('summary', name)['rate_hz']
    sigma = (1.6 / rate) ** .5
    t.within(sum(r['evidence']['more_seconds'] for r in rows if r['function'] == 'forces'), .8, 5 * sigma + .02, 'by how much')
    t.check(all(r['evidence']['more_seconds'] < 5 * sigma for r in rows if r['function'] == 'move'), 'what both do alike is none of it', told)
    t.check(all(0 < r['confidence'] < 1 for r in rows), 'as sure as samples make it', told)
    losses = [r for r in found['properties'] if r['property'].startswith('Wait')]
    t.check(losses and losses[0]['processes'] == '0', 'and the other rank waits', told)
    text = t.run('search', '--experiment', name, '--strategy', 'mpi', '--threshold', '.001').stdout
    t.check('Where late ranks work longer' in text and 'the others wait for this rank: it spends' in text, 'the text says so', text)
    places = [r for r in t.show('searched', name)['rows'] if r['property'] == 'LateRankRegion']
    t.check(places and places[0]['kind'] == 'place', 'so does the page', places)


def four_ranks(t, app):
    """Above the threshold in its rank, below it of all lanes."""
    name = record(t, app, 4)
    if not t.check(name, 'four ranks run'):
        return
    rows, found = late(t, name, .001)
    severities = [r['severity'] for r in rows if r['function'] == 'mend']
    if not t.check(severities, 'what one rank of four does alone is found', [(r['property'], r['function']) for r in found['properties']]):
        return
    rows, found = late(t, name, .7 * severities[0])
    t.check([r['processes'] for r in rows if r['function'] == 'mend'] == ['3'], 'also where it is little of the time of all',
            severities, [(r['property'], r['function'], r['processes'], r['severity']) for r in found['properties']])


def main():
    t = Test()
    if t.has('mpicc', 'mpirun'):
        app = t.compile(LATE, '-O1', '-g', compiler='mpicc', output='./late')
        two_ranks(t, app)
        four_ranks(t, app)
    else:
        t.skip('late ranks', 'no MPI')
    t.done()


main()

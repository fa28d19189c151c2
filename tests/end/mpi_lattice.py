"""The lattice and the communication graph of programs of MPI, under each MPI that is installed: a planted race of
wildcard receives, a mutual exclusion that one of two variants violates, and counts known by construction."""
import glob
import json
import os
import re
import shutil

from sonde_test import HERE, Test

t = Test()
MPIS = {'openmpi': ['mpirun.openmpi', '--allow-run-as-root', '--oversubscribe', '-n'],
        'mpich': ['mpirun.mpich', '-n']}
MPIS = {mpi: run for mpi, run in MPIS.items() if t.has('mpicc.' + mpi, run[0])}

RACE = r"""
#include <mpi.h>
#include <stdlib.h>
/* With "ordered" rank 2 sends only after rank 1's message has come. */
int main(int argc, char **argv)
{
	int rank, size, x = 0, is_ordered = argc > 1;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int k = 1; rank == 0 && k < size; k++) {
		MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (is_ordered && k == 1)
			MPI_Send(&x, 1, MPI_INT, 2, 8, MPI_COMM_WORLD);
	}
	if (rank == 2 && is_ordered)
		MPI_Recv(&x, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (rank)
		MPI_Send(&rank, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
	MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
"""
PROBES = r"""
#include <mpi.h>
#include <string.h>
/* Rank 0 takes a message of each other rank: after a probe of any source, or of each in turn. */
__attribute__((noinline)) static void take(int source)
{
	MPI_Message message;
	MPI_Status status;
	int x;
	MPI_Mprobe(source, source == MPI_ANY_SOURCE ? MPI_ANY_TAG : 7, MPI_COMM_WORLD, &message, &status);
	MPI_Mrecv(&x, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}
__attribute__((noinline)) static void look(int source)
{
	MPI_Status status;
	int x;
	MPI_Probe(source, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
	MPI_Recv(&x, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
int main(int argc, char **argv)
{
	int rank, is_any = !strcmp(argv[1], "any");
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int k = 1; rank == 0 && k < 3; k++)
		take(is_any ? MPI_ANY_SOURCE : k);
	if (rank)
		MPI_Send(&rank, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int k = 1; rank == 0 && k < 3; k++)
		look(is_any ? MPI_ANY_SOURCE : k);
	if (rank)
		MPI_Send(&rank, 1, MPI_INT, 0, 10 + rank, MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
"""
MUTEX = r"""
#include <mpi.h>
#include <unistd.h>
#include <sonde/control.h>
/* Rank 1 hands a token to rank 0. With "broken" rank 0 does not wait for it, but happens to come later. */
int main(int argc, char **argv)
{
	int rank, x = 0, is_broken = argc > 1;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0 && !is_broken)
		MPI_Recv(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	usleep(rank ? 1000 : 100000);
	sonde_sample("critical");
	usleep(1000);
	sonde_sample("free");
	usleep(1000);
	if (rank == 1)
		MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
	if (rank == 0 && is_broken)
		MPI_Recv(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Finalize();
	return 0;
}
"""


WORK = r"""
#include <mpi.h>
#include <time.h>
static volatile double sum;
__attribute__((noinline)) static void grind(void)
{
	struct timespec now;
	do {
		for (int i = 1; i < 1000; i++)
			sum += 1.0 / i;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while (now.tv_sec == 0 && now.tv_nsec < 400000000);
}
int main(int argc, char **argv)
{
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 1)
		grind();
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
"""


def build(mpi, name, source):
    return t.compile(source, '-O1', '-g', '-w', '-I' + os.path.join(HERE, '../../include'), compiler='mpicc.' + mpi,
                     output=f'./{name}-{mpi}')


def record(mpi, ranks, experiment, *words):
    run = t.command(*MPIS[mpi], ranks, t.sonde, 'record', '-q', '--mpi', '-o', experiment, *words)
    t.check(run.returncode == 0, f'{experiment}: recorded', run.stderr, run.stdout)


def answer(*words):
    run = t.run('lattice', '--format', 'json', *words)
    return json.loads(run.stdout)


def races(mpi):
    program = build(mpi, 'race', RACE)
    record(mpi, 3, f'race.{mpi}', program)
    got = answer(f'race.{mpi}')
    t.equal((got['processes'], got['events'], got['exact']), (3, 7, True),
            f'{mpi}: two receives, two sends and three parts of a broadcast')
    t.equal((got['receives']['from_any_source'], got['receives']['race_count']), (2, 1),
            f'{mpi}: the first receive could have met the other message')
    race = got['receives']['races'][0]
    t.equal({race['met']['process'], race['other']['process']}, {1, 2}, f'{mpi}: both senders are named')
    record(mpi, 3, f'ordered.{mpi}', program, 'ordered')
    t.equal(answer(f'ordered.{mpi}')['receives']['race_count'], 0, f'{mpi}: one sent because of the other is no race')
    t.run('lattice', '--html', f'race.{mpi}.html', f'race.{mpi}')
    page = open(f'race.{mpi}.html', encoding='utf-8').read()
    t.check(page.count('the message that it met') == 1 and '>MPI_Recv' in page, f'{mpi}: the race is drawn')
    cpus = got['time']['crowded_cpus']
    head = page[:page.index('<svg')]
    t.check((f'3 processes had {cpus} CPU' in head) == (cpus is not None) and 'waiting by the order alone' in head,
            f'{mpi}: the page begins with too few CPUs and with waiting that does not depend on them', cpus, head[-2000:])
    t.run('lattice', '--html', f'ordered.{mpi}.html', f'ordered.{mpi}')
    t.check('the message that it met' not in open(f'ordered.{mpi}.html', encoding='utf-8').read(), f'{mpi}: no race, no drawing')
    program = build(mpi, 'probes', PROBES)
    for word, count in [('any', 2), ('each', 0)]:
        record(mpi, 3, f'probes.{word}.{mpi}', program, word)
        got = answer(f'probes.{word}.{mpi}')['receives']
        t.equal((got['from_any_source'], got['race_count']), (2 * count, count), f'{mpi}: receives after probes of {word} source')
    observed = answer('--observe', 'kind=recv', f'race.{mpi}')
    t.equal((observed['events'], observed['cuts']), (2, '3'), f'{mpi}: only receives are points')


def exclusion(mpi):
    program = build(mpi, 'mutex', MUTEX)
    condition = 'in(p0, "critical") and in(p1, "critical")'
    for words, want in [((), False), (('broken',), True)]:
        experiment = f'mutex{len(words)}.{mpi}'
        record(mpi, 2, experiment, program, *words)
        run = t.run('lattice', '--possibly', condition, '--fail-if', 'possibly', '-f', 'json', experiment)
        got = json.loads(run.stdout)
        t.equal((run.returncode, got['schema'], got['possibly'], got['definitely'], got['exact']),
                (int(want), 'sonde.lattice-property/1', want, False, True),
                f'{mpi}: mutual exclusion {"violated" if want else "kept"}')
        t.equal(got['witness'] is not None, want, f'{mpi}: with a witness where it is')
        drawing = f'{experiment}.svg'
        run = t.run('lattice', '--possibly', condition, '--svg', drawing, '--html', experiment + '.html', experiment)
        svg = open(drawing, encoding='utf-8').read() if os.path.exists(drawing) else ''
        t.equal((run.returncode, svg.count('>critical</text>'), 'is not written' in run.stderr), (0, 2 if want else 0, not want),
                f'{mpi}: the instant is drawn')
        t.equal(open(experiment + '.html', encoding='utf-8').read().count('>critical</text>'), 2 if want else 0, f'{mpi}: and on a page')
    run = t.run('lattice', '--possibly', condition, '--dot', 'x.dot', experiment)
    t.check(run.returncode == 2 and '--svg and --html' in run.stderr, f'{mpi}: --dot has no instant', run.stderr)


def graph(mpi):
    run = t.run('comm', '--by', 'rank', '-f', 'json', f'race.{mpi}')
    rows = json.loads(run.stdout)['rows']
    got = {(row['source'], row['target']): row['messages'] for row in rows}
    want = {(f'rank {a}', f'rank {b}'): 1 for a, b in [(1, 0), (2, 0), (0, 1), (0, 2)]}
    t.equal(got, want, f'{mpi}: messages and the broadcast, by rank')
    run = t.run('comm', '--by', 'path', '-f', 'json', f'probes.any.{mpi}')
    got = [(row['source'], row['target'], row['messages']) for row in json.loads(run.stdout)['rows']]
    t.equal(got, [('main', 'main / look', 2), ('main', 'main / take', 2)], f'{mpi}: by call path')
    run = t.run('comm', '--by', 'function', '-f', 'json', f'race.{mpi}')
    got = [(row['kind'], row['source'], row['messages'], row['bytes'], row['broadcasts'])
           for row in json.loads(run.stdout)['rows']]
    t.equal(got, [('arc', 'main', 2, 8, None), ('broadcast', 'main', 2, 8, 1)], f'{mpi}: by function')


def work(mpi):
    record(mpi, 2, f'work.{mpi}', build(mpi, 'work', WORK))
    got = answer(f'work.{mpi}')
    worst = max(got['segments'][0]['enabled'], key=lambda entry: entry.get('runs_s', 0))
    t.equal((worst['process'], worst['label'], worst.get('work')), (1, 'MPI_Barrier', 'grind'),
            f'{mpi}: a bottleneck names the function that the time went into')
    t.check(worst.get('work_file', '').endswith('.c') and 5 <= worst.get('work_line', 0) <= 12, f'{mpi}: and its line', worst)
    t.check(got['time']['modelled_wait_s'] > 0.1, f'{mpi}: the other rank waits for it, in the model', got['time'])
    t.equal(got['ended_early'], None, f'{mpi}: all came to the end')
    t.equal(got['events_per_step'], 2.0, f'{mpi}: two events a step')


DEATH = r"""
#include <mpi.h>
#include <signal.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int rank, x = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int k = 0; k < 50; k++)
		if (rank == 0)
			MPI_Send(&x, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
		else
			MPI_Recv(&x, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (rank == 1) {
		usleep(500000); /* rank 0 stands in the barrier */
		kill(getpid(), SIGKILL);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
"""


def death(mpi):
    """What dies leaves its trace up to then, and the answer says so."""
    program = build(mpi, 'death', DEATH)
    t.command(*MPIS[mpi], 2, t.sonde, 'record', '-q', '--mpi', '-o', f'death.{mpi}', program)
    run = t.run('lattice', '--observe', 'kind=recv', '-f', 'json', f'death.{mpi}')
    got = json.loads(run.stdout)
    t.equal((got['events'], got['cuts'], got['exact']), (50, '51', True), f'{mpi}: all receives before a SIGKILL')
    t.check('rank 1 died by signal 9' in (got['ended_early'] or '') and 'rank 1 died by signal 9' in run.stderr,
            f'{mpi}: the death is told', got['ended_early'], run.stderr)
    work_s = json.loads(t.run('lattice', '-f', 'json', f'death.{mpi}').stdout)['time']['work_s']
    t.check(work_s < 0.4, f'{mpi}: a barrier that never ended is waiting, and no work', work_s)
    t.run('lattice', '--html', f'death.{mpi}.html', f'death.{mpi}')
    page = open(f'death.{mpi}.html', encoding='utf-8').read()
    t.check('The last call of each process' in page and '>MPI_Barrier' in page, f'{mpi}: the last calls are drawn')
    run = t.run('comm', '--by', 'rank', '-f', 'json', f'death.{mpi}')
    t.equal([(row['source'], row['messages']) for row in json.loads(run.stdout)['rows']], [('rank 0', 50)], f'{mpi}: and its messages')
    t.check('rank 1 died by signal 9' in run.stderr, f'{mpi}: comm tells it, too', run.stderr)


SHARED = r"""
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <time.h>
static volatile double sink;
static double cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
int main(int argc, char **argv)
{
	int rank, cpu = 0;
	cpu_set_t set;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	sched_getaffinity(0, sizeof(set), &set);
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (int k = 0; k < 8; k++) {
		double end = cpu_s() + (rank ? 0.015 : 0.06);
		while (cpu_s() < end)
			sink += 1;
		MPI_Allreduce(MPI_IN_PLACE, &cpu, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return 0;
}
"""


def shared(mpi):
    """Four ranks share a CPU: what waits for it is no work. 0.48 s of rank 0 and 0.12 s of each other are planted, of which
    samples of a millisecond tell 20 % at five sigma; by the clock on the wall they would be three times as long."""
    record(mpi, 4, f'shared.{mpi}', build(mpi, 'shared', SHARED))
    time = json.loads(t.run('lattice', '-f', 'json', f'shared.{mpi}').stdout)['time']
    t.check(0.35 < time['critical_path_s'] < 0.9 and 0.6 < time['work_s'] < 1.6, f'{mpi}: ranks that share a CPU work no longer', time)
    waited = sum(row['wait_s'] for row in json.loads(t.run('comm', '--table', 'nodes', '-f', 'json', f'shared.{mpi}').stdout)['rows'])
    t.within(waited, time['measured_wait_s'], 1e-6, f'{mpi}: waiting of ranks is that in all calls, not for messages alone')


def names(mpi):
    """What names nothing is no answer, and what is damaged says so."""
    run = t.run('lattice', '--observe', 'line=9999', f'race.{mpi}')
    t.check(run.returncode == 3 and not run.stdout and '--observe' in run.stderr, f'{mpi}: --observe that nothing is', run.stderr)
    run = t.run('lattice', '--possibly', 'in(p0, "there")', f'race.{mpi}')
    t.check(run.returncode == 3 and 'labels' in run.stderr, f'{mpi}: a condition on labels where there are none', run.stderr)
    run = t.run('lattice', '--possibly', 'in(p0, "MPI_Recv") and in(p1, "there")', f'race.{mpi}')
    t.check(run.returncode == 0 and "'there'" in run.stderr and "'MPI_Recv'" not in run.stderr, f'{mpi}: a label that no event has',
            run.stderr)
    shutil.copytree(f'race.{mpi}', f'cut.{mpi}')
    for path in glob.glob(f'cut.{mpi}/*.trace'):
        os.truncate(path, os.path.getsize(path) - 40)
    run = t.run('lattice', '-f', 'json', f'cut.{mpi}')
    t.check(run.returncode == 5 and 'damaged' in (json.loads(run.stdout)['fault'] or '') if run.stdout else run.returncode == 5,
            f'{mpi}: a damaged trace is told with its answer', run.returncode, run.stderr)
    shutil.copytree(f'race.{mpi}', f'lost.{mpi}')
    os.truncate(sorted(glob.glob(f'lost.{mpi}/launch.*.json'))[-1], 200)
    run = t.run('lattice', f'lost.{mpi}')
    t.check(run.returncode == 5 and 'launch.' in run.stderr and 'missing' in run.stderr, f'{mpi}: so is a damaged record of a rank', run.returncode, run.stderr)
    shown, whole = t.run('lattice', f'race.{mpi}').stdout, t.run('lattice', '--all', f'race.{mpi}').stdout
    count = int(re.search(r'that they could have met: (\d+)', whole)[1])
    cut = re.search(r'and (\d+) more \(--all shows all\)\n', shown[shown.index('that they could have met'):])
    t.equal((whole.count(', could have met  '), shown.count(', could have met  ') + (int(cut[1]) if cut else 0)), (count, count),
            f'{mpi}: races that are not shown are counted')


for mpi in MPIS:
    races(mpi)
    names(mpi)
    shared(mpi)
    death(mpi)
    work(mpi)
    exclusion(mpi)
    graph(mpi)
if not MPIS:
    t.skip('the lattice of a program of MPI', 'no MPI is installed')
t.done()

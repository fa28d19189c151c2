"""Ranks that share a CPU: who polls for another rank waits for it, whether the poll gets the CPU or not. The program times its
calls itself, so the machine may be as busy as it likes."""
import json
import re

from sonde_test import Test

ONE_CPU = r'''
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define KEPT __attribute__((noinline))
static volatile double sink;
static double cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
KEPT void work(double seconds)
{
	for (double end = cpu_s() + seconds; cpu_s() < end;)
		for (int i = 0; i < 10000; i++)
			sink += i;
}
KEPT double exchange(void)
{
	double value = 1, sum, begin = MPI_Wtime();
	MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return MPI_Wtime() - begin;
}
KEPT double pass(int rank)
{
	double value = 1, begin;
	if (!rank) {
		MPI_Send(&value, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
		return 0;
	}
	begin = MPI_Wtime();
	MPI_Recv(&value, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return MPI_Wtime() - begin;
}
int main(int argc, char **argv)
{
	int rank, turns = atoi(argv[1]);
	double in_exchange = 0, in_pass = 0, worked, begin;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	cpu_set_t set;
	sched_getaffinity(0, sizeof set, &set);
	int cpu = 0;
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	MPI_Bcast(&cpu, 1, MPI_INT, 0, MPI_COMM_WORLD);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof set, &set);
	begin = MPI_Wtime();
	worked = 0;
	for (int i = 0; i < turns; i++) {
		double before = cpu_s();
		work(rank ? .002 : .02);
		worked += cpu_s() - before;
		in_exchange += exchange();
		before = cpu_s();
		work(rank ? .002 : .02);
		worked += cpu_s() - before;
		in_pass += pass(rank);
	}
	fprintf(stderr, "turns %d %.6f %.6f %.6f %.6f\n", rank, MPI_Wtime() - begin, in_exchange, in_pass, worked);
	MPI_Finalize();
	return 0;
}
'''


def losses(found, property):
    """Seconds over both ranks: a row is a share of the lanes in its scope."""
    wall = found['phase']['mean_s']
    return sum(r['severity'] * wall * (1 if len(r['processes']) == 1 else 2) for r in found['properties']
               if r['property'] == property and not r['refined'])


def told(found):
    return [(r['property'], r['function'], r['processes'], round(r['severity'], 3), r['refined']) for r in found['properties']]


def judge(t, found, text, name, is_traced):
    turns = {int(words[1]): [float(w) for w in words[2:]] for words in map(str.split, text.splitlines()) if words[:1] == ['turns']}
    t.check(sorted(turns) == [0, 1], f'{name}: both ranks tell their times', text)
    wall = found['phase']['mean_s']
    waited = turns[1][1]
    t.check(waited > .05 * turns[1][0], f'{name}: rank 1 waits in the Allreduce', turns)
    loss, late = losses(found, 'WaitAtNxN'), losses(found, 'LateSender')
    if is_traced:
        t.check(.75 * waited <= loss <= 1.15 * (waited + turns[0][1]) + .02 * wall, f'{name}: all of it is the wait\'s', loss, turns, told(found))
        t.check(.75 * turns[1][2] <= late <= 1.1 * turns[1][2] + .02 * wall, f'{name}: a receive that has no CPU waits for its sender', late, turns, told(found))
    else: # which call a rank without a CPU is in is known by the samples around
        inside = sum(sum(each[1:3]) for each in turns.values())
        told_inside = max(r['severity'] * wall * (1 if len(r['processes']) == 1 else 2) for r in found['properties']
                          if r['property'] == 'MPIExcessive' and r['region_kind'] == 'program')
        t.check(.75 * inside <= told_inside <= 1.15 * (inside + 2 * (wall - turns[1][0])) + .1 * wall, f'{name}: samples tell the time in MPI, also without a CPU', told_inside, turns, told(found))
        t.check(loss > .4 * waited, f'{name}: and that the Allreduce has a part of it', loss, turns, told(found))
    # what passes before the turns (the launcher, MPI_Init) is lost, too, but no property is asked to explain it
    worked = turns[0][3] + turns[1][3]
    lost, most = turns[0][0] + turns[1][0] - worked, 2 * wall - worked
    names = {r['property'] for r in found['properties']} - {'HotRegion', 'LateRankRegion', 'HeapLeak'}
    ends = sum(losses(found, p) for p in names)
    t.check(.8 * lost <= ends <= 1.1 * most, f'{name}: leaves add up to what was lost', ends, lost, most, turns, told(found))


def main():
    t = Test()
    if not t.has('mpicc', 'mpirun'):
        t.skip('ranks on one CPU', 'no MPI')
        t.done()
        return
    app = t.compile(ONE_CPU, '-O1', '-g', compiler='mpicc', output='./one_cpu')
    spin, give = [('--allow-run-as-root', '--oversubscribe', '--mca', 'mpi_yield_when_idle', how) for how in '01']
    if t.command('mpirun', *spin, '-n', '2', app, '1').returncode:
        spin = give = ()
    done = t.run('search', '--format', 'json', '--budget', '1', '--threshold', '.01', '--strategy', 'mpi', '--restarts', '1', '--launch',
                 ' '.join(('mpirun',) + give + ('-n', '2')), app, '6', timeout=300)
    t.check('start 2 of 2 at most: mpi' in done.stderr, 'waits without a CPU are enough for a start that traces them', done.stderr)
    first = json.loads(done.stdout)
    second = re.search(r'mpi is in (\S+)', done.stderr)
    found = json.loads(t.run('search', '--experiment', second.group(1) if second else '@0', '--format', 'json', '--threshold', '.01').stdout)
    judge(t, found, done.stderr, 'search', True)
    shares = [losses(f, 'WaitAtNxN') / f['phase']['mean_s'] for f in (first, found)]
    t.within(shares[0], shares[1], .02, 'search: the waits of the second start are shares of that')
    for is_traced in (False, True):
        name = f'run.{is_traced}'
        done = t.run('record', '-q', *(('--mpi',) if is_traced else ()), '--clock', '1000', '-o', name, '--', 'mpirun', *spin, '-n', '2', app, '6',
                     timeout=300)
        found = json.loads(t.run('search', '--experiment', name, '--format', 'json', '--threshold', '.01').stdout)
        judge(t, found, done.stderr, name, is_traced)
    t.done()


main()

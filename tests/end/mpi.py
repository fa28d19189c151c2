"""The trace of MPI: calls, bytes and messages equal those of programs that count for themselves, and planted waiting
is found, under each MPI that is installed."""
import collections
import json
import os
import re
import signal
import subprocess
import sys
import time

from sonde_test import Test

t = Test()
MPIS = {'openmpi': ['mpirun.openmpi', '--allow-run-as-root', '--oversubscribe', '-n'],
        'mpich': ['mpirun.mpich', '-n']}
MPIS = {mpi: run for mpi, run in MPIS.items() if t.has('mpicc.' + mpi, run[0])}
chosen = sys.argv[1:]


def build(mpi, source, *flags, compiler='mpicc'):
    name = './' + re.sub(r'\W', '_', os.path.basename(source) if '\n' not in source else f'made{abs(hash(source))}')
    return t.compile(source, '-O1', '-g', '-w', *flags, compiler=f'{compiler}.{mpi}', output=f'{name}.{mpi}')


def launch(mpi, ranks, *words, **more):
    return t.command(*MPIS[mpi], ranks, *words, **more)


def record(mpi, experiment, ranks, *words, **more):
    return launch(mpi, ranks, t.sonde, 'record', '-q', '--mpi', '-o', experiment, *words, **more)


def rows_of(view, experiment):
    return t.show(view, experiment, '--all')['rows']


def told(prefix, ranks):
    """What the ranks of mpi_random counted: by rank and function, and by pair."""
    calls, pairs = {}, {}
    for rank in range(ranks):
        for line in open(f'{prefix}.{rank}'):
            kind, *words = line.split()
            if kind == 'F':
                calls[int(words[0]), words[1]] = [int(w) for w in words[2:]]
            else:
                pairs[int(words[0]), int(words[1])] = [int(w) for w in words[2:]]
    return calls, pairs


def random_programs(seeds, rounds):
    for mpi in MPIS:
        program = build(mpi, 'mpi_random.c')
        for seed in seeds:
            ranks, experiment = 2 + seed % 3, f'{mpi}{seed}'
            run = record(mpi, experiment, ranks, program, seed, rounds, f'told{seed}')
            name = f'{mpi}, seed {seed}, {ranks} ranks'
            t.equal((run.returncode, sorted(run.stdout.splitlines())), (0, [f'rank {r} is done' for r in range(ranks)]),
                    f'{name}: status and output are the program\'s')
            calls, pairs = told(f'told{seed}', ranks)
            table = t.show('mpi', experiment, '--all')
            seen = {(row['rank'], row['function']):
                    [row['calls'], row['bytes_sent'], row['bytes_received'], row['messages']] for row in table['rows']}
            t.equal({key: seen.get(key) for key in calls}, calls, f'{name}: calls, bytes and messages are exact')
            t.equal(table['lost'], {'mpi': 0}, f'{name}: nothing is lost')
            t.equal({(row['from'], row['to']): [row['messages'], row['bytes']] for row in rows_of('matrix', experiment)},
                    pairs, f'{name}: so is the matrix')
            messages = rows_of('messages', experiment)
            t.check(all(m['state'] == 'received' for m in messages), f'{name}: every message was received',
                    [m for m in messages if m['state'] != 'received'][:5])
            t.check(all(m['t0_s'] <= m['t1_s'] for m in messages), f'{name}: none before it was sent',
                    [m for m in messages if m['t0_s'] > m['t1_s']][:5])


def planted():
    """Each kind of waiting, by a rank that sleeps. The ranks note when they come to the call that waits or is waited for;
    only a rank that loses its CPU between that note and the call makes a difference (a millionth of the time)."""
    want = [('late_sender', 'late_sender', 1, [0]), ('late_sender', 'late_sender_of_request', 2, [0]),
            ('late_receiver', 'late_receiver', 0, [1]), ('wrong_order', 'wrong_order', 1, [0]),
            ('wait_at_barrier', 'wait_at_barrier', 0, [1]), ('wait_at_barrier', 'wait_at_barrier', 2, [1]),
            ('wait_at_nxn', 'wait_at_nxn', 0, [2]), ('wait_at_nxn', 'wait_at_nxn', 1, [2]),
            ('early_reduce', 'early_reduce', 0, [1, 2]), ('late_broadcast', 'late_broadcast', 0, [2]),
            ('late_broadcast', 'late_broadcast', 1, [2]), ('late_sender', 'late_sender_of_probe', 1, [0]),
            ('late_sender', 'late_sender_of_exchange', 1, [0]), ('wait_at_barrier', 'wait_at_finalize', 0, [2]),
            ('wait_at_barrier', 'wait_at_finalize', 1, [2])]
    for mpi in MPIS:
        program = build(mpi, 'mpi_waits.c')
        record(mpi, f'waits.{mpi}', 3, program, 100, f'came.{mpi}')
        came = [dict((w[0], int(w[1]) / 1e9) for w in map(str.split, open(f'came.{mpi}.{r}'))) for r in range(3)]
        rows = rows_of('waitstates', f'waits.{mpi}')
        for kind, function, rank, late in want:
            row = [r for r in rows if (r['kind'], r['rank'], r['function']) == (kind, rank, function)]
            name = f'{mpi}: rank {rank} waits in {function}'
            truth = max(came[r][function] for r in late) - came[rank][function]
            if truth < 0.001:
                t.skip(name, 'the machine held it up for longer than the other slept')
                continue
            if not t.check(len(row) == 1, f'{name}, {kind}', *rows):
                continue
            t.within(row[0]['wait_s'], truth, max(0.05 * truth, 0.001), f'{name}: as long as the other was late')
            t.check(row[0]['file'].endswith('mpi_waits.c') and row[0]['for_rank'] in late and
                    row[0]['for_function'] == function, f'{name}: where, and for whom', row)


def critical_path():
    """On the path of the planted sleeps are all of them, and nothing of those who waited."""
    for mpi in MPIS:
        name, late_s = f'critical.{mpi}', 0.1
        record(mpi, name, 3, build(mpi, 'mpi_waits.c'), int(late_s * 1000), f'came.{name}')
        path, elapsed = rows_of('critical', name), t.show('summary', name)['elapsed_s']
        t.within(sum(r['time_s'] for r in path), elapsed, 1e-6, f'{mpi}: its pieces sum to the elapsed time')
        t.check(sum(r['time_s'] for r in path if r['function'] == 'work_longer') >= 0.9 * 11 * late_s,
                f'{mpi}: the eleven sleeps that others waited for are on it', *path)


THREADED = '''
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static double now(clockid_t clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static double took;
__attribute__((noipa)) static void slow(void)
{
	double began = now(CLOCK_MONOTONIC), until = now(CLOCK_THREAD_CPUTIME_ID) + .25;
	while (now(CLOCK_THREAD_CPUTIME_ID) < until)
		for (volatile int i = 0; i < 100000; i++)
			;
	took = now(CLOCK_MONOTONIC) - began;
}
static void *works(void *unused) { slow(); return unused; }
int main(int count, char **words)
{
	int rank, value = 0;
	pthread_t thread;
	MPI_Init(&count, &words);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0) {
		pthread_create(&thread, NULL, works, NULL);
		pthread_join(thread, NULL);
		MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
		printf("slow %.9f\\n", took);
	} else {
		MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	MPI_Finalize();
	return 0;
}
'''


def with_locks():
    """With locks traced as well, the path of ranks goes through the thread that the sender waited for, and not through the
    threads of the MPI library that serve it."""
    for mpi in MPIS:
        name = f'threaded.{mpi}'
        run = record(mpi, name, 2, '--sync', build(mpi, THREADED, '-pthread'))
        t.equal(run.returncode, 0, f'{mpi}: --mpi and --sync together')
        took = float(run.stdout.split()[1])
        rows, elapsed = rows_of('critical', name), t.show('summary', name)['elapsed_s']
        t.within(sum(r['time_s'] for r in rows), elapsed, 1e-6, f'{mpi}, with locks: the pieces sum to the elapsed time')
        slow = [r for r in rows if r['function'] in ('slow', 'now') and r['kind'] in ('compute', 'no_cpu')]  # it asks for the time by now()
        computed = sum(r['time_s'] for r in slow if r['kind'] == 'compute' and r['function'] == 'slow')  # the rest of it, it could run and had no CPU
        t.check(sum(r['time_s'] for r in slow) >= took - 0.05 * elapsed, f'{mpi}: the thread behind the sender is on the path', took, *rows)
        t.equal({r['rank'] for r in slow}, {0}, f'{mpi}: in its rank')
        t.check(max([r['saved_s'] or 0 for r in slow], default=0) >= computed / 2 - 0.1 * elapsed, f'{mpi}: halving it saves half of it', took, *rows)
        t.check(rows_of('locks', name) and rows_of('mpi', name), f'{mpi}: both traces are there')


def fortran():
    for mpi in MPIS:
        if not t.has('mpif90.' + mpi):
            t.skip(f'{mpi}: Fortran', f'mpif90.{mpi} is not installed')
            continue
        for binding in ('BY_MPIF', 'BY_MPI', 'BY_F08'):
            program = t.compile('mpi_fortran.F90', '-g', '-w', '-D' + binding, compiler='mpif90.' + mpi,
                                output=f'./fortran.{binding}.{mpi}')
            experiment = f'fortran.{binding}.{mpi}.e'
            run = record(mpi, experiment, 2, program)
            name = f'{mpi}, {binding}'
            t.equal((run.returncode, run.stdout), (0, 'sum     1.0\n'), f'{name}: status and output are the program\'s')
            seen = {(r['rank'], r['function']): (r['calls'], r['bytes_sent'], r['bytes_received'], r['messages'])
                    for r in rows_of('mpi', experiment)}
            ring, exchange = sum(80 * i for i in range(1, 11)), sum(8 * i for i in range(1, 11))
            want = {}
            for rank in (0, 1):
                want.update({(rank, 'MPI_Init'): (1, 0, 0, 0), (rank, 'MPI_Finalize'): (1, 0, 0, 0),
                             (rank, 'MPI_Comm_dup'): (1, 0, 0, 0), (rank, 'MPI_Comm_rank'): (1, 0, 0, 0),
                             (rank, 'MPI_Comm_size'): (1, 0, 0, 0), (rank, 'MPI_Irecv'): (10, 0, 0, 0),
                             (rank, 'MPI_Isend'): (10, ring, 0, 10), (rank, 'MPI_Waitall'): (10, 0, ring, 10),
                             (rank, 'MPI_Sendrecv'): (10, exchange, exchange, 20),
                             (rank, 'MPI_Allreduce'): (10, 320, 320, 0), (rank, 'MPI_Barrier'): (10, 0, 0, 0),
                             (rank, 'MPI_Bcast'): (10, 560 if rank == 0 else 0, 0 if rank == 0 else 560, 0)})
            want[0, 'MPI_Send'], want[1, 'MPI_Recv'] = (10, 240, 0, 10), (10, 0, 240, 10)
            t.equal(seen, want, f'{name}: each call once, by its name in C')
            t.equal({(r['from'], r['to']): (r['messages'], r['bytes']) for r in rows_of('matrix', experiment)},
                    {(0, 1): (30, ring + exchange + 240), (1, 0): (20, ring + exchange)}, f'{name}: the matrix')
            waits = rows_of('waitstates', experiment)
            t.check(all(r['function'] == 'ring' for r in waits), f'{name}: the caller is the program\'s', waits)


KILLED = r'''
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int rank, x = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 5000; i++) {
		if (rank == 0)
			MPI_Send(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
		else
			MPI_Recv(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	if (rank == 1)
		kill(getpid(), SIGKILL);
	MPI_Recv(&x, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return 0;
}
'''


def killed():
    for mpi in MPIS:
        program = build(mpi, KILLED)
        plain = launch(mpi, 2, program)
        run = record(mpi, f'killed.{mpi}', 2, program)
        t.equal(run.returncode, plain.returncode, f'{mpi}: the launcher ends with the same status, as the record of the rank that was killed does, too')
        rows = {(r['rank'], r['function']): r for r in rows_of('mpi', f'killed.{mpi}')}
        t.check(rows[1, 'MPI_Recv']['calls'] == 5000 and rows[1, 'MPI_Recv']['bytes_received'] == 20000,
                f'{mpi}: a rank that was killed has all its calls', rows[1, 'MPI_Recv'])
        t.equal((rows[0, 'MPI_Send']['calls'], rows[0, 'MPI_Recv']['calls'], rows[0, 'MPI_Recv']['unfinished']), (5000, 1, 1),
                f'{mpi}: the other has its own, and the call that it died in')
        t.equal(len([m for m in rows_of('messages', f'killed.{mpi}') if m['state'] == 'received']), 5000,
                f'{mpi}: all messages are matched')


TOOL = r'''
#include <mpi.h>
#include <stdio.h>
static int sends;
int MPI_Send(const void *b, int n, MPI_Datatype d, int to, int tag, MPI_Comm c)
{
	sends++;
	return PMPI_Send(b, n, d, to, tag, c);
}
int MPI_Finalize(void)
{
	int rank;
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0)
		printf("the tool saw %d sends\n", sends);
	return PMPI_Finalize();
}
#ifdef WITH_MAIN
int main(int argc, char **argv)
{
	int rank, x = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 10; i++)
		if (rank == 0)
			MPI_Send(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
		else
			MPI_Recv(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Pcontrol(2, 1.5, "x");
	MPI_Finalize();
	return 0;
}
#endif
'''


def tools():
    """The program's own PMPI tool, in the program and in a library, sees what it saw before."""
    for mpi in MPIS:
        inside = build(mpi, TOOL, '-DWITH_MAIN')
        run = record(mpi, f'tool.{mpi}', 2, inside)
        rows = {(r['rank'], r['function']): r['calls'] for r in rows_of('mpi', f'tool.{mpi}')}
        t.equal((run.returncode, run.stdout, rows[0, 'MPI_Send'], rows[1, 'MPI_Recv'], rows[0, 'MPI_Pcontrol']),
                (0, 'the tool saw 10 sends\n', 10, 10, 1), f'{mpi}: a tool in the program')


def refused():
    run = t.run('record', '--mpi', '--pid', os.getpid())
    t.check(run.returncode == 125 and '--mpi traces a program from its start' in run.stderr, '--mpi and --pid', run.stderr)
    program = t.compile('''
#pragma weak MPI_Initialized
int MPI_Initialized(int *);
int main(void) { int flag = 5; return MPI_Initialized ? MPI_Initialized(&flag) * 10 + flag : 0; }
''', output='./asks')
    run = t.run('record', '-q', '--mpi', '-o', 'none', program)
    t.equal((run.returncode, run.stderr), (0, ''), 'a program without MPI that asks for it learns that it is not begun')
    run = t.run('show', 'mpi', 'none')
    t.check('no call of MPI' in run.stderr, 'and its table says so', run.stderr)
    run = t.run('record', '-q', '-o', 'plain', program)
    run = t.run('show', 'messages', 'plain')
    t.check('MPI was not traced' in run.stderr, 'without --mpi it says what would trace it', run.stderr)


tests = {'random': lambda: random_programs(range(1, 4), 120), 'planted': planted, 'critical': critical_path, 'with_locks': with_locks, 'fortran': fortran, 'killed': killed,
         'tools': tools, 'random_many': lambda: random_programs(range(4, 24), 400)}
refused()
for which in chosen or ['random', 'planted', 'critical', 'with_locks', 'fortran', 'killed', 'tools']:
    if MPIS:
        tests[which]()
    else:
        t.skip(which, 'neither Open MPI nor MPICH is installed')
t.done()

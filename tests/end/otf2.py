"""Traces in OTF2, read by its own otf2-print: calls, messages and collective operations are those of the program, begin
and end fit together, and the error of the clocks is told."""
import collections
import os
import re
import subprocess

from sonde_test import Test

t = Test()
MPIS = {'openmpi': ['mpirun.openmpi', '--allow-run-as-root', '--oversubscribe', '-n'],
        'mpich': ['mpirun.mpich', '-n']}
MPIS = {mpi: run for mpi, run in MPIS.items() if t.has('mpicc.' + mpi, run[0])}


def printed(folder, *options):
    run = t.command('otf2-print', '-Werror', *options, folder + '/traces.otf2')
    return run.stdout.splitlines() if run.returncode == 0 else [f'otf2-print: {run.returncode}: {run.stderr}']


def events_of(folder):
    """[(kind, location, time, attributes)] in the order of time."""
    rows = [re.match(r'([A-Z_]+) +(\d+) +(\d+)  ?(.*)', line) for line in printed(folder)]
    return [(m[1], int(m[2]), int(m[3]), m[4]) for m in rows if m]


def definitions_of(folder, kind):
    rows = [re.match(kind + r' +(\d+)  (.*)', line) for line in printed(folder, '-G')]
    return {int(m[1]): m[2] for m in rows if m}


def number(attributes, name):
    found = re.search(name + r': (\d+)', attributes)
    return int(found[1]) if found else None


def regions_pair(events, name):
    open_regions, problems = collections.defaultdict(list), []
    for kind, location, _, attributes in events:
        region = re.search(r'Region: (.*)', attributes)
        if kind == 'ENTER':
            open_regions[location].append(region[1])
        elif kind == 'LEAVE' and (not open_regions[location] or open_regions[location].pop() != region[1]):
            problems.append((location, region[1]))
    t.equal((problems, [r for r in open_regions.values() if r]), ([], []), f'{name}: what begins ends, in order')


def of_mpi(mpi):
    experiment, folder, ranks = f'random.{mpi}', f'random.{mpi}.otf2', 3
    program = t.compile('mpi_random.c', '-O1', '-g', '-w', compiler='mpicc.' + mpi, output=f'./program.{mpi}')
    t.command(*MPIS[mpi], ranks, t.sonde, 'record', '-q', '--mpi', '-o', experiment, program, 7, 150, 'told')
    run = t.run('export', '--to', 'otf2', experiment)
    t.equal((run.returncode, run.stdout), (0, folder + '\n'), f'{mpi}: exported')
    events = events_of(folder)
    kinds = collections.Counter(e[0] for e in events)
    t.check(not any(line.startswith('otf2-print: ') for line in printed(folder, '--silent')),
            f'{mpi}: otf2-print has no objection', *printed(folder, '--silent'))
    regions_pair(events, mpi)
    groups = {name: ref for ref, text in definitions_of(folder, 'LOCATION_GROUP').items()
              for name in re.findall(r'Name: "(.*?)"', text)}
    group_of = {ref: re.search(r'Group: "(.*?)" <\d+>$', text)[1]
                for ref, text in definitions_of(folder, 'LOCATION').items()}
    t.check(all(f'MPI Rank {r}' in groups for r in range(ranks)), f'{mpi}: each rank is a group of locations', groups)
    regions = collections.Counter((group_of[e[1]], re.search(r'Region: "(.*)" <', e[3])[1]) for e in events if e[0] == 'ENTER')
    calls = {(f'MPI Rank {r["rank"]}', r['function']): r['calls'] for r in t.show('mpi', experiment, '--all')['rows']}
    told = {key: regions[key] for key in calls if regions[key]}
    t.equal(told, {key: calls[key] for key in told}, f'{mpi}: as many regions as calls')
    # functions that only look something up are counted and have no time of their own
    silent = {key[1] for key in calls if not regions[key]}
    t.check(not any(re.search('[Ss]end|[Rr]ecv|Bcast|reduce|gather|Wait|Barrier', f) for f in silent),
            f'{mpi}: every call that communicates is there', silent)
    messages = t.show('messages', experiment, '--all')['rows']
    t.equal((kinds['MPI_SEND'] + kinds['MPI_ISEND'], kinds['MPI_RECV'] + kinds['MPI_IRECV']), (len(messages),) * 2,
            f'{mpi}: each message is sent and received')
    for kind in ('SEND', 'RECV'):
        t.equal(sorted(number(e[3], 'Length') for e in events if re.fullmatch('MPI_I?' + kind, e[0])),
                sorted(m['bytes'] for m in messages), f'{mpi}: with its bytes')
    t.equal((kinds['MPI_ISEND'], kinds['MPI_IRECV']), (kinds['MPI_ISEND_COMPLETE'], kinds['MPI_IRECV_REQUEST']),
            f'{mpi}: requests are made and complete')
    world = next(ref for ref, text in definitions_of(folder, 'COMM').items() if 'MPI_COMM_WORLD' in text)
    pairs = collections.Counter((group_of[e[1]], f'MPI Rank {number(e[3], "Receiver")}') for e in events
                                if 'SEND' in e[0] and f'"MPI_COMM_WORLD" <{world}>' in e[3])
    known = collections.Counter((f'MPI Rank {r["from"]}', f'MPI Rank {r["to"]}') for r in messages if r['comm'] == 0)
    t.equal(pairs, known, f'{mpi}: from whom to whom')
    sums = {name: sum(number(e[3], key) or 0 for e in events if 'COLLECTIVE_END' in e[0] or 'COLLECTIVE_COMPLETE' in e[0])
            for name, key in (('sent', 'Sent'), ('received', 'Received'))}
    of_calls = t.show('mpi', experiment, '--all')['rows']
    point = sum(m['bytes'] for m in messages)
    t.equal(sums, {'sent': sum(r['bytes_sent'] for r in of_calls) - point,
                   'received': sum(r['bytes_received'] for r in of_calls) - point}, f'{mpi}: bytes of collective operations')
    t.check(kinds['MPI_COLLECTIVE_BEGIN'] == kinds['MPI_COLLECTIVE_END'] > 0, f'{mpi}: they begin and end', kinds)
    run = t.run('export', '--to', 'otf2', experiment)
    t.check(run.returncode == 5 and 'is there already' in run.stderr, f'{mpi}: a trace is not overwritten', run.stderr)


CLOCKS = '''
#include <mpi.h>
int main(int argc, char **argv)
{
	int rank, x = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 200; i++)
		if (rank == 0) {
			MPI_Send(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
			MPI_Recv(&x, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		} else {
			MPI_Recv(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Send(&x, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
		}
	MPI_Finalize();
	return 0;
}
'''


def clocks(mpi):
    """Two ranks on hosts of different names, their clocks a day apart: the error of the alignment is in the trace."""
    name = f'{mpi}: clocks of two hosts'
    apart = ['unshare', '--uts', '--time', '--monotonic', '86400', '--fork', 'sh', '-c', 'hostname elsewhere && exec "$@"', 'sh']
    if mpi != 'openmpi':
        t.skip(name, 'its processes wait for each other by names of hosts')
        return
    if subprocess.run([*apart, 'true'], capture_output=True).returncode:
        t.skip(name, 'no namespaces of time and name here')
        return
    program = t.compile(CLOCKS, '-O1', '-g', '-w', compiler='mpicc.' + mpi, output=f'./pingpong.{mpi}')
    record = [t.sonde, 'record', '-q', '--mpi', '-o', f'clocks.{mpi}', program]
    run = t.command(*MPIS[mpi], 1, *record, ':', '-n', '1', *apart, *record)
    t.run('export', '--to', 'otf2', f'clocks.{mpi}')
    events = events_of(f'clocks.{mpi}.otf2')
    ranks = {e[1] for e in events if e[0] == 'MPI_SEND'}
    if not t.equal(len(ranks), 2, f'{name}: both are there'):
        print('#', run.stderr)
        return
    info = printed(f'clocks.{mpi}.otf2', '-I')
    error = [int(line.split()[-1]) for before, line in zip(info, info[1:]) if 'SONDE::CLOCK_ERROR_NS' in before]
    deviations = {float(d) for line in printed(f'clocks.{mpi}.otf2', '-C') for d in re.findall(r'StdDev: (\S+)', line)}
    t.check(error and error[0] > 0 and len(deviations) == 1 and abs(deviations.pop() / error[0] - 1) < 0.001,
            f'{name}: the error is a property, and each clock offset\'s deviation', error, deviations)
    sends, receives = ([e[2] for e in events if e[0] == kind] for kind in ('MPI_SEND', 'MPI_RECV'))
    late = [r - s for s, r in zip(sorted(sends), sorted(receives)) if r < s - 2 * error[0]] if error else [0]
    t.equal(late, [], f'{name}: nothing is received before it was sent')


def of_threads():
    """A program without MPI: what samples saw of each thread."""
    program = t.compile('''
#include <pthread.h>
#include <stdio.h>
static __attribute__((noinline)) double burn(long n) { double s = 0; for (long i = 1; i < n; i++) s += 1.0 / i; return s; }
static void *work(void *sum) { *(double *)sum = burn(150000000); return 0; }
int main(void)
{
	double a, b;
	pthread_t other;
	pthread_create(&other, 0, work, &a);
	b = burn(150000000);
	pthread_join(other, 0);
	return printf("%g\\n", a + b) < 0;
}
''', '-O1', '-g', '-pthread', output='./threads')
    t.run('record', '-q', '-o', 'threads.e', program)
    run = t.run('export', '--to', 'otf2', '--wall', '-o', 'made', 'threads.e')
    t.equal((run.returncode, run.stdout), (0, 'made\n'), 'threads: exported where it was asked for')
    events = events_of('made')
    regions_pair(events, 'threads')
    burning = {e[1] for e in events if e[0] == 'ENTER' and '"burn"' in e[3]}
    t.equal(len(burning), 2, 'threads: both were in burn')
    regions = definitions_of('made', 'REGION')
    t.check(any('"burn"' in r and 'Paradigm: SAMPLING' in r and 'Begin: 4,' in r for r in regions.values()),
            'threads: a function has its line, and is told to be sampled', *regions.values())
    sizes = {ref: number(text, '# Events') for ref, text in definitions_of('made', 'LOCATION').items()}
    counts = collections.Counter(e[1] for e in events)
    t.equal(sizes, {ref: counts[ref] for ref in sizes}, 'threads: as many events as are told')
    run = t.run('export', '--to', 'otf2', '-o', '-', 'threads.e')
    t.check(run.returncode == 2 and 'is a folder' in run.stderr, 'standard output takes no folder', run.stderr)
    before = sorted(os.listdir('.'))
    run = t.command('sh', '-c', 'ulimit -f 1; exec "$@"', 'sh', t.sonde, 'export', '--to', 'otf2', '-o', 'cut', 'threads.e')
    t.equal((run.returncode, sorted(os.listdir('.'))), (5, before), 'after an error of writing nothing is left')


program = t.compile('int main(void) { return 0; }\n', output='./nothing')
t.run('record', '-q', '-o', 'nothing.e', program)
run = t.run('export', '--to', 'otf2', 'nothing.e')
if run.returncode == 4:
    t.check('libotf2' in run.stderr and run.stderr.count('\n') == 1, 'without libotf2 one sentence says so', run.stderr)
    t.skip('traces in OTF2', 'libotf2 is not installed')
elif not t.has('otf2-print'):
    t.skip('traces in OTF2', 'otf2-print (otf2-tools) is not installed')
else:
    t.equal(run.returncode, 0, 'an experiment without samples is a trace without events')
    of_threads()
    for which in MPIS:
        of_mpi(which)
        clocks(which)
    if not MPIS:
        t.skip('MPI', 'neither Open MPI nor MPICH is installed')
t.done()

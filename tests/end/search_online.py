"""sonde search of a program: it is started again for what a step lacks, with the same input; its output is the last start's."""
import json
import os
import re
import signal
import subprocess
import time
import xml.etree.ElementTree

from sonde_test import Test

# works 0.4 s of CPU time, most of it in malloc and free; says which start it is and what it has read
CHURN = r'''
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static volatile long sink;
static double cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static void __attribute__((noinline)) churn(void)
{
	void *kept[64];
	for (int i = 0; i < 64; i++)
		kept[i] = malloc((size_t)(16 + i * 8));
	for (int i = 0; i < 64; i++)
		free(kept[i]);
}
static int starts(void)
{
	FILE *file = fopen("starts", "a+");
	int count = 0, c;
	fputs("x", file);
	rewind(file);
	while ((c = getc(file)) != EOF)
		count++;
	fclose(file);
	return count;
}
int main(int argc, char **argv)
{
	int count = starts(), sum = 0, c;
	while ((c = getchar()) != EOF)
		sum += c;
	double end = cpu_s() + .4;
	while (cpu_s() < end)
		for (int i = 0; i < 20; i++)
			churn();
	if (argc > 1)
		printf("start %d read %d of %s\n", count, sum, argv[1]);
	return 7;
}
'''

# a sixth to a half of its time in the allocator; tells how often it called it
MIXED = r'''
#include <stdio.h>
#include <stdlib.h>
static volatile unsigned sink;
static void __attribute__((noinline)) churn(void)
{
	for (int i = 0; i < 1000; i++) {
		void *block = malloc((size_t)(40 + i % 200));
		sink += block != NULL;
		free(block);
	}
}
static void __attribute__((noinline)) work(void)
{
	unsigned x = sink;
	for (int i = 0; i < 20000; i++)
		x = x * 1664525u + 1013904223u;
	sink = x;
}
int main(void)
{
	for (int i = 0; i < 15000; i++) {
		churn();
		work();
	}
	fprintf(stderr, "calls %d\n", 2 * 15000 * 1000);
	return 0;
}
'''

CALM = r'''
#include <stdio.h>
#include <time.h>
static volatile double sink;
int main(void)
{
	struct timespec t;
	puts("calm");
	do
		for (int i = 0; i < 100000; i++)
			sink += i;
	while (!clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) && t.tv_sec == 0 && t.tv_nsec < 300000000);
	return 0;
}
'''

# 0.3 s of CPU time in writes of 8 bytes to the file that it is told
SMALL = r'''
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
#include <stdio.h>
static int __attribute__((noinline)) save(int file)
{
	return pwrite(file, "8 bytes", 8, 0) == 8;
}
static double cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
int main(int argc, char **argv)
{
	double in_calls_s = 0;
	struct timespec t = { 0 };
	int file = open(argv[1], O_WRONLY | O_CREAT, 0600), saved = 1;
	while (saved && t.tv_sec == 0 && t.tv_nsec < 300000000) {
		double begin_s = cpu_s();
		for (int i = 0; i < 100; i++)
			saved &= save(file);
		in_calls_s += cpu_s() - begin_s;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	}
	fprintf(stderr, "in calls %.3f s\n", in_calls_s);
	return !saved;
}
'''

# 3,000,000 writes of 16 bytes
MANY = r'''
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
static void __attribute__((noinline)) save(int file)
{
	for (int i = 0; i < 1000; i++)
		if (pwrite(file, "16 bytes of it..", 16, 0) != 16)
			_exit(1);
}
int main(void)
{
	int file = open("many.data", O_WRONLY | O_CREAT, 0600);
	for (int i = 0; i < 3000; i++)
		save(file);
	return 0;
}
'''

# for 2.5 s: keeps 300 kB every 10 ms, and gives as much back; "steady" gives all back
LEAKS = r'''
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static char *volatile kept;
static void __attribute__((noinline)) keep(void)
{
	kept = memset(malloc(300000), 1, 300000);
}
static void __attribute__((noinline)) give_back(void)
{
	char *volatile block = memset(malloc(100000), 1, 100000);
	free(block);
}
int main(int argc, char **argv)
{
	struct timespec begin, now;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		if (argc == 1)
			keep();
		give_back();
		usleep(10000);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) < 2.5);
	return 0;
}
'''

# rank 1 asks for a message; only then rank 0 begins the 20 ms that it takes to send it
LATE = r'''
#include <fcntl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile int *asking;
static void __attribute__((noinline)) give(void)
{
	double number = 1;
	usleep(20000);
	MPI_Send(&number, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
}
static void __attribute__((noinline)) take(int round)
{
	double number;
	*asking = round;
	MPI_Recv(&number, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
int main(int argc, char **argv)
{
	int rank, file = open("asking", O_RDWR | O_CREAT, 0600);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (ftruncate(file, 4096))
		return 1;
	asking = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (rank == 1)
		*asking = 0;
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 1; i <= 20; i++) {
		while (rank == 0 && *asking < i)
			usleep(500);
		if (rank == 0)
			give();
		else
			take(i);
	}
	MPI_Finalize();
	return 0;
}
'''


def starts():
    count = os.path.getsize('starts') if os.path.exists('starts') else 0
    if count:
        os.remove('starts')
    return count


def restarts(t, churn):
    done = t.run('search', '--format', 'json', '--budget', '1', '-o', 'first', churn, 'words', stdin=None, input='abc')
    found = json.loads(done.stdout)
    t.check(done.returncode == 0 and found['exit_status'] == 7 and found['mode'] == 'restart',
            'a search ends with 0, the program\'s status stands in the result', done.returncode, found['exit_status'], done.stderr)
    t.equal(starts(), 2, 'the allocator takes the time, so the program is started once more, for a trace of the heap')
    t.check('start 2 read 294 of words' in done.stderr and 'start 1 read' not in done.stderr,
            'both read the same input, and the last one\'s output is shown', done.stderr)
    t.check('start 2 wrote something else' in done.stderr, 'a difference is said')
    rows = [r for r in found['properties'] if r['property'] == 'HeapChurn']
    t.check(bool(rows) and rows[0]['evidence']['per_second'] > 1e5 and 'heap' in rows[0]['sources'],
            'what the second start measured proves the churn', done.stderr, rows[:1])
    t.check(any(r['function'] == 'churn' or any(p['name'] == 'churn' for p in r['path']) for r in rows), 'and says where', rows)
    t.equal([found['phase']['executions'], found['steps'][0]['executions']], [2, 2], 'the step that needed it has both starts')
    t.check(found['experiment'] == 'first' and t.show('functions', experiment='first')['rows'], 'an experiment is left')


def no_more_starts(t, churn):
    done = t.run('search', '--format', 'json', '--restarts', '0', churn, 'words')
    found = json.loads(done.stdout)
    t.check(starts() == 1 and 'as many starts' in done.stderr, '--restarts 0 is kept', done.stderr)
    missing = [m for m in found['not_measurable'] if m['property'] == 'HeapChurn']
    t.check(missing and 'heap_calls' in missing[0]['needs'] and not any(r['property'] == 'HeapChurn' for r in found['properties']),
            'what it lacks is named, not taken for false', missing)


def budget(t, churn):
    done = t.run('search', '--format', 'json', '--budget', '0.000001', churn, 'words')
    found = json.loads(done.stdout)
    t.check(starts() == 2 and re.search(r'values of heap are refused: measuring them took [0-9.]+ % of the CPU time, more than the budget of 0.00 %; --budget 0\.\d\d takes them', done.stderr),
            'what costs more than the budget is refused, with what it cost', done.stderr)
    missing = [m for m in found['not_measurable'] if m['property'] == 'HeapChurn']
    t.check(missing and "'heap', which costs more than --budget allows" in missing[0]['reason'] and not any(r['property'] == 'HeapChurn' for r in found['properties']),
            'and what needs it is named', missing)
    t.check(found['steps'][0]['overhead_share'] > .000001, 'the step has its cost', found['steps'][0])
    caches = [m['reason'] for m in found['not_measurable'] if m['property'] == 'LC1MissRate']
    t.check('no start for caches: ' not in done.stderr or (caches and 'which no hot loop of this program can give' in caches[0]),
            'what no hot loop can give asks for no further run', caches)
    again = json.loads(t.run('search', '--format', 'json', '-e', found['experiment']).stdout)
    said = [m['reason'] for m in again['not_measurable'] if m['property'] == 'LC1MissRate']
    # of counters only a search that can start the program knows whether this machine has them
    of_caches = [[reason.split(", or from 'counters'")[0] for reason in reasons] for reasons in (said, caches)]
    t.check('no start for caches: ' not in done.stderr or of_caches[0] == of_caches[1], 'nor does a search of the recorded run', said, caches)
    done = t.run('search', '--format', 'json', '--threshold', '0.02', t.compile(MIXED, '-O1', '-g', output='./mixed'))
    found = json.loads(done.stdout)
    rows = [r for r in found['properties'] if r['property'] == 'HeapChurn' and 'heap' in r['sources']]
    made = [int(text.split()[1]) for text in done.stderr.splitlines() if text.startswith('calls ')]
    t.check(rows and any(p['name'] == 'churn' for r in rows for p in r['path']) and made,
            'the budget is 0.05 unless said: what allocates much is sampled, and found within it', done.stderr, found['properties'])
    told = rows[0]['evidence']['per_second'] * found['phase']['mean_s'] if rows else 0
    t.within(told / made[-1] if made else 0, 1, .1, 'the calls of all blocks are told from those that were met')
    t.check(rows and rows[0]['confidence'] < 1, 'with an error', rows)
    for words, sentence in ((['--budget', '2'], 'a share from 0 to 1'), (['--budget', 'x'], 'takes a number')):
        done = t.run('search', *words, churn, 'words')
        t.check(done.returncode == 2 and sentence in done.stderr, f'{" ".join(words)} is a mistake', done.returncode, done.stderr)


def seconds_apart(found, said):
    """How much longer small calls take than the program says, as a share."""
    ends = [r['evidence']['seconds'] for r in found['properties'] if r['property'] == 'SmallIO' and not r['refined']]
    return sum(ends) / float(re.search(r'in calls ([\d.]+) s', said).group(1)) - 1


def small_writes(t):
    app = t.compile(SMALL, '-O1', '-g', output='./small')
    found, said = {}, {}
    for name in ('saved', '/dev/null'):
        done = t.run('search', '--format', 'json', '--budget', '1', '--threshold', '0.01', app, name)
        found[name], said[name] = json.loads(done.stdout), done.stderr
        t.check(found[name]['exit_status'] == 0 and 'of 7 at most: io' in done.stderr,
                f'{name}: time in calls of input and output asks for a start that counts them', done.stderr)
    small = [r for r in found['saved']['properties'] if r['property'] == 'SmallIO']
    ends = [r for r in small if not r['refined']]
    t.check(len(ends) == 1 and any(p['name'] == 'save' for p in ends[0]['path']) and ends[0]['evidence']['mean_bytes'] == 8 and
            'io' in ends[0]['sources'], 'writes of 8 bytes to a file are found where they are, once', done.stderr, small)
    # of the first start, which counts nothing; the severity is a share of the time that the program took, with a CPU or not
    apart = [seconds_apart(found['saved'], said['saved'])]
    while abs(apart[-1]) > .25 and len(apart) < 4:  # work of others that comes and goes between samples makes them say less
        again = t.run('search', '--format', 'json', '--budget', '1', '--threshold', '0.01', app, 'saved')
        apart.append(seconds_apart(json.loads(again.stdout), again.stderr))
    t.check(abs(apart[-1]) <= .25, 'and they take as long as the program says itself', apart)
    t.check(any(r['function'] == 'save' for r in small), 'the calling function has them, too', [r['function'] for r in small])
    hot = [r for r in found['saved']['properties'] if r['property'] == 'HotRegion' and 'pwrite' in (r['function'] or '')]
    t.check(hot and all(r['refined'] for r in hot), 'what they are explains the hot function', hot)
    t.check(not any(r['property'] == 'SmallIO' for r in found['/dev/null']['properties'] + found['/dev/null']['not_measurable']),
            'what goes to a device is as small as that wants it', found['/dev/null']['properties'])


def many_writes(t):
    """To trace each of these writes takes more than the budget of 0.05: they are sampled."""
    done = t.run('search', '--format', 'json', t.compile(MANY, '-O1', '-g', output='./many'))
    found = json.loads(done.stdout)
    rows = [r for r in found['properties'] if r['property'] == 'SmallIO']
    t.check(rows and all('io' in r['sources'] for r in rows) and any(r['function'] == 'save' for r in rows) and 'are refused' not in done.stderr,
            'many small writes are found within the default budget', done.stderr, found['properties'])
    told = rows[0]['evidence']['per_second'] * found['phase']['mean_s'] if rows else 0
    t.within(told / 3e6, 1, .1, 'those that were met stand for all of them')
    t.equal([r['evidence']['mean_bytes'] for r in rows], [16] * len(rows), 'and their sizes')
    t.check(rows and rows[0]['confidence'] < 1, 'with an error', rows)


def leaks(t):
    app = t.compile(LEAKS, '-O1', '-g', output='./leaks')
    found = []
    for words in ([], ['steady']):
        done = t.run('search', '--format', 'json', '--budget', '1', '--threshold', '0.02', app, *words)
        found.append(json.loads(done.stdout))
        t.check(('most: heap' in done.stderr) == (not words), f'{words}: memory that grows asks for a trace of the heap, else none', done.stderr)
    grown = [r for r in found[0]['properties'] if r['property'] == 'HeapLeak']
    t.check(grown and grown[0]['evidence']['bytes_per_second'] > 1e5 and 'heap' in grown[0]['sources'], 'what is kept is found to grow',
            found[0]['properties'], [m for m in found[0]['not_measurable'] if m['property'] == 'HeapLeak'])
    t.check(not any(r['property'] == 'HeapLeak' for r in found[1]['properties'] + found[1]['not_measurable']),
            'what is given back is none', [r['property'] for r in found[1]['properties']])


def late_sender(t):
    if not t.has('mpicc', 'mpirun'):
        t.skip('a late sender', 'no MPI')
        return
    app = t.compile(LATE, '-O1', '-g', compiler='mpicc', output='./late')
    for launch in ('mpirun --allow-run-as-root --oversubscribe -n 2', 'mpirun -n 2'):
        done = t.run('search', '--format', 'json', '--budget', '1', '--threshold', '0.0005', '--launch', launch, app)
        if done.returncode == 0:
            break
    found = json.loads(done.stdout)
    t.check('of 7 at most: mpi' in done.stderr, 'time in MPI asks for a start that traces MPI', done.stderr)
    late = [r for r in found['properties'] if r['property'] == 'LateSender' and any(p['name'] == 'take' for p in r['path'])]
    # 0.4 s were planted; how much of it rank 1 was there for is the machine's affair
    t.check(late and late[0]['processes'] == '1' and late[0]['evidence']['elapsed_seconds'] > .02 and
            late[0]['evidence']['seconds'] <= late[0]['evidence']['elapsed_seconds'] and late[0]['evidence']['late_rank'] == '0' and
            'mpi' in late[0]['sources'], 'rank 1 waits for what rank 0 sends late, in take', done.stderr,
            [(r['property'], r['processes'], r['evidence'], r['path'][-1:]) for r in found['properties']])
    text = t.run('search', '-e', found['experiment'], '--budget', '1', '--threshold', '0.0005')
    t.check(re.search(r'for messages that were sent late, longest for those of rank 0.*\n +hint: see what that rank does', text.stdout + text.stderr),
            'and people are told which rank is late', text.stdout)
    t.check(late and late[0]['evidence'].get('further_start_scale', 0) > 0 and 'mpi was measured in a further start, its seconds multiplied by' in text.stdout,
            'and that its seconds are of another start', late[:1], text.stdout)
    t.check(not any(r['property'] == 'OverloadedMaster' for r in found['properties']), 'of two ranks none is a master')
    missing = [m['property'] for m in found['not_measurable']]
    t.check('LateReceiver' not in missing and 'EarlyScan' not in missing, 'what the trace never saw is none, and not unknown', missing)
    t.check(all(r['refined'] for r in found['properties'] if r['property'] == 'MPILoadImbalance' and r['processes'] == '1'),
            'what the ranks compute unequally is that wait, and counts once')


def outputs(t, churn):
    calm = t.compile(CALM, '-O1')
    done = t.run('search', calm)
    t.equal(done.stdout, 'calm\n', 'standard output is the program\'s alone')
    t.check('HotRegion' in done.stderr and 'start 2' not in done.stderr,
            'the answer is on standard error; a program without lacks is started once', done.stderr)
    done = t.run('search', '--format', 'xml', '-q', '--budget', '1', '--check', '0.05', churn, 'x')
    t.check(xml.etree.ElementTree.fromstring(done.stdout) is not None and done.returncode == 1,
            'XML is a document; --check counts', done.returncode, done.stderr)
    t.check(done.stderr.startswith('start ') and 'sonde:' not in done.stderr, '-q is quiet', done.stderr)


def failures(t):
    app = t.compile('int main(void)\n{\n\tfor (volatile int i = 0; i < 100000000; i++)\n\t\t;\n\treturn 3;\n}\n', '-O1', output='./fails')
    done = t.run('search', app)
    t.check(done.returncode == 0 and 'The program ended with status 3\n' in done.stderr, 'a program that failed is said to', done.stderr)
    t.check("'caches', which no hot loop of this program can give" in done.stderr, 'and a loop without memory needs no trace of it', done.stderr)


def asleep(t):
    """Where it goes is told, where nothing is lost, too."""
    app = t.compile('#include <unistd.h>\nstatic void nap(void)\n{\n\tusleep(300000);\n}\nint main(void)\n{\n\tnap();\n\treturn 0;\n}\n',
                    '-O0', '-g', output='./sleeper')
    done = t.run('search', app)
    t.check(re.search(r"0\.\d+   asleep, as the program asks for, longest in nap \(program\d*\.c:4\): no loss by itself \('sonde show waits'\)",
                      done.stderr), 'a program that sleeps is said to, and where', done.stderr)


def nameless(t):
    app = t.compile('__attribute__((noinline)) static void spin(void)\n{\n\tfor (volatile int i = 0; i < 100000000; i++)\n\t\t;\n}\n'
                    'int main(void)\n{\n\tspin();\n\treturn 0;\n}\n', '-O1', '-s', output='./nameless')
    done = t.run('search', '--threshold', '0.002', app)
    t.check(re.search(r'are spent in <function at 0x[0-9a-f]+>(\+0x[0-9a-f]+)? \(nameless\) itself', done.stderr),
            'an address in place of a name has its module', done.stderr)


def failing(t):
    """A further start that fails has measured another run than the first: its values are left out, which is said."""
    app = t.compile(CHURN.replace('return 7;', 'return count > 1 ? 9 : 7;'), '-O1', output='./failing')
    if os.path.exists('starts'):
        os.remove('starts')
    done = t.run('search', '--format', 'json', '--threshold', '0.01', '--budget', '1', '-o', 'failing.first', app)
    found = json.loads(done.stdout)
    t.check('values of heap are left out: their start' in done.stderr and 'ended with status 9, the first one with 7' in done.stderr,
            'a start that fails is told', done.stderr)
    t.check(not any('heap' in r['sources'] for r in found['properties']), 'and no row has its values', found['properties'])
    t.check(any('a start that failed' in m['reason'] for m in found['not_measurable']), 'what they would tell is not measurable, with that reason',
            found['not_measurable'])
    again = t.run('search', '--experiment', 'failing.first', '--format', 'json', '--threshold', '0.01', '--budget', '1')
    t.check('values of heap are left out' in again.stderr and not any('heap' in r['sources'] for r in json.loads(again.stdout)['properties']),
            'nor does a search of the recorded run take them', again.stderr)
    os.remove('starts')
    text = t.run('search', '-q', '--threshold', '0.01', '--budget', '1', app).stderr
    t.check('The program ended with status 7' in text and 'A further start of the program failed: its values are left out' in text, 'the text says both', text[:600])
    os.remove('starts')


def on_a_terminal(t):
    """While a start runs a terminal is told which one, of what, and for how long; a pipe is not."""
    app = t.compile(CHURN.replace('#include <time.h>', '#include <time.h>\n#include <unistd.h>').replace('double end =', 'usleep(1500000);\n\tdouble end ='),
                    '-O1', output='./slow')
    seen = t.seen_on_a_terminal('search', '--threshold', '0.01', '--budget', '1', app)
    t.check(re.search(rb"\rstart 1 runs \(samples, waits, the kernel's account\): \d+ s\x1b", seen), 'the first start, and for how long', seen)
    t.check(re.search(rb'\rstart 2 runs \([a-z, ]+\): \d+ s of about \d+ s\x1b', seen), 'a further one, and for how long it may run', seen)
    done = t.run('search', '--threshold', '0.01', '--budget', '1', app)
    t.check(' runs (' not in done.stderr and '\r' not in done.stderr, 'a pipe is told nothing', done.stderr)
    seen = t.seen_on_a_terminal('search', '--phase', 'main', app)
    t.check(re.search(rb"\rthe program runs \('main' is watched\): \d+ s\x1b", seen), 'with --phase the terminal is told that the program runs', seen)
    done = t.run('search', '--phase', 'main', app)
    t.check('\r' not in done.stderr, 'and a pipe is told nothing', done.stderr)


def without_candidates(t):
    """A property that can be asked nowhere, or of data that nobody knows of: the answer says so."""
    app = t.compile('int main(void)\n{\n\tvolatile double s = 0;\n\tfor (int i = 0; i < 100000000; i++)\n\t\ts += i;\n\treturn 0;\n}\n', '-O1', '-g', output='./one_loop')
    for strategy in ('property', 'data'):
        done = t.run('search', '-q', '--format', 'json', '--restarts', '0', '--strategy', strategy, '--start', 'FalseSharing', app)
        found = json.loads(done.stdout)
        t.check(found['steps'] and [m for m in found['not_measurable'] if m['property'] == 'FalseSharing' and 'caches' in m['reason']],
                f'{strategy}: what data would tell is not measurable without a trace', found['steps'], found['not_measurable'])
        done = t.run('search', '-q', '--format', 'json', '--restarts', '0', '--threshold', '0', '--strategy', strategy, '--start', 'NotVectorised', app)
        steps = json.loads(done.stdout)['steps']
        t.check(steps and steps[0]['candidates'] >= 1, f'{strategy}: a property of loops is asked of the loops', steps, done.stderr)
        done = t.run('search', '-q', '--restarts', '0', '--strategy', strategy, '--threshold', '1', '--start', 'NotVectorised', app)
        t.check("found nothing that could be asked: NotVectorised is of regions of the kind 'loop', and none is above 1.000" in done.stderr,
                f'{strategy}: nothing that could be asked is said', done.stdout, done.stderr)


def words(t):
    for arguments, code, sentence in (
            (['./nothing'], 127, 'nothing'),
            (['/dev/null'], 126, '/dev/null'),
            (['--restarts', '-1', '/bin/true'], 2, '--restarts'),
            (['--time', '1-2', '/bin/true'], 2, 'recorded'),
            (['--launch', 'mpirun -n 2', '@0'], 2, 'program that is run'),
            (['--launch', '', '/bin/true'], 2, 'launcher'),
            (['--strategy', 'nosuch', '/bin/true'], 2, 'nosuch'),
            (['--start', 'NotRunnin', '/bin/true'], 2, 'NotRunning'),
            (['--start', 'NotRunning', '/bin/true'], 2, '--start is for the strategies property and data'),
            (['--strategy', 'mpi', '--start', 'NotRunning', '/bin/true'], 2, 'strategy mpi begins by itself')):
        done = t.run('search', *arguments)
        t.check(done.returncode == code and sentence in done.stderr and not done.stdout,
                f'search {" ".join(arguments)}: a sentence and {code}', done.returncode, done.stderr)


def nothing(t):
    """A program that loses nothing: what was looked at, by each strategy."""
    app = t.compile('#include <unistd.h>\nint main(void)\n{\n\tusleep(100000);\n\treturn 0;\n}\n', '-O1', output='./quiet')
    for strategy in ('time', 'property', 'data', 'mpi'):
        done = t.run('search', '-q', '--restarts', '0', '--strategy', strategy, '--threshold', '0.99', app)
        text = done.stderr + done.stdout
        looked = re.search(r'nothing above 0\.990\n  looked at: (\d+) propert(?:y|ies) in (\d+) of (\d+) regions; no data structure was seen; (.+)\n', text)
        t.check(done.returncode == 0 and looked and int(looked[1]) >= 1 and int(looked[3]) >= int(looked[2]) >= 1,
                f'{strategy}: nothing is found, and what was looked at is said', text)
        if strategy == 'data':
            t.check(looked and 'nothing of it was measurable' in looked[4] and '--strategy time' in looked[4], 'and why that was all', text)


def told_to_end(t, churn):
    """A launcher makes an exit status of a signal: no further start begins all the same."""
    with open('launcher', 'w') as out:
        out.write('#!/bin/sh\ntrap "kill $child; exit 4" TERM\n"$@" x < /dev/null &\nchild=$!\ntrap "kill $child; exit 4" TERM\nsleep 60 & sleeps=$!\n'
                  'trap "kill $child $sleeps; exit 4" TERM\ntouch begun\nwait $sleeps\n')
    os.chmod('launcher', 0o755)
    command = subprocess.Popen([t.sonde, 'search', '--threshold', '0', '-o', 'told', '--launch', './launcher', churn], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    while not os.path.exists('begun') and command.poll() is None:
        time.sleep(.02)
    time.sleep(1)
    command.send_signal(signal.SIGTERM)
    _, err = command.communicate(timeout=100)
    t.check('start 1 of' in err and 'start 2 of' not in err and 'the program was interrupted' in err, 'told to end: no further start, and why', err)


def main():
    t = Test()
    churn = t.compile(CHURN, '-O1')
    restarts(t, churn)
    no_more_starts(t, churn)
    budget(t, churn)
    late_sender(t)
    small_writes(t)
    many_writes(t)
    leaks(t)
    outputs(t, churn)
    failures(t)
    told_to_end(t, churn)
    nameless(t)
    asleep(t)
    words(t)
    nothing(t)
    failing(t)
    on_a_terminal(t)
    without_candidates(t)
    t.done()


main()

"""sonde record from outside: static programs and processes that run already."""
import glob
import os
import signal
import subprocess
import time

from datafile import Data
from sonde_test import Test, sigma_of_share

t = Test()
NOBODY = 65534
THREADS = r'''
#include <fcntl.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned sink;
static double cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
__attribute__((noinline)) static void compute(void)
{
	for (double end = cpu_s() + 0.4; cpu_s() < end;)
		for (unsigned i = 0; i < 20000; i++)
			sink = sink * 1664525u + i;
}
__attribute__((noinline)) static void ask(void)
{
	static char zeros[65536];
	int fd = open("/dev/zero", O_RDONLY);
	for (double end = cpu_s() + 0.4; cpu_s() < end;)
		for (int i = 0; i < 20; i++)
			if (read(fd, zeros, sizeof(zeros)) < 0)
				break;
	close(fd);
}
static void *thread_main(void *number)
{
	if ((long)number % 2)
		ask();
	else
		compute();
	return 0;
}
int main(void)
{
	pthread_t threads[4];
	for (long i = 0; i < 4; i++)
		pthread_create(&threads[i], 0, thread_main, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], 0);
	return 0;
}
'''
SLOW_CLOCK = r'''
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *out)
{
	int result = (int)syscall(SYS_clock_gettime, clock, out);
	if (result == 0 && clock < 0) { /* of another process */
		long ns = (long)(0.9 * ((double)out->tv_sec * 1e9 + (double)out->tv_nsec));
		*out = (struct timespec){ ns / 1000000000, ns % 1000000000 };
	}
	return result;
}
'''
DEEP = r'''
#include <string.h>
#include <unistd.h>
static volatile unsigned sink;
__attribute__((noinline)) static unsigned deep(unsigned depth)
{
	volatile char room[40];
	unsigned got;
	room[depth % 40] = 1;
	if (!depth)
		for (unsigned i = 0; i < 300000000u; i++)
			sink = sink * 1664525u + i;
	got = depth ? deep(depth - 1) : sink;
	return got + room[depth % 40];
}
int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "again"))
		return (int)(deep(5) & 0) + 5;
	deep(203);
	if (argc > 1)
		execl(argv[0], argv[0], "again", (char *)0);
	return 0;
}
'''


def data_of(folder):
    return Data(glob.glob(folder + '/*.data')[0])


def complete_share(data):
    """Of the observations, those whose stack reaches the outermost frame."""
    stacks = [data.frames(s[3]) for s in data.samples if not s[4] & 2]
    return sum(flags & 1 for _, flags in stacks) / max(len(stacks), 1), max(len(pcs) for pcs, _ in stacks)


def check_split(experiment, name):
    rows = {row['function']: row for row in t.show('functions', experiment=experiment)['rows']}
    summary = t.show('summary', experiment=experiment)
    samples = summary['samples']
    for function, share in (('once', 1 / 3), ('twice', 2 / 3)):
        got = rows.get(function, {}).get('inclusive_share')
        # main and the clock have their share, too: about 1 %
        t.within(got, share, 4 * sigma_of_share(share, samples) + 0.015, f'{name}: {function} has its share')
    t.within(summary['sampled_cpu_s'], summary['cpu_s'], 0.02 * summary['cpu_s'] + 0.01,
             f"{name}: the samples' CPU time is the kernel's within 2 %")
    t.equal(summary['clock_mechanism'], 'perf-ring', f'{name}: the mechanism is said')
    t.check(any('outside' in w for w in summary['warnings']), f'{name}: and what it cannot give', summary['warnings'])
    return summary


for number, (name, flags) in enumerate([('static', ['-static']), ('static-pie', ['-static-pie']),
                                        ('stripped, no search table', ['-static', '-s', '-Wl,--no-eh-frame-hdr'])]):
    app = t.compile('split.c', '-O2', '-g', *flags, output=f'./split{number}')
    run = t.run('record', app, '1', '7')
    t.equal((run.stdout, run.returncode), ('done\n', 7), f'{name}: output and exit status are its own')
    if '-s' not in flags:
        check_split(f'sonde.split{number}.1', name)
    share, _ = complete_share(data_of(f'sonde.split{number}.1'))
    t.check(share >= 0.999, f'{name}: stacks are complete', share)
t.check('SONDE_RUNTIME' not in t.run('record', t.compile(
    '#include <stdio.h>\nextern char **environ;int main(void){for(char**e=environ;*e;e++)puts(*e);}\n', '-static',
    output='./env')).stdout, 'a static program sees its own environment')

deep = t.compile(DEEP, '-O1', '-fomit-frame-pointer', '-static', output='./deep')
t.equal(t.run('record', deep, 'x').returncode, 5, 'an exec: the exit status is the last image\'s')
run = t.run('show', 'waits', 'sonde.deep.1')
t.check(run.returncode == 0 and 'outside' in run.stderr and run.stderr.count('\n') == 1, 'no table is empty without a word', run.stderr)
rows = t.show('processes', experiment='sonde.deep.1')['rows']
t.equal(len(rows), 2, 'an exec begins another image')
data = data_of('sonde.deep.1')
stacks = [data.frames(s[3]) for s in data.samples if not s[4] & 2]
cut = [(flags, len(pcs)) for pcs, flags in stacks if not flags & 1]
# a sample that falls into execve itself, once the kernel has taken the old image's memory away, has no stack to read
t.check(cut in ([], [(16, 1)]), '205 frames without frame pointers are complete, but for one sample in the exec at most', cut, len(stacks))
t.check(max(len(pcs) for pcs, _ in stacks) >= 205, 'and all of the 205 are there')

app = t.compile(THREADS, '-O1', '-g', '-static', '-pthread', output='./threads')
t.run('record', app)
summary = t.show('summary', experiment='sonde.threads.1')
rows = {row['function']: row for row in t.show('functions', experiment='sonde.threads.1')['rows']}
t.within(summary['sampled_cpu_s'], 1.6, 0.05, 'four threads of 0.4 s: all of it is seen')
for function in ('compute', 'ask'):
    t.within(rows[function]['inclusive_share'], 0.5, 4 * sigma_of_share(0.5, summary['samples']) + 0.01,
             f'half of it is below {function}, whether in the kernel or not')
t.equal(summary['threads'], 5, 'and five threads are counted')
for run in range(5):
    t.run('record', '-o', f'short.{run}', app)
    summary = t.show('summary', experiment=f'short.{run}')
    t.check(summary['sampled_cpu_s'] <= 1.0001 * summary['cpu_s'], "samples never account for more than the kernel's clock",
            summary['sampled_cpu_s'], summary['cpu_s'])

# The kernel's account leaves out what interrupts and a virtual machine's host take of a CPU; events count it. So
# the kernel's clock decides, here one that says nine tenths of what the events say.
t.compile(SLOW_CLOCK, '-shared', '-fPIC', output='./slow.so')
slow = dict(os.environ, LD_PRELOAD=os.path.abspath('./slow.so'))
for name, words in (('one thread', ['./split0', '1']), ('four threads', [app])):
    t.run('record', '-o', 'slow ' + name, *words, env=slow)
    summary = t.show('summary', experiment='slow ' + name)
    t.within(summary['sampled_cpu_s'], 0.9 * summary['cpu_s'], 0.03 * summary['cpu_s'] + 0.01,
             f"{name}: the samples' CPU time is what the kernel's clock says")

t.run('record', '--delay', '0.5', '-o', 'late', './split0', '1')
data = data_of('late')
t.check(data.samples and min(s[1] for s in data.samples) - data.start_ns >= 0.48e9, '--delay: no sample before')
notes = t.show('summary', experiment='late')['warnings']
t.check(any('only a part of the run was measured' in n for n in notes) and not any('account for' in n for n in notes),
        '--delay is told, and is no doubt', notes)
t.run('record', '--duration', '0.3', '-o', 'soon', './split0', '1')
data = data_of('soon')
t.check(max(s[1] for s in data.samples if not s[4] & 2) - data.start_ns <= 0.8e9, '--duration: none after')

child = subprocess.Popen([t.sonde, 'record', '-o', 'orphan', './split0', '2'], stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
time.sleep(0.9)
child.kill()
child.wait()
summary = t.show('summary', experiment='orphan')
t.check(summary['samples'] > 50 and summary['cpu_s'] > 0.05, 'the sampler killed: what it had is there', summary)

split = t.compile('split.c', '-O2', '-g', output='./split')
target = subprocess.Popen([split, '2.5', '3'], stdout=subprocess.DEVNULL)
time.sleep(0.2)
run = t.run('record', '--pid', target.pid, '--duration', '0.8', '-o', 'a-while')
t.equal((run.returncode, target.poll()), (0, None), '--duration ends the sampling and not the process')
t.check(0 < t.show('summary', experiment='a-while')['elapsed_s'] < 3, 'after about that time')
sampler = subprocess.Popen([t.sonde, 'record', '--pid', str(target.pid), '-o', 'stopped'], stderr=subprocess.DEVNULL)
time.sleep(0.8)
sampler.send_signal(signal.SIGINT)
t.equal((sampler.wait(20), target.poll()), (0, None), 'Ctrl-C ends the sampling and not the process')
t.check(t.show('summary', experiment='stopped')['samples'] > 50, 'and leaves a whole experiment')
run = t.run('record', '--pid', target.pid, '-o', 'to-the-end')
t.equal((run.returncode, target.wait(20)), (0, 3), 'else the end of the process ends it')
check_split('to-the-end', '--pid')

# a process that wrote a title over its command line, and its child that wrote another after fork
titled = t.compile(r"""
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **words)
{
	size_t room = (size_t)(words[count - 1] + strlen(words[count - 1]) - words[0]);
	strncpy(words[0], "srv: master of all", room);
	if (!fork()) {
		strncpy(words[0], "srv: worker 1", room);
		sleep(4);
		_exit(0);
	}
	wait(NULL);
	return 0;
}
""", '-O1', output='./titled')
target = subprocess.Popen([titled, 'some', 'words', 'for', 'room', 'more words'])
time.sleep(0.3)
t.run('record', '--pid', target.pid, '--duration', '0.3', '-o', 'title')
commands = [row['arguments'] for row in t.show('processes', experiment='title')['rows']]
t.equal(commands, ['srv: master of all'], 'a title is shown as the process set it')
t.check('srv: master of all ' in t.run('show', 'summary', 'title').stdout.split('\n')[0], 'in the summary, too')
target.wait(30)
t.run('record', '-o', 'titles', titled, 'some', 'words', 'for', 'room', 'more words')
commands = sorted(row['arguments'] for row in t.show('processes', '--cols', 'arguments', experiment='titles')['rows'])
t.equal(commands, ['srv: master of all', 'srv: worker 1'], 'a title set after fork replaces the parent\'s')
t.equal(t.run('record', '--pid', '99999999').returncode, 125, 'no such process: 125')
t.equal(t.run('record', '--pid', 'x').returncode, 125, 'no number: 125')
t.equal(t.run('record', '--pid', '1', split).returncode, 125, 'a process and a program: 125')

# A process that switches often: events of its threads would slow it to a quarter. It tells its own truth.
HOSTILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../hostile')
short_calls = os.path.abspath(t.compile(os.path.join(HOSTILE, 'shortcalls.c'), '-O2', output='./shortcalls'))


def sample_short_calls(experiment, **more):
    """(truth, row of compute, notes) of 1,000 multiplications between calls, 3 s of CPU time."""
    process = subprocess.Popen([short_calls, '1000', '3', '1'], stdout=subprocess.PIPE, text=True, **more)
    t.run('record', '--pid', process.pid, '-o', experiment, timeout=300, **more)
    truth = float(process.communicate()[0].split()[0])
    folder = os.path.join(more.get('cwd', '.'), experiment)
    rows = {r['function']: r for r in t.show('functions', experiment=folder)['rows']}
    return truth, rows['compute'], ' '.join(t.show('summary', experiment=folder)['warnings'])


def may_watch_cpus():
    with open('/proc/sys/kernel/perf_event_paranoid') as level:
        return (os.geteuid() == 0 or int(level.read()) < 1) and os.cpu_count() <= 32


if may_watch_cpus():
    truth, row, notes = sample_short_calls('short-calls')
    # 5 sigma; what was used before it was seen how often it switches is of a slower process
    t.within(row['exclusive_share'], truth, 0.04 + 5 / 1.96 * (row['exclusive_share_high'] - row['exclusive_share_low']) / 2,
             '--pid: code between short calls has its share')
    t.check('events of the CPUs' in notes, '--pid: who samples a process that switches often is said', notes)
    cpu_s = t.show('summary', experiment='short-calls')
    t.within(cpu_s['sampled_cpu_s'], cpu_s['cpu_s'], 0.03 * cpu_s['cpu_s'] + 0.02, '--pid: and all of its CPU time is seen')
if os.geteuid() == 0:
    os.chmod(t.folder, 0o755)
    os.mkdir('nobody')
    os.chown('nobody', NOBODY, NOBODY)
    as_nobody = {'user': NOBODY, 'group': NOBODY, 'extra_groups': [], 'cwd': 'nobody'}
    if t.command('test', '-x', t.sonde, **as_nobody).returncode:
        t.skip('as an ordinary user', 'the build is not readable to others')
    else:
        run = t.run('record', '-o', 'own', os.path.abspath(app), **as_nobody)
        summary = t.show('summary', experiment='nobody/own')
        rows = {row['function']: row for row in t.show('functions', experiment='nobody/own')['rows']}
        t.within(summary['sampled_cpu_s'], 1.6, 0.05, 'as an ordinary user: all CPU time is seen')
        t.within(rows['compute']['inclusive_share'], 0.5, 0.06, 'as an ordinary user: and where')
        t.within(rows['ask']['inclusive_share'], 0.5, 0.06, 'as an ordinary user: also below system calls')
        with open('/proc/sys/kernel/perf_event_paranoid') as level:
            is_restricted = int(level.read()) > 0
        if is_restricted:
            _, _, notes = sample_short_calls('short-calls', **as_nobody)
            t.check('slowed down' in notes, 'as an ordinary user: that sampling slows a process is said', notes)
        run = t.run('record', '--pid', os.getpid(), **as_nobody)
        t.check(run.returncode == 125 and 'owner' in run.stderr, "another's process is refused, and why",
                run.returncode, run.stderr)
t.done()

"""The critical path over threads, of programs whose path is known by construction."""
import re
import shutil

from sonde_test import Test

t = Test()
program = t.compile('critical.c', '-O2', '-g', '-pthread')


def run_of(what):
    """Records it: what it said its functions took, in all their calls and the last, and the path's time by function."""
    for _ in range(3):  # again where the machine stood still: the path then has time that no function has
        shutil.rmtree(f'{what}.1', ignore_errors=True)
        run = t.run('record', '-q', '--sync=all', '-o', f'{what}.1', program, what)
        rows = t.show('critical', f'{what}.1', '--all')['rows']
        if sum(row['time_s'] for row in rows if not row['function']) <= 0.02 * sum(row['time_s'] for row in rows):
            break
    t.equal((run.returncode, run.stderr), (0, ''), f'{what}: status and standard error')
    told, last = {}, {}
    for line in run.stdout.splitlines():
        name, seconds, last_s = line.split()
        told[name] = told.get(name, 0) + float(seconds)
        last[name] = float(last_s)
    path = t.show('critical', f'{what}.1', '--all')
    elapsed_s = t.show('summary', f'{what}.1')['elapsed_s']
    sum_s = sum(row['time_s'] for row in path['rows'])
    t.check(abs(sum_s - elapsed_s) <= 1e-6 * elapsed_s + 1e-6, f'{what}: the pieces sum to the elapsed time', sum_s, elapsed_s)
    t.check(abs(sum(row['share'] for row in path['rows']) - 1) < 1e-6, f'{what}: shares sum to 1')
    of = {}
    for row in path['rows']:
        of[row['function']] = of.get(row['function'], 0) + row['time_s']
        saved = row['saved_s']
        t.check(saved is None or -1e-9 <= saved <= elapsed_s, f'{what}: what is saved is a part of the run', row)
        same = sum(r['time_s'] for r in path['rows'] if (r['kind'], r['function']) == (row['kind'], row['function']))
        t.check(saved is None or saved <= same / 2 + 0.01 * elapsed_s, f'{what}: no more is saved than half of what the path has', row, same)
    return told, last, of, path['rows'], elapsed_s


def on_path(what, of, elapsed_s, **seconds):
    """These functions have their time on the path, within 5 % of the run. More of it may be theirs: that of the calls
    between them, in which no sample fell."""
    for name, least_s in seconds.items():
        t.check(of.get(name, 0) >= least_s - 0.05 * elapsed_s, f'{what}: {name} is on the path', of, least_s)


def beside(what, of, elapsed_s, **seconds):
    """Of these no more is on the path than this."""
    for name, most_s in seconds.items():
        t.check(of.get(name, 0) <= most_s + 0.05 * elapsed_s, f'{what}: {name} is beside the path', of, most_s)


def saved_by(rows, name):
    return max([row['saved_s'] for row in rows if row['function'] == name and row['saved_s'] is not None], default=0)


told, last, of, rows, elapsed_s = run_of('barrier')
on_path('barrier', of, elapsed_s, ten=told['ten'])
beside('barrier', of, elapsed_s, seven=0)
# of ten seven remain, where five would be saved
t.check(saved_by(rows, 'ten') <= min(told['ten'] / 2, told['ten'] - told['seven']) + 0.05 * elapsed_s,
        'barrier: no more is saved than half of it, and than the other thread leaves', rows, told)
t.check(saved_by(rows, 'seven') == 0, 'barrier: what is beside the path saves nothing', rows)

for what in ('pipeline', 'semaphore'):
    told, last, of, rows, elapsed_s = run_of(what)
    on_path(what, of, elapsed_s, first_stage=told['first_stage'], second_stage=last['second_stage'])
    beside(what, of, elapsed_s, second_stage=last['second_stage'])

told, last, of, rows, elapsed_s = run_of('lock')
on_path('lock', of, elapsed_s, inside=told['inside'])
beside('lock', of, elapsed_s, outside=last['outside'])
t.equal(len({row['thread'] for row in rows if row['function'] == 'inside'}), 2, 'lock: both threads are on the path')

told, last, of, rows, elapsed_s = run_of('fork_join')
on_path('fork_join', of, elapsed_s, serial=told['serial'], slow=told['slow'])
beside('fork_join', of, elapsed_s, quick=0)

# The second thread to be joined has ended by then, and would be waited for if the first one were faster. The threads ask
# no clock and share no CPU: they sleep, one for longer.
LONGEST_FIRST = '''
#include <pthread.h>
#include <unistd.h>
__attribute__((noipa)) static void longer(void) { usleep(100000); }
__attribute__((noipa)) static void shorter(void) { usleep(80000); }
static void *runs(void *what) { what ? shorter() : longer(); return 0; }
int main(void)
{
	for (int round = 0; round < 4; round++) {
		pthread_t threads[2];
		for (long i = 0; i < 2; i++)
			pthread_create(&threads[i], 0, runs, (void *)i);
		for (long i = 0; i < 2; i++)
			pthread_join(threads[i], 0);
	}
}
'''
for joined in 'in the order of their making', 'from the last on':
    program_of = t.compile(LONGEST_FIRST.replace('threads[i], 0)', 'threads[1 - i], 0)') if 'last' in joined else LONGEST_FIRST,
                           '-O1', '-g', '-w', '-pthread', output=f'./longest{len(joined)}')
    t.run('record', '-q', '--sync', '-o', f'longest{len(joined)}.1', program_of)
    rows = t.show('critical', f'longest{len(joined)}.1', '--all')['rows']
    elapsed_s = t.show('summary', f'longest{len(joined)}.1')['elapsed_s']
    saved_s = saved_by(rows, 'longer')
    # 4 times 0.02 s, where half of longer is 0.2 s
    t.check(saved_s <= 0.08 + 0.05 * elapsed_s, f'threads joined {joined}: the other one bounds what is saved', saved_s, *rows)

told, last, of, rows, elapsed_s = run_of('children')
on_path('children', of, elapsed_s, serial=told['serial'], slow=told['slow'])
t.equal(len({row['process'] for row in rows if row['function'] == 'slow'}), 5, 'children: each child is on the path')

told, last, of, rows, elapsed_s = run_of('sleep')
asleep = {row['function']: row['time_s'] for row in rows if row['kind'] == 'sleep'}
on_path('sleep', asleep, elapsed_s, rests=told['rests'])
on_path('sleep', of, elapsed_s, slow=told['slow'])
# a busy machine lets it wait for a CPU, too, and code runs around the call
t.equal({r['kind'] for r in rows if r['function'] == 'rests' and r['time_s'] > 0.01 * told['rests']} - {'no_cpu', 'compute'}, {'sleep'},
        'sleep: a call that sleeps is a wait of its kind')
t.check(saved_by(rows, 'rests') > 0.4 * told['rests'], 'sleep: half of it is saved', rows)
joined = [row for row in t.show('waits', 'sleep.1', '--all')['rows'] if 'join' in row['function']]
t.equal({row['kind'] for row in joined}, {'join'}, 'a wait for the end of a thread has its own kind')

# People see one row for all threads, and the answer in words; data have each thread, and when it was on the path.
shown = t.run('show', 'critical', 'lock.1').stdout
# what saves most is named: the code in the lock or, where its holder had no CPU, the waits for it
best = max(t.show('critical', 'lock.1')['rows'], key=lambda row: (row['saved_s'] or 0, row['time_s']))
first = {'compute': 'computing', 'sync': 'waits for other threads'}[best['kind']]
t.equal(len(re.findall(r'\b2  compute +inside\b', shown)), 1, 'text: one row for both threads')
t.check(re.search(rf'^Of the elapsed time [\d.]+ % is {first} in {best["function"]}, in 2 threads: .* less\.( For .*)?$', shown, re.M),
        'text: the answer', best, shown)
rows = t.show('critical', 'lock.1', '--all', '--cols', 'function,thread,time_s,spans')['rows']
end = 0
for begin, until in sorted(span for row in rows for span in row['spans']):
    t.check(begin >= end - 1e-6, 'spans do not overlap', begin, end)
    end = until
t.check(sum(u - b for row in rows for b, u in row['spans']) > 0.98 * t.show('summary', 'lock.1')['elapsed_s'], 'spans cover the run', rows)

t.run('record', '-q', '-o', 'plain.1', program, 'fork_join')
shown = t.run('show', 'critical', 'plain.1')
t.check('record --sync' in shown.stdout + shown.stderr, 'without a trace it says what would give one', shown)

# blocked in a call that nobody sees: it is no computing, and what it waited for is not known
UNSEEN = '''
#include <pthread.h>
#include <time.h>
#include <sys/syscall.h>
static volatile double sum;
static double cpu(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return (double)t.tv_sec + (double)t.tv_nsec / 1e9; }
__attribute__((noipa)) static void works(void)
{
	for (double end = cpu() + 0.1; cpu() < end;)
		for (int i = 0; i < 1000; i++)
			sum += i;
}
__attribute__((noipa)) static void rests(void)
{
	struct timespec rest = { 0, 800000000 };
	long status;
	__asm__ volatile("syscall" : "=a"(status) : "0"(SYS_nanosleep), "D"(&rest), "S"(0) : "rcx", "r11", "memory");
}
static void *runs(void *unused) { return unused; }
int main(void)
{
	pthread_t thread;
	works();
	rests();
	works();
	pthread_create(&thread, 0, runs, 0);
	return pthread_join(thread, 0);
}
'''
run = t.run('record', '-q', '--sync', '-o', 'unseen.1', t.compile(UNSEEN, '-O1', '-g', '-w', '-pthread', output='./unseen'))
t.equal(run.returncode, 0, 'unseen: recorded')
rows = t.show('critical', 'unseen.1', '--all')['rows']
of = {}
for row in rows:
    of[row['kind']] = of.get(row['kind'], 0) + row['time_s']
worked_s = sum(row['time_s'] for row in rows if (row['kind'], row['function']) == ('compute', 'works'))
t.check(of.get('untraced', 0) >= 0.4, 'unseen: time off the CPU and in no call stands for itself', of)
t.check(worked_s <= 0.4, 'unseen: it is not computing', rows)
t.check(all(row['saved_s'] is None for row in rows if row['function'] == 'works'), 'unseen: what is saved is not known', rows)
# runtimes of OpenMP wait past libc; their trace knows what balance would save: 5 times 0.02 s
UNEVEN = '''
#include <omp.h>
#include <unistd.h>
int main(void)
{
	for (int round = 0; round < 5; round++) {
#pragma omp parallel num_threads(2)
		usleep(40000 + 40000 * (unsigned)omp_get_thread_num());
	}
}
'''
uneven = t.compile(UNEVEN, '-O1', '-g', '-w', '-fopenmp', output='./uneven')
t.run('record', '-q', '--sync', '--openmp', '-o', 'uneven.1', uneven)
text = t.run('show', 'critical', 'uneven.1').stdout
told = re.search(r'Perfect balance of .* would save at most ([\d.]+) % of the run', text)
elapsed_s = t.show('summary', 'uneven.1')['elapsed_s']
if t.check(told is not None, 'OpenMP: the answer names the region', text):
    gain_s = sum(row['gain_s'] for row in t.show('openmp', 'uneven.1', '--all')['rows'])
    t.within(float(told.group(1)) / 100 * elapsed_s, gain_s, 0.001 * elapsed_s, 'OpenMP: and what balance would save')
text = t.run('show', 'critical', 'unseen.1').stdout
t.check('blocked in no traced call' in text, 'unseen: it is said', text)
t.done()

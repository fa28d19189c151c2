"""Loops run as copies: the program stays what it was, and what is counted is known by construction."""
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import time

from sonde_test import Test

t = Test()
ALL = ('--loops', 'all', '--every', '1', '--quiet')


def loops(experiment=None):
    """Rows of whole loops, by function."""
    rows = t.show('instances', '--all', experiment=experiment)['rows']
    found = {}
    for row in rows:
        if row['bucket'] == 'all':
            found.setdefault(row['function'], []).append(row)
    return found


def counted(name, program, *words, stdin=None):
    """Runs a program plainly and counted: output and exit status must be the same."""
    plain = t.command(program, *words, **({'stdin': open(stdin)} if stdin else {}))
    run = t.run('vprof', *ALL, '-o', 'x-' + name, '--', program, *words, **({'stdin': open(stdin)} if stdin else {}))
    t.equal((run.returncode, run.stdout), (plain.returncode, plain.stdout), f'{name}: output and exit status are the same')
    return loops('x-' + name)


def kill_child(process):
    """SIGKILL for what a command has started."""
    for child in open(f'/proc/{process.pid}/task/{process.pid}/children').read().split():
        os.kill(int(child), signal.SIGKILL)
    process.wait(timeout=60)


def one(rows, function):
    """Instances and iterations of the only loop of a function."""
    found = rows.get(function, [])
    return [(r['instances'], r['iterations']) for r in found][0] if len(found) == 1 else found


KERNELS = r'''
#include <stdio.h>
#include <stdlib.h>
#define KEPT __attribute__((noinline, noclone, noipa))
KEPT double triad(double *a, const double *b, const double *c, long n)
{ double s = 0; for (long i = 0; i < n; i++) { a[i] = b[i] + 2 * c[i]; s += a[i]; } return s; }
KEPT long list(const long *next, long p, int n) { while (n--) p = next[p]; return p; }
KEPT int find(const char *s, char c) { int i = 0; while (s[i] && s[i] != c) i++; return i; }
KEPT int step(int x) { return x * 3 + 1; }
KEPT int calls(int n) { int s = 0; for (int i = 0; i < n; i++) s += step(i) ^ i; return s; }
KEPT int choose(const unsigned char *s, int n)
{
	int a = 0;
	for (int i = 0; i < n; i++)
		switch (s[i] & 7) {
		case 0: a += 3; break;
		case 1: a ^= 5; break;
		case 2: a -= i; break;
		case 3: a *= 7; break;
		case 4: a += step(a); break;
		case 5: a = ~a; break;
		case 6: a <<= 1; break;
		default: a ^= i; break;
		}
	return a;
}
KEPT long matrix(long *m, int n)
{ long s = 0; for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) s += m[i * n + j] * (i + j); return s; }
int main(void)
{
	enum { N = 500 };
	static double a[N], b[N], c[N];
	static long next[N], m[N];
	static char s[128];
	double sum = 0;
	long p = 0, q = 0;
	for (int i = 0; i < N; i++) { b[i] = i; c[i] = i * .5; next[i] = (i * 7 + 1) % N; m[i] = i * i; }
	for (int i = 0; i < 127; i++) s[i] = 'a' + i % 20;
	for (int r = 0; r < 20000; r++) {
		sum += triad(a, b, c, N);
		p = list(next, p, 100);
		q += find(s, 't') + calls(50) + choose((unsigned char *)s, 127) + matrix(m, 20);
	}
	printf("%.17g %ld %ld\n", sum, p, q);
	return 7;
}
'''
with open('kernels.c', 'w') as out:
    out.write(KERNELS)
compilers = [c for c in ('gcc', 'clang') if shutil.which(c)]
for compiler in compilers:
    for flags in (['-O0'], ['-O1'], ['-O2', '-fno-unroll-loops', '-fno-tree-vectorize'],
                  ['-O3', '-mavx2'], ['-O2', '-no-pie', '-fno-pie'], ['-O2', '-fcf-protection', '-fno-plt']):
        app = t.compile(os.path.abspath('kernels.c'), '-g', *flags, *(['-Dnoclone=noinline', '-Dnoipa=noinline'] if compiler == 'clang' else []),
                        compiler=compiler, output='./kernels-' + compiler + '-'.join(flags).replace('=', ''))
        name = 'run-' + compiler + '-'.join(flags).replace('=', '')
        rows = counted(name, app)
        if flags[0] in ('-O0', '-O1') and compiler == 'gcc':
            add = 1 if flags[0] == '-O0' else 0  # the test is on top
            want = {'triad': 500 + add, 'list': 101 if add else 100, 'find': 20 if add else 19, 'calls': 50 + add, 'choose': 127 + add}
            for function, iterations in want.items():
                t.equal(one(rows, function), (20000, 20000 * iterations), f'{name}: {function} is counted right')
            matrix = sorted((r['instances'], r['iterations']) for r in rows.get('matrix', []))
            t.equal(matrix, sorted([(20000, 20000 * (20 + add)), (400000, 400000 * (20 + add))]),
                    f'{name}: a nest is counted on both levels')

CPP = r'''
#include <cstdio>
#include <csetjmp>
#include <stdexcept>
__attribute__((noinline)) int thrower(int i) { if (i % 10 == 9) throw std::runtime_error("nine"); return i * 2; }
__attribute__((noinline)) int caught(int n) { int s = 0; for (int i = 0; i < n; i++) s += thrower(i); return s; }
static jmp_buf back;
__attribute__((noinline)) void jumper(int i) { if (i == 5) longjmp(back, 1); }
volatile long before, behind;
__attribute__((noinline)) void left(int n) { for (int i = 0; i < n; i++) { before += i; jumper(i); behind += i; } }
__attribute__((noinline)) int fib(int n) { int s = n < 2; for (int i = 1; i <= 2 && n > 1; i++) s += fib(n - i); return s; }
int main() {
	volatile int s = 0;
	for (int r = 0; r < 3000; r++) try { s += caught(20); } catch (const std::exception &e) { s += e.what()[0]; }
	for (volatile int r = 0; r < 3000; r++) if (!setjmp(back)) left(10);
	printf("%d %d\n", s, fib(22));
}
'''
with open('leaves.cc', 'w') as out:
    out.write(CPP)
if shutil.which('g++'):
    app = t.compile(os.path.abspath('leaves.cc'), '-O1', '-g', '-fno-optimize-sibling-calls', compiler='g++', output='./leaves')
    rows = counted('leaves', app)
    row = rows.get('caught(int)', [{}])[0]
    t.equal((row.get('instances'), row.get('open')), (3000, 3000), 'instances that exceptions leave are open')
    t.equal(row.get('iterations'), 30000, 'their iterations are counted')
    row = rows.get('left(int)', [{}])[0]
    t.equal((row.get('instances'), row.get('open'), row.get('iterations')), (3000, 3000, 18000),
            'so are those that longjmp leaves')
    t.equal((row.get('aborted'), row.get('cycles_state', '')[:24]), (2999, 'its instances had no end'),
            'all but the last are known to have been left, and why there are no cycles is said')

# fewest and most iterations are of all instances that were timed, not of the few that are kept; who is at work when the
# run ends is said
with open('ranges.c', 'w') as out:
    out.write(r'''
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline, noclone, noipa)) double sum(double *a, long n) { double s = 0; for (long i = 0; i < n; i++) { a[i % 64] += 1; s += a[i % 64]; } return s; }
__attribute__((noinline, noclone, noipa)) unsigned long spin(volatile long *go) { unsigned long i = 1; do { i += 3; *go = 1; } while (i % 16 != 8 || !*go || i); return i; }
static volatile long go;
static void *forever(void *none) { spin(&go); return none; }
int main(void)
{
	static double a[64];
	double s = 0;
	pthread_t thread;
	for (long r = 0; r < 200000; r++) s += sum(a, r == 123457 ? 7001 : r == 150001 ? 3 : 100 + r % 7);
	pthread_create(&thread, 0, forever, 0);
	usleep(50000);
	printf("%.17g\n", s);
	return 0;
}
''')
app = t.compile(os.path.abspath('ranges.c'), '-O1', '-g', '-pthread', output='./ranges')
rows = counted('ranges', app)
row = rows.get('sum', [{}])[0]
t.equal((row.get('instances'), row.get('iterations_min'), row.get('iterations_max')), (200000, 3, 7001), 'the one longest and the one shortest instance are seen')
t.check(100 <= (row.get('iterations_median') or 0) <= 106, 'beside the usual ones', row)
row = rows.get('spin', [{}])[0]
text = t.run('show', 'instances', 'x-ranges').stdout
t.check(row.get('open') == 1 and row.get('iterations') != 0, 'nobody says that an instance that has not ended had no iterations', row)
t.check('are without those of 1 instance that was at work' in text or row.get('iterations'), 'and that they are not known is said', row, text)

# a handler's longjmp leaves a loop that counts until its exit
with open('faults.c', 'w') as out:
    out.write(r"""
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static sigjmp_buf back;
static void handler(int s) { (void)s; siglongjmp(back, 1); }
__attribute__((noinline, noclone, noipa)) int find(const char *s, char c) { int i = 0; while (s[i] != c) i++; return i; }
int main(void)
{
	long page = sysconf(_SC_PAGESIZE), faults = 0, found = 0;
	char *two = mmap(0, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(two + page, page, PROT_NONE);
	memset(two, 'a', page);
	two[100] = 't';
	signal(SIGSEGV, handler);
	for (volatile int r = 0; r < 3000; r++) {
		found += find(two, 't');
		if (!sigsetjmp(back, 1)) found += find(two + 200, 't'); else faults++;
	}
	printf("%ld %ld\n", faults, found);
}
""")
app = t.compile(os.path.abspath('faults.c'), '-O1', '-g', output='./faults')
row = counted('faults', app).get('find', [{}])[0]
t.equal((row.get('instances'), row.get('open'), row.get('iterations')), (6000, 3000, 300000), 'of instances that a fault ends, others keep their iterations')
t.check('without those of 3000 instances that were at work when the run ended, or left by a handler' in t.run('show', 'instances', 'x-faults').stdout, 'and it is said that these have none')

# libraries that come later: before their constructors, while other threads work, and again
with open('late_library.c', 'w') as out:
    out.write(r'''
__attribute__((noinline)) double work(double *a, long n) { double s = 0; for (long i = 0; i < n; i++) { a[i] = a[i] * 0.5 + 1; s += a[i]; } return s; }
static double mine[100];
__attribute__((constructor)) static void begin(void) { for (int r = 0; r < 10; r++) work(mine, 100); }
''')
with open('late.c', 'w') as out:
    out.write(r'''
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static double a[5000];
static void *wait_for(void *go) { while (!*(volatile long *)go) ; return 0; }
int main(int argc, char **argv)
{
	long go = 0, repeat = atol(argv[2]);
	double s = argc;
	pthread_t thread;
	pthread_create(&thread, 0, wait_for, &go);
	for (int load = 0; load < 20; load++) {
		void *library = dlopen(argv[1], RTLD_NOW);
		double (*work)(double *, long) = (double (*)(double *, long))dlsym(library, "work");
		for (long r = 0; r < repeat; r++) s += work(a, 5000);
		dlclose(library);
	}
	*(volatile long *)&go = 1;
	pthread_join(thread, 0);
	printf("%.17g\n", s);
	return 4;
}
''')
# with an address of its own it is at the same place each time, whatever threads map between two loads
library = t.compile(os.path.abspath('late_library.c'), '-O2', '-g', '-shared', '-fPIC', '-Wl,-Ttext-segment=0x200000000000',
                    output='./late_library.so')
app = t.compile(os.path.abspath('late.c'), '-O2', '-g', '-pthread', output='./late')
plain = t.command(app, library, '50')
t.run('record', '-q', '-o', 'late-first', '--', app, library, '300')
loop = [r['loop'] for r in t.show('loops', '--all', experiment='late-first')['rows'] if r['function'] == 'work']
for command, view in (('vprof', 'instances'), ('decan', 'variants')):
    run = t.run(command, '-q', '--from', 'late-first', '--loops', loop[0], '--every', '3', '-o', 'late-' + command, '--', app, library, '50')
    t.equal((run.returncode, run.stdout), (plain.returncode, plain.stdout), f'{command} of a library that comes later: output and exit status are the same')
    row = [r for r in t.show(view, '--all', experiment='late-' + command)['rows'] if r['bucket'] == 'all']
    t.equal([(r['instances'], r['iterations']) for r in row], [(20 * 60, 20 * (50 * 5000 + 10 * 100))],
            f'{command}: its loops are counted, those of its constructors and of each load, too')

THREADS = r'''
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#define KEPT __attribute__((noinline, noclone, noipa))
KEPT long sum(const long *a, long n) { long s = 0; for (long i = 0; i < n; i++) s += a[i]; return s; }
KEPT int find(const char *s, char c) { int i = 0; while (s[i] && s[i] != c) i++; return i; }
static long data[1000];
static const char text[] = "aaaaaaaaaaaaaaaaaaat";
static volatile long handled;
static void handler(int s) { (void)s; handled += sum(data, 10) + find(text, 't') - 19; }
static void *work(void *x) { long s = 0; for (int r = 0; r < 5000; r++) s += sum(data, 1000) + find(text, 't'); *(long *)x = s; return x; }
int main(void)
{
	pthread_t threads[8];
	long sums[8], total = 0;
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } };
	for (int i = 0; i < 1000; i++) data[i] = i;
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &often, NULL);
	for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, work, &sums[i]);
	for (int i = 0; i < 8; i++) { pthread_join(threads[i], NULL); total += sums[i]; }
	memset(&often, 0, sizeof often);
	setitimer(ITIMER_PROF, &often, NULL);
	printf("%ld\n", total);
	fflush(stdout);
	if (!fork()) { long s = 0; for (int r = 0; r < 100; r++) s += sum(data, 1000); printf("child %ld\n", s); fflush(stdout); _exit(3); }
	int status;
	wait(&status);
	if (!vfork()) execl("/bin/true", "true", (char *)0);
	wait(NULL);
	fprintf(stderr, "handled %ld\n", handled / 45);
	return WEXITSTATUS(status);
}
'''
with open('threads.c', 'w') as out:
    out.write(THREADS)
app = t.compile(os.path.abspath('threads.c'), '-O1', '-g', '-pthread', output='./threads')
for rate in ('1000', '20000'):
    plain = t.command(app)
    run = t.run('vprof', *ALL, '--clock', rate, '-o', 'threads' + rate, '--', app)
    t.equal((run.returncode, run.stdout), (plain.returncode, plain.stdout),
            f'threads, children and handlers in loops at {rate} Hz: output and exit status are the same')
    handled = [int(l.split()[1]) for l in run.stderr.splitlines() if l.startswith('handled')]
    row = loops('threads' + rate).get('sum', [{}])[0]
    # a handler may come within the very first instance of a thread, when its record is being made
    want = 40000 + 100 + (handled[-1] if handled else 0)
    t.check(row and want - 9 <= row['instances'] <= want, f'all instances of 8 threads, a child and handlers are counted at {rate} Hz',
            row.get('instances'), want)
    row = loops('threads' + rate).get('find', [{}])[0]
    t.check(row and want - 109 <= row['instances'] <= want - 100 and row['iterations'] == 19 * row['instances'],
            f'and those of a loop that counts in a register, with their iterations, at {rate} Hz', row, want - 100)
    stacks = t.show('samples', '--all', experiment='threads' + rate)['rows']
    in_sum = [r for r in stacks if 'sum' in str(r.get('function', ''))]
    user = [r for r in stacks if r['observation'] and not r['in_kernel']]
    t.check(in_sum and not any('unknown' in r['module'] for r in user), f'samples in the copies are samples of the loop at {rate} Hz',
            len(in_sum), [r for r in user if 'unknown' in r['module']][:2])
    cut = [r for r in in_sum if not r['complete']]
    t.check(len(cut) <= len(in_sum) / 20, f'and their stacks are whole at {rate} Hz', len(cut), len(in_sum), cut[:2])

# The copy beside the loop as it was: the run before is made a tenth, and ten times, of what it was.
heading = open('threads1000/untouched.tsv').read().splitlines(keepends=True)[1]
timed = [r for r in t.show('instances', '--all', experiment='threads1000')['rows'] if r['bucket'] == 'all' and r['cycles_mean'] and r['iterations']]
said = {}
for factor in (0.1, 10):
    with open('threads1000/untouched.tsv', 'w') as out:
        out.write('counter_hz\t1000000000\n' + heading)
        for row in timed:
            out.write(f'{row["loop"]}\t{round(row["cycles_mean"] * row["iterations"] * factor)}\t1000\n')
    said[factor] = t.run('show', 'instances', 'threads1000').stdout
t.check('counted and timed, an iteration takes' in said[0.1] and 'counted and timed, an iteration takes' not in said[10],
        'where counting and timing slows a loop, the view says so', said)

# SIGKILL: what was counted until then is there
with open('endless.c', 'w') as out:
    out.write(r'''
#include <unistd.h>
__attribute__((noinline)) long spin(long n) { long s = 0; for (long i = 0; i < n; i++) __asm__ volatile("" : "+r"(s)); return s; }
__attribute__((noinline)) void ever(volatile long *a) { for (long i = 0;; i++) { *a += i; if (i == 1000) write(1, "x", 1); } }
int main(void) { long s = 0; for (int i = 0; i < 200000; i++) s += spin(1000); ever(&s); }
''')
app = t.compile(os.path.abspath('endless.c'), '-O1', '-g', output='./endless')
first = subprocess.Popen([t.sonde, 'record', '-q', '-o', 'endless-first', app], stdout=subprocess.PIPE)
first.stdout.read(1)
time.sleep(0.2)
kill_child(first)
second = subprocess.Popen([t.sonde, 'vprof', '--from', 'endless-first', '-q', '-o', 'endless-killed', '--', app], stdout=subprocess.PIPE)
second.stdout.read(1)
kill_child(second)
rows = loops('endless-killed')
row = rows.get('spin', [{}])[0]
t.equal((row.get('instances'), row.get('iterations'), row.get('open')), (200000, 200000000, 0), 'after SIGKILL all instances are there')
row = rows.get('ever', [{}])[0]
t.check((row.get('instances'), row.get('open')) == (1, 1) and row.get('iterations', 0) > 1000, 'and the one that was at work is open', row)

# the report and the loop's page have what the view has, and no report of a run without counted loops
view = [r for r in t.show('instances', '--all', experiment='endless-killed')['rows']]
report = json.loads(t.run('report', '--format', 'json', '-o', '-', 'endless-killed').stdout)
t.equal(report['instances']['rows'], view, 'the report has the instances')
page = t.show('loop', rows['spin'][0]['loop'], experiment='endless-killed')
t.equal([r['instances'] for r in page['instances']][:1], [200000], "and so has the loop's page")
t.check('instances, by cycles an iteration:' in t.run('show', 'loop', rows['spin'][0]['loop'], 'endless-killed').stdout, 'in text, too')
plain = json.loads(t.run('report', '--format', 'json', '-o', '-', 'endless-first').stdout)
t.check('instances' not in plain, 'a run without counted loops has none')

# refusals and bad input
run = t.run('vprof', '--loops', 'nowhere.c:1', '--from', 'threads1000', '--', './threads')
t.check(run.returncode == 125 and 'nowhere.c:1' in run.stderr, 'an unknown loop is refused', run.stderr)
run = t.run('vprof', '--loops', 'top:x', '--from', 'threads1000', '--', './threads')
t.check(run.returncode == 125 and 'top:N' in run.stderr, 'so is a wrong word', run.stderr)
run = t.run('vprof', '--every', '0', '--from', 'threads1000', '--', './threads')
t.check(run.returncode == 125 and 'from 1 on' in run.stderr, 'so is one instance of 0', run.stderr)
t.compile(os.path.abspath('threads.c'), '-O2', '-g', '-pthread', output='./threads')
run = t.run('vprof', '--from', 'threads1000', '--loops', 'top:3', '--', './threads')
t.check(run.returncode == 125 and 'is another build' in run.stderr, 'another build is refused', run.stderr)

# by call path: three ways to one loop, one of them by recursion, and a handler that takes another
with open('paths.c', 'w') as out:
    out.write(r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#define KEPT __attribute__((noinline, noclone, noipa))
static double a[64];
KEPT double kernel(int n) { double s = 0; for (int i = 0; i < n; i++) s += a[i & 63] * i; return s; }
KEPT double one(int n) { return kernel(n) + 1; }
KEPT double two(int n) { return kernel(2 * n) + 2; }
KEPT double deep(int n, int d) { return d ? deep(n, d - 1) + 1 : kernel(n) + 3; }
static volatile long handled;
KEPT double within(void) { return kernel(30) + 4; }
static void handler(int s) { (void)s; within(); handled++; }
int main(int argc, char **argv)
{
	long rounds = atol(argv[1]);
	double s = 0;
	struct itimerval timer = { { 0, 700 }, { 0, 700 } };
	for (int i = 0; i < 64; i++) a[i] = i * .5;
	if (argc > 2) { signal(SIGVTALRM, handler); setitimer(ITIMER_VIRTUAL, &timer, NULL); }
	for (long i = 0; i < rounds; i++) {
		s += one(20);
		if (i % 2 == 0) s += two(20);
		if (i % 4 == 0) s += deep(20, 5);
	}
	timer = (struct itimerval){ 0 };
	setitimer(ITIMER_VIRTUAL, &timer, NULL);
	printf("%.17g\n", s);
	fprintf(stderr, "%ld\n", handled);
}
""")
app = t.compile(os.path.abspath('paths.c'), '-O2', '-g', output='./paths')


def by_path(experiment):
    """Rows of the kernel's loop, by the functions that led to it from main on."""
    rows = [r for r in t.show('instances', '--by', 'path', '--all', experiment=experiment)['rows'] if r['function'] == 'kernel']
    return {' '.join(r['path'][r['path'].index('main'):]) if r['path'] and 'main' in r['path'] else str(r['path']): r for r in rows}


t.equal(t.run('vprof', *ALL, '-o', 'paths-all', '--', app, '20000').stdout, t.command(app, '20000').stdout, 'instances by call path: the output is the same')
found = by_path('paths-all')
ways = {'main one kernel': (20000, 400000), 'main two kernel': (10000, 400000), 'main ' + 6 * 'deep ' + 'kernel': (5000, 100000)}
t.equal({k: (r['instances'], r['iterations']) for k, r in found.items()}, ways, 'with --every 1 they are exact, by whole paths')
t.check(all(r['timed_instances'] == r['path_instances'] == r['instances'] and r['cycles_mean'] > 0 for r in found.values()), 'and each was timed', found)
run = t.run('vprof', *ALL, '-o', 'paths-handler', '--', app, '2000000', 'x')
found = by_path('paths-handler')
handled = int(run.stderr.split()[-1])
t.equal(sum(r['instances'] for r in found.values()), 3500000 + handled, 'with a handler that runs the loop as well they add up to all')
t.equal({k: found[k]['instances'] for k in ways}, {k: 100 * n for k, (n, _) in ways.items()}, 'and those of the program are exact')
t.check(all(r['path'] is None or r['path'][-3:] == ['handler', 'within', 'kernel'] for k, r in found.items() if k not in ways),
        'those of the handler are by its path, or of none that is known', found.keys())
t.run('vprof', '-q', '--loops', 'all', '-o', 'paths-some', '--', app, '4000000')
found = by_path('paths-some')
t.equal(sum(r['instances'] for r in found.values()), 7000000, 'estimated ones add up to the exact number')
looked = sum(r['path_instances'] for r in found.values())
for way, (n, _) in ways.items():
    part = n / 35000
    off = found.get(way, {'instances': 0})['instances'] / 7000000 - part
    # n looks, each for as many as since the one before: twice the variance; 4 sigma
    t.check(abs(off) <= 4 * (2 * part * (1 - part) / max(looked, 1)) ** 0.5 + 0.01, f'as often by {way[:20]} as it was, within what was looked at', off, looked)
t.check(found['main one kernel']['iterations'] is None, 'what was not timed has no iterations')
t.check('two < main < ' in t.run('show', 'instances', '--by', 'path', '--all', 'paths-all').stdout, 'text has paths in one line, nearest caller first')
page = t.show('loop', found['main one kernel']['loop'], experiment='paths-some')
t.equal({' '.join(r['path'][r['path'].index('main'):]) for r in page['instance_paths'] if r['path']}, set(ways), "a loop's page has its call paths")
text = t.run('show', 'loop', found['main one kernel']['loop'], 'paths-some').stdout
t.check('by who came to the loop' in text, 'in text, too')
t.check('% of them from one < main' in ' '.join(text.split()), 'and in the words of its evidence, which reports show', text)
t.equal(t.run('show', 'instances', '--by', 'nothing', 'paths-all').returncode, 2, 'another word after --by is refused')
kept = t.show('instances', '--all', experiment='paths-all')['rows'][0]['representatives']
t.check(kept and set(kept[0]) == {'process', 'thread', 'instance'}, 'representatives are a list of process, thread and instance', kept)

# a program that checks its own code
with open('text.c', 'w') as out:
    out.write(r"""
#include <stdio.h>
#define KEPT __attribute__((noinline, noclone, noipa))
static unsigned a[256];
KEPT unsigned work(unsigned n) { unsigned s = 0; for (unsigned i = 0; i < n; i++) { a[i & 255] += i * i; s ^= a[(i * 7) & 255]; } return s; }
KEPT void behind(void) { __asm__ volatile(""); }
static unsigned sum(void) { unsigned s = 0; for (const volatile unsigned char *p = (void *)work; p < (unsigned char *)behind; p++) s = s * 31 + *p; return s; }
int main(int argc, char **argv)
{
	unsigned s = 0, wanted = 0;
	for (int i = 0; i < 3000; i++) s += work(10000);
	if (argc > 1) sscanf(argv[1], "%u", &wanted);
	printf("%u %u\n", s, sum());
	return argc > 1 && wanted != sum() ? 9 : 0;
}
""")
app = t.compile(os.path.abspath('text.c'), '-O2', '-g', '-fno-toplevel-reorder', output='./text')
text = t.command(app).stdout.split()[1]
run = t.run('vprof', '--loops', 'all', '-q', '-o', 'text-copies', '--', app, text)
t.equal(run.returncode, 9, 'a program that checks its own code sees the jumps into copies')
run = t.run('vprof', '--loops', 'all', '--keep-text', '-o', 'text-kept', '--', app, text)
t.check(run.returncode == 0 and run.stdout == t.command(app, text).stdout, 'with --keep-text it sees none', run.returncode, run.stdout)
t.check(run.stderr.count('\n') == 1 and 'there are no instances' in run.stderr, 'and what is not there is said in one line', run.stderr)
t.check(not loops('text-kept') and [r for r in t.show('loops', experiment='text-kept')['rows'] if r['function'] == 'work'], 'the loops have their samples')

# under a launcher: both runs, with the same input; what it gets wrong is one sentence
with open('twice', 'w') as out:
    out.write('#!/bin/sh\necho launched >> starts\nPMI_RANK=0 PMI_SIZE=2 "$@"\nfirst=$?\nPMI_RANK=1 PMI_SIZE=2 "$@" && exit $first\n')
os.chmod('twice', 0o755)
run = t.run('vprof', '--loops', 'all', '--every', '1', '--launcher', './twice', '-o', 'launched', '--', './paths', '20000')
t.equal((run.returncode, run.stdout), (0, 2 * t.command('./paths', '20000').stdout), 'under a launcher the output is the ranks\' of one start')
t.equal(open('starts').read(), 'launched\nlaunched\n', 'which starts twice')
t.equal({k: r['instances'] for k, r in by_path('launched').items()}, {k: 2 * n for k, (n, _) in ways.items()}, 'and every rank is counted')
t.equal(len(t.show('processes', experiment='launched')['rows']), 2, 'each is a process of one experiment')
run = t.run('vprof', '--launcher', './twice', '--from', 'launched', '-q', '-o', 'launched-again', '--', './paths', '20000')
t.check(run.returncode == 0 and open('starts').read().count('launched') == 3 and loops('launched-again'), 'with --from it starts once', run.stderr)
run = t.run('vprof', '--launcher', './twice', '--keep-text', '-o', 'launched-kept', '--', './paths', '20000')
t.check(run.returncode == 0 and 'there are no instances' in run.stderr and not loops('launched-kept') and
        len(t.show('processes', experiment='launched-kept')['rows']) == 2, 'with --keep-text each rank is sampled', run.stderr)
for words, sign in ((['--launcher', ''], 'takes the words of a launcher'), (['--launcher', './nothing'], "cannot run './nothing'")):
    run = t.run('vprof', *words, '--', './paths', '20')
    t.check(run.returncode in (125, 127) and sign in run.stderr and not run.stdout, f'{words} is refused', run.returncode, run.stderr)
if t.has('mpirun'):
    run = t.run('vprof', '--loops', 'all', '--every', '1', '--launcher', 'mpirun --allow-run-as-root --oversubscribe -n 2', '-o', 'ranks', '--', './paths', '20000')
    t.equal({k: r['instances'] for k, r in by_path('ranks').items()}, {k: 2 * n for k, (n, _) in ways.items()}, 'under mpirun, too')
    t.equal([r['rank'] for r in t.show('processes', experiment='ranks')['rows']], [0, 1], 'by their ranks')

# places of the source name loops, whether samples met them or not
with open('places.c', 'w') as out:
    out.write(r"""
#include <stdio.h>
#define KEPT __attribute__((noinline, noclone, noipa))
static double a[1000];
static volatile int v[50];
KEPT double hot(int n)
{
	double s = 0;
	for (int i = 0; i < n; i++) {
		a[i] = a[i] * 0.5 + 1;
		s += a[i];
	}
	return s;
}
KEPT int cold(int n)
{
	int s = 0;
	for (int i = 0; i < n; i++) {
		s += v[i] ^ s;
	}
	return s;
}
KEPT int one(int x) { return x + 1; }
KEPT int calls(int n)
{
	int s = 0;
	for (int i = 0; i < n; i++) {
		s = one(s);
	}
	return s;
}
KEPT double around(int n)
{
	double s = 0;
	for (int r = 0; r < n; r++) {
		if (r == 7) {
			for (int i = 0; i < 50; i++) {
				s += v[i];
			}
		}
		s += hot(1000);
	}
	return s;
}
int main(void)
{
	double s = around(400000);
	int q = cold(50) + calls(20);
	printf("%g %d\n", s, q);
	return 0;
}
""")
app = t.compile(os.path.abspath('places.c'), '-O1', '-g', '-fno-inline', output='./places')
source = open('places.c').read().split('\n')
cold, inner, calling = (next(i + 1 for i, line in enumerate(source) if text in line)
                        for text in ('s += v[i] ^ s', 's += v[i];', 's = one(s)'))
t.run('record', '-q', '-o', 'placed', '--', app)
run = t.run('vprof', '--from', 'placed', '--loops', f'places.c:{cold}', '-q', '-o', 'place-cold', '--', app)
t.equal((run.returncode, {f: [(r['instances'], r['iterations']) for r in rows] for f, rows in loops('place-cold').items()}), (0, {'cold': [(1, 50)]}),
        'a line names a loop that no sample met')
run = t.run('vprof', '--from', 'placed', '--loops', f'places.c:{inner}', '-q', '-o', 'place-inner', '--', app)
t.equal((run.returncode, {f: [(r['instances'], r['iterations']) for r in rows] for f, rows in loops('place-inner').items()}), (0, {'around': [(1, 50)]}),
        'and the innermost one, where samples met the loop around it alone')
t.run('vprof', '--from', 'placed', '--loops', 'all', '-q', '-o', 'place-all', '--', app)
t.run('vprof', '--from', 'placed', '--loops', 'all', '--exclude', f'places.c:{cold}', '-q', '-o', 'place-others', '--', app)
t.equal(set(loops('place-all')) - set(loops('place-others')), {'cold'}, 'it can be excluded likewise')
run = t.run('vprof', '--from', 'placed', '--loops', 'places.c:1', '-o', 'place-none', '--', app)
t.check(run.returncode == 125 and "no loop of this experiment is 'places.c:1'" in run.stderr and not run.stdout, 'a line without a loop is refused', run)
run = t.run('trace', '--from', 'placed', '--loops', f'places.c:{calling}', '-o', 'place-none', '--', app)
t.check(run.returncode == 125 and re.search(r'no loop can be traced; places\.c:[0-9-]+: \w+ \w+', run.stderr), 'and one that cannot be had, with its reason', run)

# a program that fails in the first run
with open('fails.c', 'w') as out:
    out.write('#include <stdlib.h>\nint main(int argc, char **argv) { if (argc > 1) exit(atoi(argv[1])); *(volatile int *)0 = 1; }\n')
fails = t.compile(os.path.abspath('fails.c'), '-g', output='./fails')
for command in ('vprof', 'decan', 'trace'):
    run = t.run(command, '-q', '-o', 'failed', '--', fails)
    t.check((run.returncode, run.stderr.count('\n'), run.stdout) == (139, 1, '') and 'ended by SIGSEGV' in run.stderr and not os.path.exists('failed'),
            f'{command}: the signal that ended the first run is told, and its status given', run)
    run = t.run(command, '-q', '-o', 'failed', '--', fails, '4')
    t.check((run.returncode, run.stderr.count('\n')) == (4, 1) and 'ended with status 4' in run.stderr, f'{command}: so is another status', run)
run = t.run('vprof', '-q', '--launcher', 'env', '-o', 'failed', '--', fails)
t.check(run.returncode == 139 and 'ended by SIGSEGV' in run.stderr, 'under a launcher, too', run)

# data that are cut short
shutil.copytree('place-cold', 'place-cut')
data = next(os.path.join('place-cut', name) for name in os.listdir('place-cut') if name.endswith('.data'))
for size in (4096, 100, 0):
    os.truncate(data, size)
    run = t.run('show', 'instances', 'place-cut')
    t.check(run.returncode == 3 and data in run.stderr and 'is cut short or damaged' in run.stderr, f'{size} bytes of the data file: they are cut, not uncounted', run)

# nothing can be inserted into a static program: that is said before it runs
if not subprocess.run(['gcc', '-static', '-O1', '-g', 'places.c', '-o', 'static'], capture_output=True).returncode:
    for command in ('vprof', 'decan', 'trace', 'count'):
        run = t.run(command, '-o', 'of-static', '--', './static')
        t.check((run.returncode, run.stdout, run.stderr.count('\n')) == (125, '', 1) and 'is linked statically' in run.stderr and not os.path.exists('of-static'),
                f'{command}: a static program is refused in one sentence', run)
    run = t.run('run', '--level', '2', '-o', 'of-static', './static')
    t.check(run.returncode == 0 and run.stderr.count('is linked statically') == 1 and not os.path.exists('of-static/instances'), 'sonde run has its samples, and no second run', run.stderr)
    rows = json.loads(t.run('structure', '-l', 'rewritable', '--function', 'hot', '--format', 'json', './static').stdout)['rows']
    t.check(rows and not any(r['instances'] for r in rows) and all('statically' in r['why_not'] for r in rows), 'structure -l rewritable says so', rows)
    rows = json.loads(t.run('structure', '-l', 'rewritable', '--function', 'hot', '--format', 'json', './places').stdout)['rows']
    t.check(rows and all(r['instances'] for r in rows), 'and of the same program with a loader that it can be had', rows)
else:
    t.skip('static programs', 'there is no static C library')

# real programs
text = 'input.txt'
with open(text, 'wb') as out:
    for i in range(40000):
        out.write(hashlib.sha256(b'%d' % (i // 3)).hexdigest()[:48].encode() + b'\n')
size = os.path.getsize(text)
for program, words in (('gzip', ['-c', '-9', text]), ('xz', ['-c', '-2', '-T1', text]), ('bzip2', ['-c', text]),
                       ('zstd', ['-q', '-c', '-9', '-T1', text]), ('sha256sum', [text])):
    if not shutil.which(program):
        t.skip(f'{program}: output and exit status are the same', f'no {program} here')
        continue
    plain = subprocess.run([program, *words], capture_output=True, timeout=120)
    run = subprocess.run([t.sonde, 'vprof', *ALL, '-o', 'real-' + program, '--', program, *words], capture_output=True, timeout=300)
    t.check((run.returncode, run.stdout) == (plain.returncode, plain.stdout),
            f'{program} with all loops as copies: output and exit status are the same', run.stderr)
if shutil.which('gzip'):
    rows = [r for found in loops('real-gzip').values() for r in found]
    t.check(any(r['iterations'] == size for r in rows), 'a loop of gzip (its checksum) has an iteration for each byte of its input',
            size, sorted(r['iterations'] or 0 for r in rows)[-8:])

# a handler that runs the loop which it interrupts, over other data, leaves the instance of the program its own iterations
with open('within.c', 'w') as out:
    out.write(r"""
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
static volatile long kept;
static char global[200];
__attribute__((noipa)) long sum(const char *p, long n) { long h = 0; for (long i = 0; i < n; i++) h = h * 31 + p[i]; return h; }
static void handler(int s) { (void)s; kept += sum(global, 200); }
int main(void)
{
	char local[4000];
	long all = 0;
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } };
	memset(local, 1, sizeof(local));
	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int r = 0; r < 60000; r++) all += sum(local, 4000);
	printf("%ld\\n", all);
	return 0;
}
""".replace('\\\\', '\\'))
within = t.compile(os.path.abspath('within.c'), '-O2', '-g', output='./within')
plain = t.command(within)
for words, name in ((('--every', '1'), 'within-all'), ((), 'within-some')):
    run = t.run('vprof', '--quiet', *words, '-o', name, '--', within)
    t.equal((run.returncode, run.stdout), (0, plain.stdout), f'{name}: the output is the same')
    rows = [r for r in t.show('instances', '--all', '--by', 'bucket', experiment=name)['rows'] if r['function'] == 'sum' and r['bucket'] != 'all']
    # some may hold the handler's 200 as well, or be the handler's own; a pointer's distance is none of them
    t.check(rows and all(200 <= r['iterations_min'] and r['iterations_max'] <= 6000 for r in rows if r['iterations_max']),
            f'{name}: iterations of single instances are those of the loop', [(r['iterations_min'], r['iterations_max']) for r in rows])
paths = [r for r in t.show('instances', '--all', '--by', 'path', experiment='within-all')['rows'] if r['function'] == 'sum' and r['path']]
mine = [r for r in paths if 'handler' not in r['path']]
t.equal([(r['instances'], r['iterations']) for r in mine], [(60000, 240000000)], 'each path has its own iterations')
t.done()

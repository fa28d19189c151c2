"""sonde count: calls and instructions are those that the program is known to make; the program stays what it was."""
import os
import signal
import subprocess
import time

import browser
from sonde_test import Test

t = Test()
# known: 5 instructions an iteration of `five`, 3 around them; calls of `fib` by its formula; blocks of `ways` by the remainder
SOURCE = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
long five(long n);
__asm__(".globl five\n.type five,@function\nfive:\nxor %eax,%eax\ntest %rdi,%rdi\n"
	"1: add $3,%rax\nnop\nnop\ndec %rdi\njnz 1b\nret\n.size five,.-five\n");
#define KEPT __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))
KEPT static long fib(long n) { if (n < 2) return n; return fib(n - 1) + fib(n - 2); }
KEPT static int ways(int k) { switch (k % 7) { case 0: return 1; case 1: return 5; case 2: return k * 3; case 3: return k ^ 55;
	case 4: return k / 3; case 5: return 9; default: return -k; } }
static jmp_buf back;
KEPT static void leaves(int n) { if (n % 2) longjmp(back, 1); __asm__ volatile("" ::: "memory"); }
static void *thread(void *n) { return (void *)five((long)n); }
int main(int count, char **words)
{
	pthread_t threads[3];
	volatile long sum = 0, i;
	for (i = 0; i < 3; i++) pthread_create(&threads[i], NULL, thread, (void *)(100000 * (i + 1)));
	for (i = 0; i < 3; i++) pthread_join(threads[i], NULL);
	for (i = 0; i < 70000; i++) sum += ways((int)i);
	for (i = 0; i < 1000; i++) if (!setjmp(back)) leaves((int)i);
	if (!fork()) { five(50000); _exit(0); }
	wait(NULL);
	printf("%ld %ld\n", fib(20), sum);
	fflush(stdout);
	if (count > 1) for (;;) { five(1000); }
	return 3;
}
"""
with open('known.c', 'w') as out:
    out.write(SOURCE)


def counts(experiment, *more):
    return {row['function']: row for row in t.show('counts', *more, experiment=experiment)['rows']}


for flags in (('-O0',), ('-O2',), ('-O3', '-fcf-protection', '-no-pie')):
    name = ''.join(flags)
    known = t.compile('./known.c', '-g', '-pthread', *flags, output='./known')
    plain = t.command(known)
    run = t.run('count', '-o', 'x' + name, '--', known)
    t.equal((run.stdout, run.returncode), (plain.stdout, plain.returncode), f'{name}: output and status stay')
    rows = counts('x' + name)
    # 100,000, 200,000 and 300,000 iterations in threads, 50,000 in a child
    t.equal((rows['five']['calls'], rows['five']['instructions']), (4, 5 * 650000 + 4 * 3), f'{name}: instructions of all threads and processes')
    t.equal(rows['ways']['calls'], 70000, f'{name}: calls of a function with a jump table')
    t.equal(rows['leaves']['calls'], 1000, f'{name}: calls that longjmp left')
    t.equal(rows['main']['calls'], 1, f'{name}: main is called once')
    t.within(sum(row['share'] for row in rows.values()), 1, 1e-6, f'{name}: shares add up')
    if name == '-O0':  # at others gcc makes one call of several
        t.equal(rows['fib']['calls'], 21891, f'{name}: calls of a recursion')  # 2 F(21) - 1
    five = counts('x' + name, '-p', '1')['five'] if len(t.show('processes', experiment='x' + name)['rows']) == 2 else {}
    t.equal((five.get('calls'), five.get('instructions')), (1, 5 * 50000 + 3), f'{name}: those of the child alone')

blocks = [row for row in t.show('counts', '--by', 'block', experiment='x-O0')['rows']]
five = sorted(row['block_executions'] for row in blocks if row['function'] == 'five')
t.equal(five, [4, 4, 650000], 'blocks have their executions')
t.check(all(row['address'].startswith('0x') for row in blocks), 'and addresses')
lines = {row['line'] for row in blocks if row['function'] == 'ways'}
t.check(lines and all(lines), 'and lines', lines)
run = t.run('show', 'counts', '--by', 'line', 'x-O0')
t.check(run.returncode != 0 and 'function or block' in run.stderr, 'another grouping is refused', run.stderr)

# ---- what is not counted is told ----
with open('parts.c', 'w') as out:
    out.write(r"""
#include <string.h>
static char a[1 << 16], b[1 << 16];
#define KEPT __attribute__((noinline, noclone))
KEPT static long counted(long n) { volatile long s = 0; for (long i = 0; i < n; i++) s += i; return s; }
/* it makes a system call itself, so it stays as it is */
KEPT static long refused(long n) { volatile long s = 0; long r; for (long i = 0; i < n; i++) s += i;
	__asm__ volatile("syscall" : "=a"(r) : "a"(39L) : "rcx", "r11", "memory"); return s + r; }
int main(void)
{
	long s = 0;
	for (int i = 0; i < 100; i++) { s += counted(1000000) + refused(1000000); for (int k = 0; k < 1000; k++) memcpy(i % 2 ? a : b, i % 2 ? b : a, sizeof(a)); }
	return s == 1;
}
""")
parts = t.compile('./parts.c', '-O1', '-g', '-fno-builtin', output='./parts')
run = t.run('count', '-o', 'parts.x', '--', parts)
t.check('the C library' in run.stderr and 'refused is not counted' in run.stderr, 'what is not counted is said when the run begins', run.stderr)
text = t.run('show', 'counts', 'parts.x').stdout
foot = {line.split(' ')[0]: line for line in text.splitlines()}
t.check('functions of parts;' in foot.get('counted:', '') and 'the C library' in foot['counted:'], 'the table says of what modules functions were counted', text)
t.check('refused' in foot.get('not', '') and 'libc.so.6' in foot['not'] and ' counted ' not in foot['not'].split(':', 1)[1],
        'and what else has CPU time', text)
t.check('refused' not in counts('parts.x') and 'counted' in counts('parts.x'), 'which has no row')
t.check(any('functions were counted' in w for w in t.show('summary', experiment='parts.x')['warnings']), 'the first screen says that times are longer')
t.check(not any('functions were counted' in w for w in t.show('summary', experiment='first.x')['warnings'])
        if t.run('record', '-o', 'first.x', '--', parts).returncode == 0 else False, 'of other runs it does not')
t.run('report', 'parts.x')
if browser.find():
    with browser.Browser() as chrome:
        page = chrome.open('file://' + os.path.abspath('parts.x/report.html') + '#/counts')
        page.wait("document.body.dataset.ready === 'counts'")
        shown = page.evaluate("document.querySelector('main').innerText")
        t.check(all(line in shown for line in (foot['counted:'], foot['not'])), 'the page says so, too', shown)
        for width in (800, 1400):
            page.size(width, 900)
            t.check(page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth') <= 0, f'and has room ({width})')
        t.check('.0000' not in shown, 'numbers have as many decimals as in the table', shown)
        t.equal(page.errors, [], 'without errors')
else:
    t.skip('the page in a browser', 'no chromium')

# ---- ended by SIGKILL: what was counted until then is there ----
known = t.compile('./known.c', '-g', '-pthread', '-O2', output='./known')
t.run('record', '-o', 'first', '--', known)
child = subprocess.Popen([t.sonde, 'count', '-q', '--from', 'first', '-o', 'killed', '--', known, 'on'], stdout=subprocess.PIPE, text=True)
child.stdout.readline()  # now it goes on for ever
time.sleep(0.5)
subprocess.run(['pkill', '-9', '-x', '-P', str(child.pid), 'known'], check=False)
child.communicate()
t.equal(child.returncode, 128 + signal.SIGKILL, 'killed')
five = counts('killed')['five']
# all calls but the one that it was killed in are whole: 1,000 iterations each, after those above
left = five['instructions'] - (5 * 650000 + 12) - (five['calls'] - 4) * 5003
t.check(five['calls'] > 4 and -5003 < left <= 0, 'killed: counts are those until then', five)

# ---- C++: exceptions through counted functions ----
if t.has('g++'):
    with open('thrown.cpp', 'w') as out:
        out.write(r"""
#include <cstdio>
#include <stdexcept>
#define KEPT __attribute__((noinline, noclone))
struct guard { int &n; KEPT ~guard() { n++; } };
KEPT static void deep(int n) { if (n % 3 == 0) throw std::runtime_error("x"); asm volatile(""); }
KEPT static int middle(int n, int &cleaned) { guard g{cleaned}; deep(n); return 1; }
int main() { int caught = 0, cleaned = 0, went = 0;
	for (int i = 0; i < 3000; i++) try { went += middle(i, cleaned); } catch (const std::exception &) { caught++; }
	std::printf("%d %d %d\n", caught, cleaned, went); }
""")
    thrown = t.compile('./thrown.cpp', '-O2', '-g', compiler='g++', output='./thrown')
    run = t.run('count', '-o', 'thrown.x', '--', thrown)
    t.equal((run.stdout, run.returncode), ('1000 3000 2000\n', 0), 'exceptions go where they went')
    rows = counts('thrown.x')
    t.equal({key: rows[key]['calls'] for key in rows if key.split('(')[0] in ('deep', 'middle', 'guard::~guard')},
            {key: 3000 for key in rows if key.split('(')[0] in ('deep', 'middle', 'guard::~guard')}, 'and their functions are counted')
    t.check(sum(key.split('(')[0] in ('deep', 'middle') for key in rows) == 2, 'both of them', list(rows))
else:
    t.skip('exceptions through counted functions', 'there is no g++')

# ---- programs of the system, without symbols ----
with open('text', 'w') as out:
    out.write('a line of text\n' * 60000)

run = t.command(t.sonde, 'count', '-q', '-o', 'gzip.x', '--', 'gzip', '-c', 'text', text=False)
t.equal(run.returncode, 0, 'gzip: its status')
with open('text.gz', 'wb') as out:
    out.write(run.stdout)
t.equal(t.command('gzip', '-dc', 'text.gz').stdout, open('text').read(), 'gzip: its output')
t.check(sum(row['instructions'] for row in counts('gzip.x').values()) > 900000, 'gzip: more than an instruction for each byte')

# ---- the Collector's words, and what cannot be ----
run = t.run('collect', '-c', 'on', '-o', 'collected.er', known)
t.check(run.returncode == 3 and counts('collected.er')['five']['calls'] == 4, 'collect -c on', run.stderr)
run = t.run('collect', '-c', 'static', known)
t.check(run.returncode == 125 and 'sonde structure' in run.stderr, 'collect -c static names the command that has it', run.stderr)
t.equal(t.run('collect', '-c', 'off', '-o', 'off.er', known).returncode, 3, 'collect -c off')
run = t.run('show', 'counts', 'first')
t.check(run.returncode != 0 and 'sonde count' in run.stderr, 'an experiment without counts names the command', run.stderr)
run = t.run('count', '--keep-text', '-o', 'kept.x', '--', known)
t.check(run.returncode == 3 and 'there are no counts of calls' in run.stderr and 'show functions' in run.stderr, '--keep-text says what is missing', run.stderr)
t.equal(t.run('count', '-o', 'none.x', '--', './no-such-program').returncode, 127, 'a program that is not there: 127')
t.check(os.path.isdir('x-O2') and not os.path.isdir('none.x'), 'nothing is left of it')

# ---- no first period of an event stalls a thread ----
# it did in one of five on a loaded machine: of 40 runs one at least with 1 - 1e-4
for i in range(40):
    run = t.run('record', '-q', '-o', f'short.{i}', '-e', 'task-clock:100000', '--', 'true', timeout=120)
    if run.returncode:
        break
t.equal(run.returncode, 0, 'short periods of the clock leave the program time to go on')
t.done()

"""sonde search --phase by code at the place: executions are exact, registers and signals stay the program's."""
import json
import re
import subprocess

from sonde_test import Test

t = Test()
# 150 passes a second and more: a breakpoint would be told of every second to eighth. Vectors, flags and masks live across the place.
SOURCE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static volatile double kept;
static double cpu_s(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static void work(double s) { for (double end = cpu_s() + s; cpu_s() < end;) for (int i = 0; i < 1000; i++) kept = kept * 0.5 + i; }
__attribute__((noinline)) void step(void) { work(0.004); }
/* all vector registers and the flags hold something when the place is reached */
void vectors(void);
__asm__(".globl vectors\n.type vectors,@function\nvectors:\n"
	"lea 1(%rax),%rax\nlea 1(%rdx),%rdx\njc 2f\nnop\n2: ret\n.size vectors,.-vectors\n");
static int is_kept(void)
{
	double before[16], after[16];
	unsigned long flags_before, flags_after;
	for (int i = 0; i < 16; i++) before[i] = i + 0.5, after[i] = 0;
	__asm__ volatile(
		"sub $128, %%rsp\n"
		".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n movsd 8*\\n(%2), %%xmm\\n\n .endr\n"
		"stc\n pushfq\n pop %0\n call vectors\n pushfq\n pop %1\n"
		".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n movsd %%xmm\\n, 8*\\n(%3)\n .endr\n"
		"add $128, %%rsp\n"
		: "=&r"(flags_before), "=&r"(flags_after) : "r"(before), "r"(after)
		: "rax", "rdx", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
		  "xmm12", "xmm13", "xmm14", "xmm15");
	return !memcmp(before, after, sizeof(before)) && flags_before == flags_after;
}
static int seen;
static void on_trap(int signal) { (void)signal; seen++; }
static void *other(void *n) { work(0.5); return n; }
int main(int count, char **words)
{
	int rounds = atoi(words[1]), wrong = 0;
	pthread_t thread;
	sigset_t set;
	pthread_create(&thread, NULL, other, NULL);
	if (count > 2 && !strcmp(words[2], "own")) { signal(SIGTRAP, on_trap); raise(SIGTRAP); }
	if (count > 2 && !strcmp(words[2], "blocked")) { sigemptyset(&set); sigaddset(&set, SIGTRAP); sigprocmask(SIG_BLOCK, &set, NULL); }
	for (int i = 0; i < rounds; i++) {
		errno = 77;
		step();
		wrong += errno != 77;
		wrong += !is_kept();
	}
	pthread_join(thread, NULL);
	printf("%d rounds, %d wrong, %d traps\n", rounds, wrong, seen);
	return 5;
}
"""
with open('told.c', 'w') as out:
    out.write(SOURCE)


def searched(name, phase, *words):
    run = t.run('search', '--format', 'json', '-o', name, '--phase', phase, '--', told, *words, timeout=300)
    found = json.loads(run.stdout[run.stdout.index('{"schema"'):]) if '{"schema"' in run.stdout else None
    return run, found


for flags in (('-O1',), ('-O2', '-fcf-protection=full')):
    name = ''.join(flags)
    told = t.compile('./told.c', '-g', '-pthread', *flags, output='./told')
    run, found = searched('x' + name, 'step', '400')
    t.check('400 rounds, 0 wrong, 0 traps' in run.stdout + run.stderr, f'{name}: the program is what it was', run.stdout[:300], run.stderr[-300:])
    t.equal((run.returncode, found and found['exit_status']), (0, 5), f'{name}: searched, and its status is there')
    t.equal(found and found['phase']['name'], 'step', f'{name}: the phase is the function')
    t.check(found and 10 < found['phase']['executions'] <= 400, f'{name}: executions were measured', found and found['phase'])
    # CPU time of a step is 4 ms whatever else the machine does: its elapsed time cannot be less
    t.check(found and found['phase']['mean_s'] > 0.0039, f'{name}: each lasts its time', found and found['phase'])
    run, found = searched('v' + name, 'vectors', '400')
    t.check('400 rounds, 0 wrong, 0 traps' in run.stdout + run.stderr, f'{name}: vectors and flags are kept across the place', run.stdout[:300],
            run.stderr[-300:])

told = t.compile('./told.c', '-g', '-pthread', '-O2', output='./told')
run, found = searched('own', 'step', '300', 'own')
t.check('300 rounds, 0 wrong, 1 traps' in run.stdout + run.stderr, 'a program with a handler of SIGTRAP has its own traps, and no others', run.stdout[:300],
        run.stderr[-300:])
t.check(found and found['phase']['executions'] > 10, 'and is searched', found and found['phase'])
run, found = searched('blocked', 'step', '300', 'blocked')
t.check('300 rounds, 0 wrong, 0 traps' in run.stdout + run.stderr, 'a program that blocks SIGTRAP goes on', run.stdout[:300], run.stderr[-300:])
t.check(run.returncode in (0, 3), 'and the search ends', run.returncode, run.stderr[-300:])
# a call that is moved returns to where it did: who unwinds finds its caller
THROWN = r'''
#include <cstdio>
#include <ctime>
static volatile double kept;
static double cpu_s() { timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
extern "C" __attribute__((noinline)) int thrower(int n)
{
	for (double end = cpu_s() + 0.004; cpu_s() < end;) for (int i = 0; i < 1000; i++) kept = kept * 0.5 + i;
	if (n % 2) throw n;
	return n;
}
extern "C" int passes(int n);
/* begins with a call */
__asm__(".globl passes\n.type passes,@function\npasses:\n.cfi_startproc\npush %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset 3,-16\n"
	"call thrower\nlea 1(%rax),%eax\npop %rbx\n.cfi_def_cfa_offset 8\nret\n.cfi_endproc\n.size passes,.-passes\n");
int main()
{
	int sum = 0, caught = 0;
	for (int n = 0; n < 400; n++) { try { sum += passes(n); } catch (int m) { caught += m == n; } }
	std::printf("%d sum, %d caught\n", sum, caught);
	return 0;
}
'''
with open('thrown.cc', 'w') as out:
    out.write(THROWN)
subprocess.run(['g++', '-g', '-O1', '-no-pie', '-o', 'thrown', 'thrown.cc'], check=True)
run = t.run('search', '--format', 'json', '-o', 'thrown.run', '--phase', 'passes', '--', './thrown', timeout=300)
t.check('40000 sum, 200 caught' in run.stdout + run.stderr, 'exceptions pass through a call that was moved', run.stdout[:300], run.stderr[-300:])
found = json.loads(run.stdout[run.stdout.index('{"schema"'):]) if '{"schema"' in run.stdout else None
t.check(found and found['phase']['executions'] > 10, 'and its executions are measured', found and found['phase'], run.stderr[-300:])
# far more often than a signal each time can be afforded
run = t.run('search', '-o', 'often', '--phase', 'cpu_s', '--', told, '100', timeout=300)
t.check('100 rounds, 0 wrong, 0 traps' in run.stdout + run.stderr, 'what is passed too often leaves the program as it is', run.stdout[:300])
# the first 1,000 are told, so that a search may have measured some before
t.check(run.returncode == 0 or (run.returncode == 3 and re.search(r'over \d+ times a second, too often', run.stderr)),
        'and is searched before, or refused in a sentence', run.returncode, run.stderr[-300:])
t.done()

"""Short loops within others: what is counted is known by construction, however few instances are timed."""
import os

from sonde_test import Test

t = Test()
SOURCE = r'''
#include <stdio.h>
#include <stdlib.h>
#define KEPT __attribute__((noinline))
struct node { struct node *next; };
/* each list by itself; the inner loop is entered from the outer one's header, and has no register that counts */
KEPT long lists(struct node **first, struct node **end)
{
	long n = 0;
	__asm__ volatile(
		"1: mov (%1), %%rax\n add $8, %1\n"
		"2: add $1, %0\n add $1, %0\n mov (%%rax), %%rax\n test %%rax, %%rax\n jne 2b\n"
		"cmp %2, %1\n jne 1b\n" : "+r"(n), "+r"(first) : "r"(end) : "rax", "memory", "cc");
	return n;
}
/* some are passed by; those of the innermost loop are counted by rax, which the stubs would take */
KEPT long passed(struct node **first, struct node **end)
{
	long n = 0;
	__asm__ volatile(
		"1: mov (%1), %%rdx\n add $8, %1\n"
		"test $16, %%dl\n je 3f\n"
		"2: mov $3, %%eax\n"
		"4: add $1, %%rax\n cmp $5, %%rax\n jne 4b\n add %%rax, %0\n"
		"mov (%%rdx), %%rdx\n test %%rdx, %%rdx\n jne 2b\n"
		"3: cmp %2, %1\n jne 1b\n" : "+r"(n), "+r"(first) : "r"(end) : "rax", "rdx", "memory", "cc");
	return n;
}
/* the carry flag is passed from one iteration to the next, and into the first one */
KEPT long carried(long times, long start)
{
	long n = 0;
	__asm__ volatile(
		"1: mov %2, %%r8\n stc\n"
		"2: adc %%r8, %0\n lea -1(%%r8), %%r8\n lea (%%r8), %%r8\n mov %%r8, %%rcx\n jrcxz 3f\n jmp 2b\n"
		"3: adc $0, %0\n dec %1\n jne 1b\n" : "+r"(n), "+r"(times) : "r"(start) : "rcx", "r8", "cc");
	return n;
}
int main(int argc, char **argv)
{
	enum { LISTS = 1000, NODES = 8 };
	static struct node nodes[LISTS][NODES] __attribute__((aligned(64)));
	static struct node *first[LISTS];
	long rounds = argc > 1 ? atol(argv[1]) : 1, sum = 0, all = 0, odd = 0, odd_all = 0;
	for (int i = 0; i < LISTS; i++) {
		int length = 1 + i * 7 % 5, from = i % 3;	/* an address with the bit 16 in every third */
		for (int k = 0; k + 1 < length; k++) nodes[i][(from + k) % NODES].next = &nodes[i][(from + k + 1) % NODES];
		first[i] = &nodes[i][from];
		all += length;
		if ((long)first[i] & 16) odd++, odd_all += length;
	}
	for (long r = 0; r < rounds; r++)
		sum += lists(first, first + LISTS) + passed(first, first + LISTS) + carried(1000, 3);
	printf("%ld\n", sum);
	fprintf(stderr, "%ld %ld %ld %ld\n", (long)LISTS * rounds, all * rounds, odd * rounds, odd_all * rounds);
	return 3;
}
'''
with open('short.c', 'w') as out:
    out.write(SOURCE)
app = t.compile(os.path.abspath('short.c'), '-O1', '-g', output='./short')
for words in (['--every', '1'], [], ['--budget', '1'], ['--every', '1000000']):
    rounds = '20' if words[:1] == ['--every'] and words[1] == '1' else '500'
    plain = t.command(app, rounds)
    lists, nodes, odd, odd_nodes = map(int, plain.stderr.split())
    name = 'of' + ''.join(words)
    run = t.run('vprof', '--loops', 'all', '--quiet', *words, '-o', name, '--', app, rounds)
    t.equal((run.returncode, run.stdout), (plain.returncode, plain.stdout), f'{words}: output and exit status are the same')
    found = {}
    for row in t.show('instances', '--all', experiment=name)['rows']:
        if row['bucket'] == 'all':
            found.setdefault(row['function'], []).append((row['instances'], row['iterations'], row['open']))
    r = int(rounds)
    t.equal(sorted(found.get('lists', [])), sorted([(r, lists, 0), (lists, nodes, 0)]), f'{words}: loops that no register counts')
    t.equal(sorted(found.get('passed', [])), sorted([(r, lists, 0), (odd, odd_nodes, 0), (odd_nodes, 2 * odd_nodes, 0)]),
            f'{words}: three loops in each other, entered two at a time')
    t.equal(sorted(found.get('carried', [])), sorted([(r, 1000 * r, 0), (1000 * r, 3000 * r, 0)]), f'{words}: a loop that passes a flag on')
for budget in ('0', '101', 'much'):
    run = t.run('vprof', '--budget', budget, '--', app)
    t.check(run.returncode == 125 and '--budget takes' in run.stderr, f'--budget {budget} is refused', run.returncode, run.stderr)
t.done()

"""Code made at run time is named from the lists that its makers write, also after these are gone."""
import os
import shutil

from sonde_test import Test, sigma_of_share

PROGRAM = r'''
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* loop: dec rdi; jnz loop; ret */
static const unsigned char count_down[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
typedef void (*work_fn)(uint64_t n);

static double cpu_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Both processes put their code at one address, under different names. */
static void make_and_run(const char *first, const char *second, uint64_t n)
{
	unsigned char *code = mmap((void *)0x10000000000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	char path[64];
	FILE *list;

	memcpy(code, count_down, sizeof(count_down));
	memcpy(code + 64, count_down, sizeof(count_down));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	list = fopen(path, "w");
	fprintf(list, "%lx 6 %s\n%lx 6 %s\n", (long)code, first, (long)code + 64, second);
	fclose(list);
	double start = cpu_s(), middle;
	((work_fn)(void *)code)(2 * n);
	middle = cpu_s();
	((work_fn)(void *)(code + 64))(n);
	printf("%s %s %.6f %s %.6f\n", path, first, middle - start, second, cpu_s() - middle);
	fflush(stdout);
}

int main(void)
{
	pid_t child = fork();

	if (!child) {
		make_and_run("child_two", "child_one", 300000000);
		return 0;
	}
	waitpid(child, NULL, 0);
	make_and_run("parent_two", "parent_one", 600000000);
	return 0;
}
'''


def shares(t, experiment):
    rows = t.show('functions', '--all', experiment=experiment)['rows']
    found = {}
    for row in rows:
        if row['function'].startswith(('child', 'parent')):
            found[row['function']] = found.get(row['function'], 0) + row['exclusive_share']
    return found


def main():
    t = Test()
    app = t.compile(PROGRAM, '-O2', '-g', output='./app')
    done = t.run('record', '-o', 'made', app)
    rows = [line.split() for line in done.stdout.splitlines()]
    lists = [row[0] for row in rows]
    t.check(len(lists) == 2 and all(os.path.exists(p) for p in lists), 'two lists of names', done.stdout, done.stderr)
    found = shares(t, 'made')
    # as long as each took by its own clock: a core that is shared may run at half its speed for a while
    times = {name: float(cpu_s) for row in rows for name, cpu_s in zip(row[1::2], row[2::2])}
    samples = t.show('summary', experiment='made')['samples']
    for name, cpu_s in sorted(times.items()):
        want = cpu_s / sum(times.values())
        t.within(found.get(name), want, 5 * sigma_of_share(want, samples) + 0.015,
                 f'{name} has its share, though both processes use one address')
    for path in lists:
        os.unlink(path)
    shutil.copytree('made', 'elsewhere')
    t.equal(shares(t, 'elsewhere'), found, 'the names travel with the experiment')
    t.done()


main()

"""Code made at run time is named from the lists that its makers write, also after these are gone."""
import os
import shutil

from sonde_test import Test

PROGRAM = r'''
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* loop: dec rdi; jnz loop; ret */
static const unsigned char count_down[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
typedef void (*work_fn)(uint64_t n);

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
	((work_fn)(void *)code)(2 * n);
	((work_fn)(void *)(code + 64))(n);
	puts(path);
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
    lists = done.stdout.split()
    t.check(len(lists) == 2 and all(os.path.exists(p) for p in lists), 'two lists of names', done.stdout, done.stderr)
    found = shares(t, 'made')
    for name, want in (('parent_two', 4 / 9), ('parent_one', 2 / 9), ('child_two', 2 / 9), ('child_one', 1 / 9)):
        t.within(found.get(name), want, 0.06, f'{name} has its share, though both processes use one address')
    for path in lists:
        os.unlink(path)
    shutil.copytree('made', 'elsewhere')
    t.equal(shares(t, 'elsewhere'), found, 'the names travel with the experiment')
    t.done()


main()

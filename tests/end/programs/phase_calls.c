/* Each execution of step() works, and makes calls: "heap" allocates and releases 60,000 blocks, "io" writes 8 bytes to a file
 * 5,000 times. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone, noipa))

static volatile unsigned sink;
static int file;

KEPT static void work(void)
{
	unsigned x = sink;

	for (int i = 0; i < 4000000; i++)
		x = x * 1664525u + 1013904223u;
	sink = x;
}

KEPT static void churn(void)
{
	for (int i = 0; i < 60000; i++) {
		char *block = malloc(100 + i % 64);

		block[0] = (char)i;
		sink += (unsigned char)block[0];
		free(block);
	}
}

KEPT static void small(void)
{
	for (int i = 0; i < 5000; i++)
		if (write(file, "12345678", 8) != 8)
			exit(1);
}

KEPT void step(int is_heap)
{
	work();
	if (is_heap)
		churn();
	else
		small();
}

int main(int argc, char **argv)
{
	int is_heap = argc > 1 && !strcmp(argv[1], "heap");
	int rounds = argc > 2 ? atoi(argv[2]) : 100;

	file = open("written", O_CREAT | O_TRUNC | O_WRONLY, 0600);
	for (int i = 0; i < rounds; i++)
		step(is_heap);
	return 0;
}

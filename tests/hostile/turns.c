/* Arithmetic in registers and page faults in turns, three milliseconds or so each, for a second of CPU time: a tick that falls
 * into the arithmetic has faults behind it. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "burn.h"

__attribute__((noipa)) static void touch(void)
{
	enum { BYTES = 8 << 20, PAGE = 4096 };
	char *memory = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < BYTES; i += PAGE)
		memory[i] = 1;
	munmap(memory, BYTES);
}

__attribute__((noipa)) static double compute(void)
{
	double x = 1;

	for (int i = 0; i < 2000000; i++)
		x = x * 1.0000001 + 1e-9;
	return x;
}

int main(void)
{
	while (burn_cpu_s() < 1) {
		touch();
		burn_sink = compute();
	}
	burn(0.001);
	return 0;
}

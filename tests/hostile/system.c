/* Time in the kernel by three ways: read(), syscall() with another number, page faults. */
#define _GNU_SOURCE
#include "burn.h"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BYTES = 1 << 20 };
static char buffer[BYTES];

__attribute__((noipa)) static void reader(int fd)
{
	for (int i = 0; i < 10; i++)
		if (read(fd, buffer, BYTES) != BYTES)
			abort();
}

__attribute__((noipa)) static void by_number(int fd)
{
	for (int i = 0; i < 10; i++)
		if (syscall(SYS_pread64, fd, buffer, (size_t)BYTES, 0L) != BYTES)
			abort();
}

__attribute__((noipa)) static void toucher(void)
{
	char *memory =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < BYTES; i += 4096)
		memory[i] = 1;
	if (munmap(memory, BYTES) != 0)
		abort();
}

int main(void)
{
	int fd = open("/dev/zero", O_RDONLY);

	for (double end = burn_cpu_s() + 1.5; burn_cpu_s() < end;) {
		reader(fd);
		by_number(fd);
		toucher();
	}
	return 0;
}

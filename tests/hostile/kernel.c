/* Half of its time in the kernel. */
#include "burn.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static char room[1 << 16];

__attribute__((noinline)) static void in_kernel(void)
{
	int fd = open("/dev/zero", O_RDONLY);

	for (int i = 0; i < 100; i++)
		if (read(fd, room, sizeof room) < 0)
			printf("cannot read\n");
	close(fd);
}

int main(void)
{
	double system_s = 0, end = burn_cpu_s() + 2.0;
	struct rusage usage;

	while (burn_cpu_s() < end) {
		double before = burn_cpu_s();
		in_kernel();
		system_s = burn_cpu_s() - before;
		burn(system_s);
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("done\n");
	return 0;
}

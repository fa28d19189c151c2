/* A perf event that looks like one of ours and signals every 30 us: for the runtime, one that it
 * has lost. */
#include "burn.h"
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int count, char **words)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof attr,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = 30000,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.sigtrap = 1,
		.remove_on_exec = 1,
		.sig_data = count > 1 ? strtoull(words[1], NULL, 0) : 0,
	};

	burn(0.05);
	long fd = attr.sig_data ? syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) : -1;
	burn(0.1);
	if (fd >= 0)
		close((int)fd);
	burn(0.3);
	puts("done");
	return 0;
}

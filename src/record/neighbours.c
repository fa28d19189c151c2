/* What the machine is and does, from /proc. */
#include "record/neighbours.h"

#include <string.h>
#include <stdio.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/text.h"

enum { IDLE = 3, IOWAIT = 4, FIELDS = 8 }; /* user nice system idle iowait irq softirq steal */

struct sn_machine_time sn_machine_time_now(void)
{
	struct sn_machine_time now = { 0 };
	FILE *in = fopen("/proc/stat", "re");
	long long ticks;
	int field = 0;

	if (!in)
		return now;
	if (fscanf(in, "cpu") == EOF)
		field = 0;
	for (; field < FIELDS && fscanf(in, "%lld", &ticks) == 1; field++) {
		now.whole_ns += ticks * (1000000000 / sysconf(_SC_CLK_TCK));
		if (field != IDLE && field != IOWAIT)
			now.busy_ns += ticks * (1000000000 / sysconf(_SC_CLK_TCK));
	}
	fclose(in);
	now.is_known = field == FIELDS;
	return now;
}

double sn_machine_others_share(struct sn_machine_time from, struct sn_machine_time to,
			       int64_t own_ns)
{
	int64_t whole_ns = to.whole_ns - from.whole_ns;
	double share;

	if (!from.is_known || !to.is_known || whole_ns <= 0)
		return -1;
	share = (double)(to.busy_ns - from.busy_ns - own_ns) / (double)whole_ns;
	return share < 0 ? 0 : share > 1 ? 1 : share; /* ticks are coarse */
}

const char *sn_machine_cpu_model(struct sn_arena *arena)
{
	FILE *in = fopen("/proc/cpuinfo", "re");
	char line[512];
	const char *model = "";

	while (in && !*model && fgets(line, sizeof(line), in)) {
		char *colon = strchr(line, ':');

		if (sn_starts_with(line, "model name") && colon) {
			colon[strcspn(colon, "\n")] = '\0';
			model = sn_arena_strdup(arena, colon[1] ? colon + 2 : "");
		}
	}
	if (in)
		fclose(in);
	return model;
}

/*
 * What the command itself used after the program's end, into the launch file: it was written before
 * the code and the symbols were kept, which is most of the cost of a short recording.
 */
#include <unistd.h>

#include "base/text.h"
#include "experiment/launch.h"
#include "record/cost.h"
#include "record/record.h"

void sn_record_cost_add(const char *experiment_path)
{
	struct sn_launch launch;
	struct sn_text path = { 0 };
	char host[256] = "";
	struct sn_error err;

	gethostname(host, sizeof(host) - 1); /* as it was named */
	sn_text_addf(&path, "%s/launch.%s.%d.json", experiment_path, host, getpid());
	if (!access(path.chars, R_OK) && sn_launch_read(path.chars, &launch, &err) == SN_OK) {
		if (launch.own_cpu_ns >= 0) {
			launch.own_cpu_ns += sn_cost_of_us_ns(true);
			if (sn_launch_write(&launch, experiment_path, &err) != SN_OK)
				sn_error_print(&err);
		}
		sn_launch_free(&launch);
	}
	sn_text_free(&path);
}

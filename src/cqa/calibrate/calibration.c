/* Measures memory and core of this machine in turns, as other programs on it come and go. */
#include "cqa/calibrate/calibration.h"

#include <string.h>

#include "base/progress.h"
#include "cqa/calibrate/measure_core.h"

enum { MEMORY_MEASUREMENTS = 4 }; /* (chosen) */

static const uint64_t BUDGET_NS = 100000000000; /* memory is not measured once more after that */

static sn_status measure_memory(struct sn_calibration *c, size_t count, struct sn_error *err)
{
	sn_status status = SN_OK;

	while (count-- && !status) {
		status = sn_memory_measure(&c->measured[c->measured_count], err);
		c->measured_count += !status;
	}
	if (!status)
		c->memory_settled = sn_memory_profile_settle(c->measured, c->measured_count,
							     c->has_older ? &c->older_memory : NULL,
							     &c->memory);
	return status;
}

void sn_calibration_read_older(struct sn_calibration *c, const char *path, const char *processor)
{
	struct sn_error none;

	c->has_older = !sn_memory_profile_read(path, &c->older_memory, &none) && processor &&
		       strcmp(c->older_memory.machine, processor) == 0;
	if (c->has_older)
		sn_core_profile_read(path, &c->older_core);
}

/* Memory is measured before and after the core's half minute, and more often while figures are not
 * stable. */
sn_status sn_calibration_measure(struct sn_calibration *c, const struct sn_machine *machine,
				 const char *path, struct sn_error *err)
{
	uint64_t begin_ns = sn_now_ns();
	const char *processor = sn_machine_processor_name();
	sn_status status;

	sn_calibration_read_older(c, path, processor);
	status = measure_memory(c, MEMORY_MEASUREMENTS / 2, err);
	if (!status && processor)
		status =
			sn_calibrate_core(machine, &c->older_core, &c->core, &c->core_settled, err);
	if (!status)
		status = measure_memory(c, MEMORY_MEASUREMENTS / 2, err);
	while (!status && c->memory_settled.unstable &&
	       c->measured_count < SN_MEMORY_MEASUREMENTS_MAX && sn_now_ns() - begin_ns < BUDGET_NS)
		status = measure_memory(c, 1, err);
	return status;
}

void sn_calibration_free(struct sn_calibration *c)
{
	sn_core_profile_free(&c->core);
	sn_core_profile_free(&c->older_core);
}

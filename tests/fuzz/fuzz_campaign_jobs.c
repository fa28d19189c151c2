/* Templates of jobs, what squeue prints and what jobs report: any bytes give a script, rows, an end, or one sentence. */
#include <stdint.h>
#include <stdlib.h>

#include "campaign/jobs.h"
#include "campaign/queue.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	const char *chars = (const char *)bytes;
	struct sn_job_size size = { .ranks = 2, .threads = 1, .time_s = 60 };
	struct sn_queue_rows rows = { 0 };
	struct sn_arena arena = { 0 };
	struct sn_text script = { 0 };
	struct sn_job_report report;
	struct sn_error err = { 0 };

	if (sn_job_script(chars, length, "t", &size, "c", &script, &err) != SN_OK &&
	    !err.sentence[0])
		abort();
	sn_queue_read(chars, length, &arena, &rows);
	for (size_t i = 0; i < rows.items.count; i++)
		if (!sn_queue_find(&rows, rows.items.items[i].script))
			abort();
	if (sn_job_report_read(chars, length, &report) &&
	    (report.exit_status < 0 || report.exit_status > 255))
		abort();
	sn_queue_end_in(chars, length);
	sn_text_free(&script);
	sn_vec_free(&rows.items);
	sn_arena_free(&arena);
	return 0;
}

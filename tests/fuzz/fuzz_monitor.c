/* A segment of which a process wrote whatever it likes, as the agent sees it. */
#include <stdlib.h>
#include <string.h>

#include "search/monitor/mri.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct sn_monitor *m = calloc(1, sizeof(*m));
	struct sn_mri mri = { 0 };
	struct sn_mri_window window;
	bool is_found;

	if (!m)
		return 0;
	memcpy(m, bytes, length < sizeof(*m) ? length : sizeof(*m));
	sn_vec_push(&mri.processes, (struct sn_mri_process){ .m = m, .pid = m->pid });
	mri.number = m->wanted;
	sn_mri_ended(&mri, &is_found);
	sn_mri_mean_s(&mri);
	sn_mri_measure(&mri, 3, 0);
	sn_mri_is_measured(&mri);
	m->done = mri.number;
	mri.processes.items[0].takes_part = true;
	memcpy(m->tables, bytes, length < sizeof(m->tables) ? length : sizeof(m->tables));
	for (uint32_t i = 0; i < SN_MONITOR_THREADS_MAX; i += 7)
		m->slabs[i].generation = mri.number;
	if (sn_mri_fetch(&mri, &window))
		sn_mri_window_free(&window);
	sn_vec_free(&mri.processes);
	free(m);
	return 0;
}

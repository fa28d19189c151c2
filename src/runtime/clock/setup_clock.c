/* The clock at the start of an image. */
#include "runtime/clock/clock.h"

#include <elf.h>
#include <sys/auxv.h>

#include "runtime/core/signals.h"

/* A stack of one frame: the loader's entry. Where in the loader is not known. */
static uint32_t loader_stack(struct sn_thread *self, int64_t now_ns)
{
	const Elf64_Ehdr *loader = (const void *)getauxval(AT_BASE);
	uint64_t entry;

	if (!loader)
		return 0;
	entry = (uint64_t)loader + loader->e_entry;
	return sn_stack_intern(&self->writer, &entry, 1, SN_STACK_COMPLETE, 0, now_ns);
}

bool sn_clock_install(enum sn_data_origin origin)
{
	int64_t now_ns = sn_now_ns();

	sn_events_forget_ended();
	/* without a clock, too: the target's own handlers of these signals are called by ours */
	if (!sn_signals_install(sn_sample_handler))
		return false;
	/* what the exec and the loader used before us */
	if (origin == SN_DATA_ORIGIN_EXEC && sn_config.settings.period_ns)
		sn_sample_remainder(sn_self, &sn_self->writer, now_ns,
				    loader_stack(sn_self, now_ns));
	return true;
}

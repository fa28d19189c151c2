/* Looks call paths of traces up by their numbers. */
#include "profile/trace_sites.h"

bool sn_trace_stack_of(const struct sn_program *program, uint32_t process, uint32_t path,
		       uint32_t *stack)
{
	const struct sn_experiment *e = program->experiment;
	size_t low = 0, high = e->trace_paths.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct sn_trace_path *p = &e->trace_paths.items[middle];

		if (p->process < process || (p->process == process && p->id < path))
			low = middle + 1;
		else
			high = middle;
	}
	if (!path || low == e->trace_paths.count || e->trace_paths.items[low].process != process ||
	    e->trace_paths.items[low].id != path)
		return false;
	*stack = e->trace_paths.items[low].stack;
	return true;
}

struct sn_site sn_trace_site_of(struct sn_trace_sites *sites, const struct sn_program *program,
				uint32_t process, uint32_t path)
{
	uint32_t stack;
	uint64_t *place;

	if (!sn_trace_stack_of(program, process, path, &stack))
		return (struct sn_site){ SN_NONE, SN_NONE };
	place = sn_map_put(&sites->index, stack, NULL);
	if (!*place) {
		sn_vec_push(&sites->sites, sn_site_of(program, stack));
		*place = sites->sites.count;
	}
	return sites->sites.items[*place - 1];
}

void sn_trace_sites_free(struct sn_trace_sites *sites)
{
	sn_map_free(&sites->index);
	sn_vec_free(&sites->sites);
}

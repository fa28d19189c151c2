/* Where the program called MPI. Wrappers of the library's own (Fortran's, C++'s) are not the program. */
#include "mpi/sites.h"

#include <assert.h>
#include <string.h>

#include "base/map.h"

static bool is_of_library(const struct sn_program *program, uint32_t module)
{
	enum sn_module_class class =
		module == SN_NONE ? SN_MODULE_CLASS_OTHER : program->module_classes[module];

	return class == SN_MODULE_CLASS_MPI || class == SN_MODULE_CLASS_SONDE ||
	       class == SN_MODULE_CLASS_LOADER || class == SN_MODULE_CLASS_LIBC ||
	       class == SN_MODULE_CLASS_KERNEL;
}

struct sn_mpi_site sn_mpi_site_of(const struct sn_program *program, uint32_t stack)
{
	struct sn_mpi_site site = { SN_NONE, SN_NONE };

	if (stack == SN_NONE)
		return site;
	for (size_t f = program->first_frame[stack]; f < program->first_frame[stack + 1]; f++) {
		const struct sn_program_place *place =
			&program->places.items[program->frame_places[f]];

		if (is_of_library(program, place->module))
			continue;
		for (uint32_t s = place->step_count; s-- > 0;) {
			const struct sn_step *step = &program->steps.items[place->first_step + s];

			if (step->kind == SN_STEP_FUNCTION)
				return (struct sn_mpi_site){ step->index, step->line };
		}
	}
	return site;
}

/* What only starts the program is no caller. */
static bool is_start(const char *name)
{
	return !strcmp(name, "_start") || !strcmp(name, "__libc_start_main") ||
	       !strcmp(name, "__libc_start_call_main");
}

void sn_mpi_path_add(struct sn_text *text, const struct sn_program *program, uint32_t stack)
{
	const char *before = "";

	if (stack == SN_NONE)
		return;
	for (size_t f = program->first_frame[stack + 1]; f-- > program->first_frame[stack];) {
		const struct sn_program_place *place =
			&program->places.items[program->frame_places[f]];

		for (uint32_t s = 0;
		     s < place->step_count && !is_of_library(program, place->module); s++) {
			const struct sn_step *step = &program->steps.items[place->first_step + s];
			const char *name = step->kind == SN_STEP_FUNCTION
						   ? program->functions.items[step->index].name
						   : "_start";

			if (is_start(name))
				continue;
			sn_text_addf(text, "%s%s", before, name);
			before = " / ";
		}
	}
}

static uint64_t sum_key(const struct sn_mpi_event *event, struct sn_mpi_site site)
{
	return sn_hash_u64((uint64_t)site.function << 32 | site.line) ^
	       sn_hash_u64((uint64_t)event->process << 32 | (uint64_t)event->function << 8 |
			   event->wait) *
		       3;
}

static void sum_add(struct sn_mpi_wait_sum *sum, const struct sn_program *program,
		    const struct sn_mpi *mpi, const struct sn_mpi_event *event)
{
	sum->count++;
	sum->wait_ns += event->wait_ns;
	if (event->wait_ns <= sum->longest_ns)
		return;
	sum->longest_ns = event->wait_ns;
	sum->for_process = SN_NONE;
	if (event->waited_for != SN_NONE) {
		const struct sn_mpi_event *other = &mpi->events.items[event->waited_for];

		sum->for_process = other->process;
		sum->for_site = sn_mpi_site_of(program, other->stack);
	}
}

struct sn_mpi_wait_sums sn_mpi_wait_sums_of(const struct sn_program *program,
					    const struct sn_mpi *mpi)
{
	struct sn_mpi_wait_sums sums = { 0 };
	struct sn_map index = { 0 };

	for (size_t i = 0; i < mpi->events.count; i++) {
		const struct sn_mpi_event *event = &mpi->events.items[i];
		struct sn_mpi_site site;
		uint64_t *place;

		if (!event->wait)
			continue;
		site = sn_mpi_site_of(program, event->stack);
		place = sn_map_put(&index, sum_key(event, site), NULL);
		if (!*place) {
			sn_vec_push(&sums.items,
				    (struct sn_mpi_wait_sum){ .process = event->process,
							      .kind = event->wait,
							      .site = site,
							      .function = event->function,
							      .for_process = SN_NONE });
			*place = sums.items.count;
		}
		assert(sums.items.items && *place <= sums.items.count);
		sum_add(&sums.items.items[*place - 1], program, mpi, event);
	}
	sn_map_free(&index);
	return sums;
}

/*
 * Tells what a thread does in a runtime. libgomp is stripped and leaves by tail calls, so its entry
 * point is often not on the stack: then the target of the call in front of the return address in
 * the program's own code tells the construct.
 */
#include "search/evidence/activity.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "profile/outlined.h"

struct word {
	const char *part; /* of the name */
	enum sn_activity activity;
};

/* In this order: the first that is part of the name decides. */
static const struct word openmp_words[] = {
	{ "critical", SN_ACTIVITY_OMP_CRITICAL },
	{ "atomic", SN_ACTIVITY_OMP_CRITICAL },
	{ "reduce", SN_ACTIVITY_OMP_JOIN },
	{ "ordered", SN_ACTIVITY_OMP_ORDERED },
	{ "doacross", SN_ACTIVITY_OMP_ORDERED },
	{ "lock", SN_ACTIVITY_OMP_LOCK },
	{ "task", SN_ACTIVITY_OMP_TASK },
	{ "GOMP_barrier", SN_ACTIVITY_OMP_BARRIER },
	{ "kmpc_barrier", SN_ACTIVITY_OMP_BARRIER },
	{ "fork_call", SN_ACTIVITY_OMP_JOIN },
	{ "parallel", SN_ACTIVITY_OMP_JOIN },
	{ "_end", SN_ACTIVITY_OMP_JOIN },
	{ "fini", SN_ACTIVITY_OMP_JOIN },
};

static const struct word mpi_words[] = {
	{ "ibarrier", SN_ACTIVITY_MPI_OTHER },	   { "barrier", SN_ACTIVITY_MPI_BARRIER },
	{ "allreduce", SN_ACTIVITY_MPI_NXN },	   { "allgather", SN_ACTIVITY_MPI_NXN },
	{ "alltoall", SN_ACTIVITY_MPI_NXN },	   { "reduce_scatter", SN_ACTIVITY_MPI_NXN },
	{ "reduce_local", SN_ACTIVITY_MPI_OTHER }, { "reduce", SN_ACTIVITY_MPI_REDUCE },
	{ "gather", SN_ACTIVITY_MPI_REDUCE },	   { "bcast", SN_ACTIVITY_MPI_BROADCAST },
	{ "scatter", SN_ACTIVITY_MPI_BROADCAST },  { "test", SN_ACTIVITY_MPI_POLL },
	{ "probe", SN_ACTIVITY_MPI_POLL },	   { "send", SN_ACTIVITY_MPI_POINT },
	{ "recv", SN_ACTIVITY_MPI_POINT },	   { "wait", SN_ACTIVITY_MPI_POINT },
	{ "scan", SN_ACTIVITY_MPI_SCAN },
};

enum sn_activity sn_activity_of_openmp(const char *name)
{
	for (size_t i = 0; i < sizeof(openmp_words) / sizeof(*openmp_words); i++)
		if (strstr(name, openmp_words[i].part))
			return openmp_words[i].activity;
	return SN_ACTIVITY_OMP_OTHER;
}

enum sn_activity sn_activity_of_mpi(const char *name)
{
	for (size_t i = 0; i < sizeof(mpi_words) / sizeof(*mpi_words); i++)
		if (strcasestr(name, mpi_words[i].part))
			return mpi_words[i].activity;
	return SN_ACTIVITY_MPI_OTHER;
}

static enum sn_module_class class_at(const struct sn_program *program,
				     const struct sn_program_place *place)
{
	return program->module_classes[place->module == SN_NONE ? program->experiment->modules.count
								: place->module];
}

static bool is_of_program(enum sn_module_class class)
{
	return class == SN_MODULE_CLASS_BINARY || class == SN_MODULE_CLASS_LIBRARY;
}

const char *sn_place_called(struct sn_structures *structures, const struct sn_program_place *place)
{
	struct sn_structure *structure = structures && place->module != SN_NONE
						 ? sn_structures_of(structures, place->module)
						 : NULL;

	return structure ? sn_called_name(structure, place->link_addr) : NULL;
}

bool sn_starts_parallel(const struct sn_program *program, struct sn_structures *structures,
			const struct sn_program_place *place)
{
	const char *name =
		is_of_program(class_at(program, place)) ? sn_place_called(structures, place) : NULL;

	return name && sn_is_parallel_start(name);
}

/* The frame that entered the runtime of this class: its own outermost function is frame *entry, the
 * caller's frame the next. False: none on the stack. */
static bool runtime_entry(const struct sn_program *program, uint32_t stack,
			  enum sn_module_class class, size_t *entry)
{
	bool is_inside = false;

	for (size_t i = program->first_frame[stack]; i < program->first_frame[stack + 1]; i++) {
		const struct sn_program_place *place =
			&program->places.items[program->frame_places[i]];

		if (class_at(program, place) == class) {
			is_inside = true;
			*entry = i;
		} else if (is_inside) {
			return true;
		}
	}
	return is_inside;
}

static enum sn_activity openmp_activity(const struct sn_program *program,
					struct sn_structures *structures, uint32_t stack)
{
	const struct sn_program_place *place;
	const char *name = NULL;
	size_t entry = 0, end = program->first_frame[stack + 1];

	if (!runtime_entry(program, stack, SN_MODULE_CLASS_OPENMP, &entry))
		return SN_ACTIVITY_OMP_OTHER;
	place = &program->places.items[program->frame_places[entry]];
	if (entry + 1 >= end ||
	    !is_of_program(
		    class_at(program, &program->places.items[program->frame_places[entry + 1]])))
		return SN_ACTIVITY_OMP_IDLE;
	if (program->functions.items[place->function].is_named)
		name = program->functions.items[place->function].linkage_name;
	if (!name || sn_activity_of_openmp(name) == SN_ACTIVITY_OMP_OTHER)
		name = sn_place_called(structures,
				       &program->places.items[program->frame_places[entry + 1]]);
	if (name && sn_starts_with(name, "omp_get_"))
		return SN_ACTIVITY_WORK; /* who only asks waits for nobody */
	/* what is stripped and not called directly: the end of a region, the most common */
	return name ? sn_activity_of_openmp(name) : SN_ACTIVITY_OMP_JOIN;
}

static const char *linkage_name_at(const struct sn_program *program, size_t frame)
{
	uint32_t function = program->places.items[program->frame_places[frame]].function;

	return program->functions.items[function].linkage_name;
}

/* MPI's own threads call no function of its interface. What Fortran calls may have a name of the library's own (ompi_barrier_f),
 * and calls the function of C then: the outermost that has its name tells. */
static enum sn_activity mpi_activity(const struct sn_program *program, uint32_t stack)
{
	size_t entry;

	if (!runtime_entry(program, stack, SN_MODULE_CLASS_MPI, &entry))
		return SN_ACTIVITY_RUNTIME;
	for (size_t i = entry + 1; i-- > program->first_frame[stack];) {
		const char *name = linkage_name_at(program, i);

		name += *name == 'p' || *name == 'P';
		if (sn_starts_with(name, "MPI_") || sn_starts_with(name, "mpi_"))
			return sn_activity_of_mpi(name);
	}
	return SN_ACTIVITY_RUNTIME;
}

/* Whether an MPI library started the thread: behind the C library's start its code is outermost. */
static bool is_thread_of_mpi(const struct sn_program *program, uint32_t stack)
{
	for (size_t i = program->first_frame[stack + 1]; i-- > program->first_frame[stack];) {
		enum sn_module_class class =
			class_at(program, &program->places.items[program->frame_places[i]]);

		if (class != SN_MODULE_CLASS_LIBC)
			return class == SN_MODULE_CLASS_MPI;
	}
	return false;
}

/* Whether all its code is ours: who has nothing but our wrapper's code runs no line of the program's. */
static bool is_of_sonde(const struct sn_program *program, uint32_t stack)
{
	bool is_ours = false;

	for (size_t i = program->first_frame[stack]; i < program->first_frame[stack + 1]; i++) {
		enum sn_module_class class =
			class_at(program, &program->places.items[program->frame_places[i]]);

		if (class != SN_MODULE_CLASS_SONDE && class != SN_MODULE_CLASS_LIBC)
			return false;
		is_ours |= class == SN_MODULE_CLASS_SONDE;
	}
	return is_ours;
}

enum sn_activity sn_activity_of(const struct sn_program *program, struct sn_structures *structures,
				uint32_t stack)
{
	const struct sn_class *class = &program->classes[stack];

	if (stack >= program->stack_count)
		return SN_ACTIVITY_WORK;
	if (is_thread_of_mpi(program, stack) || is_of_sonde(program, stack))
		return SN_ACTIVITY_RUNTIME;
	if (class->user == SN_CATEGORY_MPI)
		return mpi_activity(program, stack);
	if (class->user == SN_CATEGORY_OPENMP)
		return openmp_activity(program, structures, stack);
	return class->is_spin ? SN_ACTIVITY_SPIN : SN_ACTIVITY_WORK;
}

/* What events of an OTF2 trace refer to: clock, machine, processes, threads, regions, communicators. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "exchange/otf2_parts.h"

enum { GROUP_OF_WORLDS = 0, FIRST_GROUP = 1 };

struct writer {
	struct sn_otf2_trace *trace;
	const struct sn_otf2 *otf2;
	OTF2_GlobalDefWriter *out;
	OTF2_ErrorCode code;
	OTF2_StringRef strings; /* how many there are; 0 is the empty one */
	struct sn_map string_of;
};

static void keep(struct writer *w, OTF2_ErrorCode code)
{
	if (w->code == OTF2_SUCCESS)
		w->code = code;
}

static OTF2_StringRef string(struct writer *w, const char *text)
{
	bool is_new;
	uint64_t *place;

	if (!text)
		text = "";
	place = sn_map_put(&w->string_of, sn_hash_bytes(text, strlen(text)), &is_new);
	if (is_new) {
		*place = w->strings++;
		keep(w, w->otf2->GlobalDefWriter_WriteString(w->out, (OTF2_StringRef)*place, text));
	}
	return (OTF2_StringRef)*place;
}

__attribute__((format(printf, 2, 3))) static OTF2_StringRef words(struct writer *w,
								  const char *format, ...)
{
	struct sn_text text = { 0 };
	OTF2_StringRef reference;
	va_list arguments;

	va_start(arguments, format);
	sn_text_addv(&text, format, arguments);
	va_end(arguments);
	reference = string(w, text.chars);
	sn_text_free(&text);
	return reference;
}

static void clock_write(struct writer *w)
{
	const struct sn_otf2_trace *t = w->trace;
	uint64_t offset = (uint64_t)t->bias_ns;
	int64_t real_ns = t->profile->experiment->started_realtime_ns;

	keep(w, w->otf2->GlobalDefWriter_WriteClockProperties(
			w->out, 1000000000, offset, t->last_ns > offset ? t->last_ns - offset : 0,
			real_ns > 0 ? (uint64_t)real_ns : OTF2_UNDEFINED_TIMESTAMP));
}

/* The machine, its hosts, their processes, and the threads of these. */
static void places_write(struct writer *w)
{
	const struct sn_otf2_trace *t = w->trace;
	const struct sn_experiment *e = t->profile->experiment;
	struct sn_map hosts = { 0 };

	keep(w, w->otf2->GlobalDefWriter_WriteSystemTreeNode(w->out, 0, string(w, e->name),
							     string(w, "machine"),
							     OTF2_UNDEFINED_SYSTEM_TREE_NODE));
	keep(w, w->otf2->GlobalDefWriter_WriteSystemTreeNodeDomain(
			w->out, 0, OTF2_SYSTEM_TREE_DOMAIN_MACHINE));
	for (size_t p = 0; p < e->processes.count; p++) {
		const struct sn_process *process = &e->processes.items[p];
		const char *host = process->host ? process->host : "";
		const char *program = process->program ? process->program : "";
		const char *slash = strrchr(program, '/');
		bool is_new;
		uint64_t *node = sn_map_put(&hosts, sn_hash_bytes(host, strlen(host)), &is_new);
		OTF2_SystemTreeNodeRef reference;
		OTF2_StringRef name;

		if (is_new)
			*node = hosts.count;
		reference = (OTF2_SystemTreeNodeRef)*node;
		if (is_new) {
			keep(w, w->otf2->GlobalDefWriter_WriteSystemTreeNode(
					w->out, reference, string(w, host), string(w, "node"), 0));
			keep(w, w->otf2->GlobalDefWriter_WriteSystemTreeNodeDomain(
					w->out, reference, OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY));
		}
		name = t->mpi->ranks[p] >= 0 ? words(w, "MPI Rank %" PRIi32, t->mpi->ranks[p])
					     : words(w, "%s (%" PRIi32 ")",
						     slash ? slash + 1 : program, process->pid);
		keep(w, w->otf2->GlobalDefWriter_WriteLocationGroup(
				w->out, (OTF2_LocationGroupRef)p, name,
				OTF2_LOCATION_GROUP_TYPE_PROCESS, reference,
				OTF2_UNDEFINED_LOCATION_GROUP));
	}
	sn_map_free(&hosts);
	for (size_t i = 0; i < e->threads.count; i++) {
		const struct sn_thread *thread = &e->threads.items[i];
		OTF2_StringRef name =
			thread->name && thread->name[0]
				? words(w, "%s (%" PRIi32 ")", thread->name, thread->tid)
				: words(w, "thread %" PRIi32, thread->tid);

		keep(w, w->otf2->GlobalDefWriter_WriteLocation(
				w->out, i, name, OTF2_LOCATION_TYPE_CPU_THREAD, t->event_counts[i],
				thread->process));
	}
}

static OTF2_RegionRole role_of(uint32_t function)
{
	enum sn_mpi_meaning meaning = sn_mpi_function_meaning(function);

	switch (meaning) {
	case SN_MPI_MEANS_BARRIER:
		return OTF2_REGION_ROLE_BARRIER;
	case SN_MPI_MEANS_BCAST:
	case SN_MPI_MEANS_SCATTER:
	case SN_MPI_MEANS_SCATTERV:
		return OTF2_REGION_ROLE_COLL_ONE2ALL;
	case SN_MPI_MEANS_GATHER:
	case SN_MPI_MEANS_GATHERV:
	case SN_MPI_MEANS_REDUCE:
		return OTF2_REGION_ROLE_COLL_ALL2ONE;
	case SN_MPI_MEANS_PUT:
	case SN_MPI_MEANS_GET:
	case SN_MPI_MEANS_GET_ACCUMULATE:
	case SN_MPI_MEANS_FETCH_AND_OP:
	case SN_MPI_MEANS_COMPARE_AND_SWAP:
	case SN_MPI_MEANS_WIN_FENCE:
		return OTF2_REGION_ROLE_RMA;
	case SN_MPI_MEANS_FILE_READ:
	case SN_MPI_MEANS_FILE_READ_AT:
	case SN_MPI_MEANS_FILE_WRITE:
	case SN_MPI_MEANS_FILE_WRITE_AT:
		return OTF2_REGION_ROLE_FILE_IO;
	default:
		if (meaning >= SN_MPI_MEANS_SEND && meaning <= SN_MPI_MEANS_IMRECV)
			return OTF2_REGION_ROLE_POINT2POINT;
		if (meaning >= SN_MPI_MEANS_ALLGATHER && meaning < SN_MPI_MEANS_NEIGHBOR_ALLGATHER)
			return meaning == SN_MPI_MEANS_SCAN ? OTF2_REGION_ROLE_COLL_OTHER
							    : OTF2_REGION_ROLE_COLL_ALL2ALL;
		if (meaning >= SN_MPI_MEANS_NEIGHBOR_ALLGATHER && meaning <= SN_MPI_MEANS_COMM_FREE)
			return OTF2_REGION_ROLE_COLL_OTHER;
		return OTF2_REGION_ROLE_FUNCTION;
	}
}

static void region_write(struct writer *w, OTF2_RegionRef reference, uint32_t frame)
{
	const struct sn_program *program = w->trace->profile->program;
	const struct sn_program_function *function;
	OTF2_StringRef name, file;

	if (frame >= sn_frame_count(program)) {
		uint32_t number = frame - sn_frame_count(program);

		name = string(w, sn_mpi_function_name(number));
		keep(w, w->otf2->GlobalDefWriter_WriteRegion(
				w->out, reference, name, name, string(w, ""), role_of(number),
				OTF2_PARADIGM_MPI, OTF2_REGION_FLAG_NONE, string(w, ""), 0, 0));
	} else if (sn_frame_is_loop(program, frame)) {
		const struct sn_loop *code =
			program->loops.items[frame - program->functions.count].code;
		char room[512];

		name = string(w, sn_frame_name(program, frame, room));
		keep(w, w->otf2->GlobalDefWriter_WriteRegion(
				w->out, reference, name, name, string(w, ""), OTF2_REGION_ROLE_LOOP,
				OTF2_PARADIGM_SAMPLING, OTF2_REGION_FLAG_NONE,
				string(w, code->file), code->line_first, code->line_last));
	} else {
		function = &program->functions.items[frame];
		name = string(w, function->name);
		file = string(w, function->file);
		keep(w, w->otf2->GlobalDefWriter_WriteRegion(
				w->out, reference, name, string(w, function->linkage_name),
				string(w, sn_program_module_name(program, function->module)),
				OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_SAMPLING,
				OTF2_REGION_FLAG_NONE, file, function->line, 0));
	}
}

/* ---- communicators ---- */

/* Where each world's ranks begin among all ranks of all worlds: an array of world_count + 1. */
static uint64_t *worlds_place(const struct sn_otf2_trace *t)
{
	size_t count = t->profile->experiment->processes.count;
	uint64_t *firsts = sn_alloc_zeroed(t->world_count + 1, sizeof(*firsts));

	for (size_t p = 0; p < count; p++) {
		uint32_t world = t->mpi->worlds[p];
		uint64_t ranks = t->mpi->ranks[p] < 0 ? 0 : (uint64_t)t->mpi->ranks[p] + 1;

		if (world != SN_NONE && firsts[world + 1] < ranks)
			firsts[world + 1] = ranks;
	}
	for (uint32_t c = 0; c < t->mpi->comms.count; c++) { /* ranks that died unheard, too */
		const struct sn_mpi_comm_of *comm = &t->mpi->comms.items[c];
		uint32_t world = t->comm_worlds[c];

		for (uint32_t r = 0; r < comm->size; r++)
			if (comm->ranks[r] >= 0 && firsts[world + 1] <= (uint32_t)comm->ranks[r])
				firsts[world + 1] = (uint64_t)comm->ranks[r] + 1;
	}
	for (uint32_t w = 0; w < t->world_count; w++)
		firsts[w + 1] += firsts[w];
	return firsts;
}

/* The first thread of every rank, which stands for the rank. */
static void ranks_write(struct writer *w, const uint64_t *firsts)
{
	const struct sn_otf2_trace *t = w->trace;
	const struct sn_experiment *e = t->profile->experiment;
	uint64_t count = firsts[t->world_count];
	uint64_t *members = sn_alloc_zeroed(count + 1, sizeof(*members));

	for (uint64_t r = 0; r < count; r++)
		members[r] = OTF2_UNDEFINED_LOCATION;
	for (size_t i = e->threads.count; i-- > 0;) {
		uint32_t p = e->threads.items[i].process;

		if (t->mpi->ranks[p] >= 0 && t->mpi->worlds[p] != SN_NONE)
			members[firsts[t->mpi->worlds[p]] + (uint64_t)t->mpi->ranks[p]] = i;
	}
	keep(w, w->otf2->GlobalDefWriter_WriteGroup(
			w->out, GROUP_OF_WORLDS, string(w, ""), OTF2_GROUP_TYPE_COMM_LOCATIONS,
			OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, (uint32_t)count, members));
	free(members);
}

static void comm_write(struct writer *w, OTF2_CommRef reference, OTF2_StringRef name,
		       const uint64_t *members, uint32_t count, OTF2_CommRef parent)
{
	OTF2_GroupRef group = FIRST_GROUP + reference;

	keep(w, w->otf2->GlobalDefWriter_WriteGroup(w->out, group, string(w, ""),
						    OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
						    OTF2_GROUP_FLAG_NONE, count, members));
	keep(w, w->otf2->GlobalDefWriter_WriteComm(w->out, reference, name, group, parent,
						   OTF2_COMM_FLAG_NONE));
}

static void comms_write(struct writer *w)
{
	const struct sn_otf2_trace *t = w->trace;
	uint64_t *firsts = worlds_place(t);
	uint64_t *members = sn_alloc_zeroed(firsts[t->world_count] + 1, sizeof(*members));

	ranks_write(w, firsts);
	for (uint32_t world = 0; world < t->world_count; world++) {
		uint64_t size = firsts[world + 1] - firsts[world];

		for (uint64_t r = 0; r < size; r++)
			members[r] = firsts[world] + r;
		comm_write(w, world, string(w, "MPI_COMM_WORLD"), members, (uint32_t)size,
			   OTF2_UNDEFINED_COMM);
	}
	for (uint32_t c = 0; c < t->mpi->comms.count; c++) {
		const struct sn_mpi_comm_of *comm = &t->mpi->comms.items[c];
		uint32_t world = t->comm_worlds[c], count = 0;

		if (t->comm_references[c] == world)
			continue;
		for (uint32_t r = 0; r < comm->size; r++)
			if (comm->ranks[r] >= 0)
				members[count++] = firsts[world] + (uint64_t)comm->ranks[r];
		comm_write(w, t->comm_references[c], words(w, "communicator %" PRIu32, c), members,
			   count, world);
	}
	free(members);
	free(firsts);
}

/* ---- each thread's own ---- */

/* Times are those of one clock already; the offset's deviation is the error of that. */
static OTF2_ErrorCode locations_write(const struct sn_otf2_trace *t)
{
	const struct sn_experiment *e = t->profile->experiment;
	const struct sn_otf2 *otf2 = t->otf2;
	int64_t error_ns = e->clock_error_ns > t->mpi->clock_error_ns ? e->clock_error_ns
								      : t->mpi->clock_error_ns;
	OTF2_ErrorCode code = otf2->Archive_OpenDefFiles(t->archive);

	for (size_t i = 0; code == OTF2_SUCCESS && i < e->threads.count; i++) {
		OTF2_DefWriter *out = otf2->Archive_GetDefWriter(t->archive, i);

		if (!out)
			return OTF2_ERROR_INVALID;
		code = otf2->DefWriter_WriteClockOffset(out, (uint64_t)t->bias_ns, 0,
							(double)error_ns);
		if (code == OTF2_SUCCESS && t->last_ns > (uint64_t)t->bias_ns)
			code = otf2->DefWriter_WriteClockOffset(out, t->last_ns, 0,
								(double)error_ns);
		if (code == OTF2_SUCCESS)
			code = otf2->Archive_CloseDefWriter(t->archive, out);
	}
	return code == OTF2_SUCCESS ? otf2->Archive_CloseDefFiles(t->archive) : code;
}

sn_status sn_otf2_definitions_write(struct sn_otf2_trace *t, struct sn_error *err)
{
	struct writer w = { .trace = t, .otf2 = t->otf2 };
	OTF2_ErrorCode code = locations_write(t);

	if (code != OTF2_SUCCESS)
		return sn_otf2_failed(t, code, err);
	w.out = t->otf2->Archive_GetGlobalDefWriter(t->archive);
	if (!w.out)
		return sn_otf2_failed(t, OTF2_ERROR_INVALID, err);
	string(&w, "");
	clock_write(&w);
	places_write(&w);
	for (uint32_t r = 0; r < t->region_frames.count; r++)
		region_write(&w, r, t->region_frames.items[r]);
	if (t->mpi->is_traced)
		comms_write(&w);
	keep(&w, t->otf2->Archive_CloseGlobalDefWriter(t->archive, w.out));
	sn_map_free(&w.string_of);
	return w.code == OTF2_SUCCESS ? SN_OK : sn_otf2_failed(t, w.code, err);
}

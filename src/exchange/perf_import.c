/* Makes an experiment of a perf.data file. Its records are those that the sampler from outside
 * writes (wire/data.h), so everything that reads experiments reads imports. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "exchange/perf_parts.h"
#include "experiment/experiment.h"
#include "experiment/launch.h"
#include "experiment/store.h"
#include "unwind/stack_flags.h"

enum { MARKER_COUNT = 4095 }; /* the highest addresses stand for contexts in callchains */
/* linux/perf_event.h: enum perf_callchain_context */
static const uint64_t CONTEXT_KERNEL = (uint64_t)-128, CONTEXT_USER = (uint64_t)-512;

__attribute__((format(printf, 2, 3))) static void warn(struct sn_importer *im, const char *format,
						       ...)
{
	struct sn_text text = { 0 };
	char words[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	sn_text_add(&text, words);
	sn_vec_push(&im->result->warnings, sn_text_take(&text));
}

/* ---- files and mappings ---- */

/** Whether what lies at the path now is what was mapped then; an unknown identity is taken for it.
 */
static bool is_same_file(const struct sn_import_file *file)
{
	const char *now = sn_image_id(file->image);
	char then[41] = "";

	if (!file->build_id || !file->build_id_bytes || !sn_image_has_build_id(file->image))
		return true;
	for (unsigned i = 0; i < file->build_id_bytes; i++)
		snprintf(then + 2 * i, 3, "%02x", file->build_id[i]);
	return !strncmp(now, then, strlen(then));
}

static void open_file(struct sn_importer *im, struct sn_import_file *file)
{
	struct sn_image_options options = { .only_this_file = true };

	if (file->path[0] != '/')
		return;
	if (sn_image_open(file->path, &options, &file->image, NULL) != SN_OK) {
		im->missing_files++;
		return;
	}
	if (!is_same_file(file)) {
		im->changed_files++;
		sn_image_free(file->image);
		file->image = NULL;
		return;
	}
	if (im->data.has_stacks && sn_file_map(file->path, &file->bytes, NULL) != SN_OK)
		memset(&file->bytes, 0, sizeof(file->bytes));
}

static uint32_t find_file(struct sn_importer *im, const struct sn_perf_event *e)
{
	uint64_t *slot = sn_map_put(&im->file_of, sn_hash_bytes(e->name, strlen(e->name)), NULL);
	struct sn_import_file file = { .path = sn_arena_strdup(&im->arena, e->name),
				       .build_id = e->build_id,
				       .build_id_bytes = e->build_id_bytes };

	if (*slot)
		return (uint32_t)*slot - 1;
	for (size_t i = 0; i < im->data.build_ids.count && !file.build_id; i++)
		if (!strcmp(im->data.build_ids.items[i].path, file.path)) {
			file.build_id = im->data.build_ids.items[i].bytes;
			file.build_id_bytes = im->data.build_ids.items[i].length;
		}
	open_file(im, &file);
	*slot = im->files.count + 1;
	sn_vec_push(&im->files, file);
	return (uint32_t)*slot - 1;
}

/** Without the file a link address is taken to be its place in the file, as most linkers lay it out
 *  for code of shared objects. */
static uint64_t bias_of(const struct sn_import_file *file, const struct sn_perf_event *e)
{
	uint64_t link_addr =
		file->image ? sn_image_link_addr(file->image, e->file_offset) : UINT64_MAX;

	return e->load_addr - (link_addr == UINT64_MAX ? e->file_offset : link_addr);
}

/* ---- events ---- */

static void drop_mappings(struct sn_import_process *p, uint64_t start, uint64_t end)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->mappings.count; i++)
		if (p->mappings.items[i].load_end <= start ||
		    p->mappings.items[i].load_start >= end)
			p->mappings.items[kept++] = p->mappings.items[i];
	p->mappings.count = kept;
	p->modules_are_current = false;
}

static void take_map(struct sn_importer *im, const struct sn_perf_event *e)
{
	struct sn_import_process *p = e->pid >= 0 && e->is_executable
					      ? sn_import_process_of(im, e->pid, e->time_ns)
					      : NULL;
	struct sn_import_mapping m = { .load_start = e->load_addr, .file_offset = e->file_offset };

	if (!p || __builtin_add_overflow(e->load_addr, e->length, &m.load_end) || !e->name[0])
		return;
	m.file = find_file(im, e);
	m.load_bias = bias_of(&im->files.items[m.file], e);
	drop_mappings(p, m.load_start, m.load_end);
	sn_import_write_unmap(p, m.load_start, m.load_end, e->time_ns);
	sn_import_write_mapping(im, p, &m, e->time_ns);
	sn_vec_push(&p->mappings, m);
	p->modules_are_current = false;
}

static void take_comm(struct sn_importer *im, const struct sn_perf_event *e)
{
	struct sn_import_process *p = sn_import_process_of(im, e->pid, e->time_ns);
	struct sn_import_thread *thread;

	if (!p)
		return;
	if (e->is_exec) {
		drop_mappings(p, 0, UINT64_MAX);
		sn_import_write_unmap(p, 0, UINT64_MAX, e->time_ns);
		p->program_is_due = true;
	}
	thread = sn_import_thread_of(im, p, e->tid, e->time_ns);
	snprintf(thread->name, sizeof(thread->name), "%.15s", e->name);
	if (e->tid == e->pid)
		memcpy(p->name, thread->name, sizeof(p->name));
}

/** A child begins with its parent's mappings. */
static void take_fork(struct sn_importer *im, const struct sn_perf_event *e)
{
	bool is_new = !sn_map_get(&im->process_of, (uint64_t)(uint32_t)e->pid);
	struct sn_import_process *p = sn_import_process_of(im, e->pid, e->time_ns), *parent;

	if (!p)
		return;
	sn_import_thread_of(im, p, e->tid, e->time_ns);
	if (e->pid == e->parent_pid || !is_new || e->parent_pid < 0)
		return;
	parent = sn_import_process_of(im, e->parent_pid, e->time_ns);
	if (!parent || parent == p)
		return;
	p->parent_pid = sn_writer_header(&p->file)->parent_pid = e->parent_pid;
	memcpy(p->name, parent->name, sizeof(p->name));
	memcpy(sn_import_main_thread(p)->name, parent->name, sizeof(p->name));
	for (size_t i = 0; i < parent->mappings.count; i++) {
		sn_import_write_mapping(im, p, &parent->mappings.items[i], e->time_ns);
		sn_vec_push(&p->mappings, parent->mappings.items[i]);
	}
}

static int compare_modules(const void *left, const void *right)
{
	const struct sn_unwind_module *a = left, *b = right;

	return a->load_start < b->load_start ? -1 : a->load_start > b->load_start;
}

static void refresh_modules(struct sn_importer *im, struct sn_import_process *p)
{
	p->modules.count = 0;
	for (size_t i = 0; i < p->mappings.count; i++) {
		const struct sn_import_mapping *m = &p->mappings.items[i];
		const struct sn_import_file *file = &im->files.items[m->file];
		struct sn_unwind_module module;
		bool is_known = false;

		for (size_t k = 0; k < p->modules.count; k++)
			is_known |= p->modules.items[k].load_bias == m->load_bias;
		if (is_known || !file->bytes.length ||
		    !sn_unwind_module_of_file(&module, file->bytes.bytes, file->bytes.length,
					      m->load_bias))
			continue;
		sn_vec_push(&p->modules, module);
	}
	if (p->modules.count)
		qsort(p->modules.items, p->modules.count, sizeof(*p->modules.items),
		      compare_modules);
	p->generation++;
	p->modules_are_current = true;
}

/** asm/perf_regs.h numbers registers in its own way; these are DWARF's, for its 0 to 8, 16 to 23.
 */
static void set_registers(const struct sn_perf_event *e, struct sn_unwind_regs *regs)
{
	static const uint8_t number[] = { SN_UNWIND_RAX, SN_UNWIND_RBX, SN_UNWIND_RCX,
					  SN_UNWIND_RDX, SN_UNWIND_RSI, SN_UNWIND_RDI,
					  SN_UNWIND_RBP, SN_UNWIND_RSP, SN_UNWIND_RIP };

	for (unsigned i = 0; i < 9; i++)
		regs->value[number[i]] = e->regs[i];
	for (unsigned i = 16; i < SN_PERF_REGS_MAX; i++)
		regs->value[SN_UNWIND_R8 + i - 16] = e->regs[i];
	regs->valid = SN_UNWIND_ALL_VALID;
}

static uint32_t unwind(struct sn_importer *im, struct sn_import_process *p,
		       const struct sn_perf_event *e, uint8_t *flags)
{
	struct sn_unwind_walk_result walk;
	struct sn_unwind_regs regs;
	struct sn_unwind_window stack;
	struct sn_unwind_target target = { .stacks = &stack, .stack_count = 1 };
	uint32_t count;

	if (!p->modules_are_current)
		refresh_modules(im, p);
	set_registers(e, &regs);
	stack = (struct sn_unwind_window){ regs.value[SN_UNWIND_RSP],
					   regs.value[SN_UNWIND_RSP] + e->stack_bytes, e->stack };
	target.modules = p->modules.items;
	target.module_count = (uint32_t)p->modules.count;
	/* Rows of one process must not be taken for another's. */
	target.generation = p->generation << 14 ^ (uint32_t)p->pid;
	count = sn_unwind_walk(&target, &regs, NULL, im->pcs, SN_IMPORT_DEPTH_MAX, &walk);
	*flags = sn_unwind_end_flag(walk.end);
	if (walk.flags & SN_UNWIND_BY_SCAN)
		*flags |= SN_STACK_SCANNED;
	return count;
}

/** The user part of a callchain: the kernel's, marked by contexts, is left out. */
static uint32_t take_chain(struct sn_importer *im, const struct sn_perf_event *e, uint8_t *flags)
{
	bool is_user = !e->is_kernel;
	uint32_t depth = 0;

	for (uint64_t i = 0; i < e->chain_count && depth < SN_IMPORT_DEPTH_MAX; i++) {
		uint64_t pc;

		memcpy(&pc, e->chain + 8 * i, sizeof(pc));
		if (pc >= (uint64_t)-MARKER_COUNT)
			is_user = pc == CONTEXT_USER || (pc != CONTEXT_KERNEL && is_user);
		else if (is_user && pc >= 4096 && pc < (uint64_t)1 << 47)
			im->pcs[depth++] = pc;
	}
	/* A chain by frame pointers says nothing about its own end; perf cuts it at 127. */
	*flags = depth >= 127 ? SN_STACK_TOO_DEEP : SN_STACK_COMPLETE;
	if (!e->chain_count && !e->is_kernel) {
		im->pcs[depth++] = e->ip;
		*flags = SN_STACK_UNREADABLE; /* recorded without -g */
	}
	return depth;
}

static void take_sample(struct sn_importer *im, const struct sn_perf_event *e)
{
	struct sn_import_process *p = sn_import_process_of(im, e->pid, e->time_ns);
	struct sn_import_thread *thread;
	uint64_t cpu_ns = (uint64_t)((double)e->period * im->ns_per_period + 0.5);
	uint8_t flags = 0;
	uint32_t depth, id;

	if (!p) {
		im->lost++;
		return;
	}
	thread = sn_import_thread_of(im, p, e->tid, e->time_ns);
	depth = e->has_regs && e->stack_bytes ? unwind(im, p, e, &flags)
					      : take_chain(im, e, &flags);
	id = sn_import_stack_id(p, im->pcs, depth, flags, e->time_ns);
	im->result->without_stack += !id;
	im->result->samples++;
	*(e->is_kernel ? &thread->system_ns : &thread->user_ns) += cpu_ns;
	thread->last_ns = p->last_ns = e->time_ns;
	if (!sn_writer_sample(&thread->writer, e->time_ns, cpu_ns, id, e->cpu,
			      e->is_kernel ? SN_SAMPLE_SYSTEM : 0))
		im->lost++;
}

static void take_event(struct sn_importer *im, struct sn_perf_event *e)
{
	if (e->time_ns < im->start_ns)
		e->time_ns = im->start_ns; /* what perf found when it began */
	switch (e->kind) {
	case SN_PERF_MAP:
		take_map(im, e);
		break;
	case SN_PERF_COMM:
		take_comm(im, e);
		break;
	case SN_PERF_FORK:
		take_fork(im, e);
		break;
	case SN_PERF_EXIT: {
		uint64_t *known = sn_map_get(&im->process_of, (uint64_t)(uint32_t)e->pid);

		if (known && e->time_ns > im->processes.items[*known - 1]->last_ns)
			im->processes.items[*known - 1]->last_ns = e->time_ns;
		break;
	}
	case SN_PERF_SAMPLE:
		take_sample(im, e);
		break;
	case SN_PERF_LOST:
		im->lost += e->lost;
		break;
	}
}

/* ---- what a sample is worth ---- */

/** Software clocks count nanoseconds. Of other events the periods are scaled so that a sample is,
 * on average, worth the period of the frequency asked for: shares are the event's, seconds a
 * guess. */
static void find_scale(struct sn_importer *im)
{
	double sum = 0;
	uint64_t count = 0;

	im->ns_per_period = 1;
	im->start_ns = INT64_MAX;
	for (size_t i = 0; i < im->data.place_count; i++) {
		struct sn_perf_event e;

		if (!sn_perf_data_event(&im->data, i, &e))
			continue;
		if (e.time_ns && e.time_ns < im->start_ns)
			im->start_ns = e.time_ns;
		if (e.kind != SN_PERF_SAMPLE)
			continue;
		sum += (double)e.period;
		count++;
	}
	if (im->start_ns == INT64_MAX)
		im->start_ns = 1;
	if (im->data.event_is_time || !count || !(sum > 0))
		return;
	im->ns_per_period = 1e9 / (im->data.frequency_hz > 0 ? im->data.frequency_hz : 1000) *
			    (double)count / sum;
	warn(im,
	     "the file counts %s, not time: shares are of that event, and seconds are guessed "
	     "from the number of samples",
	     im->data.event);
}

/* ---- the experiment ---- */

static void end_process(struct sn_import_process *p, int64_t realtime_offset_ns)
{
	struct sn_data_header *header = sn_writer_header(&p->file);

	for (size_t i = 0; i < p->threads.count; i++) {
		struct sn_import_thread *t = p->threads.items[i];
		struct sn_record_thread_account *account =
			sn_writer_reserve(&t->writer, sizeof(*account), t->last_ns);

		header->end_user_ns += (int64_t)t->user_ns;
		header->end_system_ns += (int64_t)t->system_ns;
		if (!account)
			continue;
		/* The kernel's account is not in the file: -1, in a form that the reader keeps. */
		*account = (struct sn_record_thread_account){
			.header = { .type = SN_RECORD_THREAD_END, .size_bytes = sizeof(*account) },
			.thread_index = t->writer.thread_index,
			.time_ns = t->last_ns,
			.user_ns = -1,
			.system_ns = -1,
			.cpu_ns = -2,
			.wait_cpu_ns = -1
		};
		memcpy(account->name, t->name, sizeof(account->name));
		sn_writer_commit(&t->writer, sizeof(*account));
	}
	header->start_realtime_ns = header->start_ns + realtime_offset_ns;
	header->end_ns = p->last_ns;
	header->end_realtime_ns = p->last_ns + realtime_offset_ns;
	header->chunks_backed = header->next_chunk;
}

static void warn_of_gaps(struct sn_importer *im)
{
	warn(im,
	     "imported from perf.data: CPU time is what its samples account for, not the kernel's "
	     "account; blocked time is not in the file");
	if (im->data.other_events)
		warn(im, "the file has %" PRIu32 " more events; only %s was imported",
		     im->data.other_events, im->data.event);
	if (im->missing_files)
		warn(im,
		     "%" PRIu64 " mapped files are not on this machine: their code has no names",
		     im->missing_files);
	if (im->changed_files)
		warn(im, "%" PRIu64 " mapped files have changed since: their code has no names",
		     im->changed_files);
	if (im->lost)
		warn(im, "%" PRIu64 " samples were lost when the file was recorded", im->lost);
	if (im->data.damaged)
		warn(im, "%" PRIu64 " records of the file are damaged and were left out",
		     im->data.damaged);
}

static int64_t end_of(const struct sn_importer *im)
{
	int64_t end_ns = im->start_ns;

	for (size_t i = 0; i < im->processes.count; i++)
		if (im->processes.items[i]->last_ns > end_ns)
			end_ns = im->processes.items[i]->last_ns;
	return end_ns;
}

/** The process with most CPU time gives the experiment its name. */
static const char *program_of(struct sn_importer *im)
{
	const char *program = "perf";
	uint64_t most = 0;

	for (size_t i = 0; i < im->processes.count; i++) {
		const struct sn_data_header *header =
			sn_writer_header(&im->processes.items[i]->file);
		uint64_t ns = (uint64_t)(header->end_user_ns + header->end_system_ns);

		if (ns > most && header->program[0]) {
			most = ns;
			program = header->program;
		}
	}
	return program;
}

static sn_status write_data(struct sn_importer *im, const char *folder, const char *host,
			    struct sn_error *err)
{
	struct sn_text path = { 0 };
	struct sn_file_writer writer;
	sn_status status;

	sn_text_addf(&path, "%s/%s.%d.data", folder, host, getpid());
	status = sn_file_writer_open(&writer, path.chars, err);
	sn_text_free(&path);
	if (status != SN_OK)
		return status;
	for (size_t i = 0; i < im->processes.count; i++) {
		const struct sn_import_process *p = im->processes.items[i];
		const struct sn_data_header *header = sn_writer_header(&p->file);

		/* Processes that only took part in a fork would be noise. */
		if (header->end_user_ns || header->end_system_ns)
			fwrite(p->file.base, 1, sn_data_file_bytes(header->next_chunk), writer.out);
	}
	return sn_file_writer_commit(&writer, err);
}

static sn_status write_launch(struct sn_importer *im, const struct sn_perf_import *how,
			      const char *folder, const char *host, int64_t realtime_ns,
			      struct sn_error *err)
{
	struct sn_launch launch = { .version = "import",
				    .program = program_of(im),
				    .arguments = im->data.arguments ? im->data.arguments : "",
				    .label = how->label,
				    .host = host,
				    .cpu_model = im->data.cpu_model ? im->data.cpu_model : "",
				    .kernel = im->data.kernel ? im->data.kernel : "",
				    .folder = "",
				    .clock = im->data.event,
				    .rate_hz = im->data.frequency_hz,
				    .pid = getpid(),
				    .rank = -1,
				    .exit_status = -1,
				    .has_ended = true,
				    .started_realtime_ns = realtime_ns,
				    .tree_user_ns = -1,
				    .own_cpu_ns = -1,
				    .tree_system_ns = -1,
				    .others_share = -1 };
	sn_status status;

	launch.elapsed_ns = end_of(im) - im->start_ns;
	for (size_t i = 0; i < im->result->warnings.count; i++)
		sn_vec_push(&launch.warnings, im->result->warnings.items[i]);
	status = sn_launch_write(&launch, folder, err);
	sn_vec_free(&launch.warnings);
	return status;
}

/** Host names become file names. */
static const char *safe_host(struct sn_importer *im)
{
	char *host = sn_arena_strdup(&im->arena, im->data.hostname ? im->data.hostname : "unknown");

	for (char *c = host; *c; c++)
		if (*c == '/' || *c < ' ')
			*c = '_';
	return *host && *host != '.' ? host : "unknown";
}

static sn_status write_experiment(struct sn_importer *im, const char *path,
				  const struct sn_perf_import *how, struct sn_error *err)
{
	const char *host = safe_host(im), *program, *base;
	int64_t end_ns = end_of(im), end_realtime_ns = 0;
	struct stat file;
	bool is_joined;
	char key[64];
	sn_status status;

	if (stat(path, &file) == 0) /* perf stops writing when the run ends */
		end_realtime_ns = file.st_mtim.tv_sec * 1000000000 + file.st_mtim.tv_nsec;
	for (size_t i = 0; i < im->processes.count; i++)
		end_process(im->processes.items[i], end_realtime_ns - end_ns);
	warn_of_gaps(im);
	program = program_of(im);
	base = sn_base_name(program);
	snprintf(key, sizeof(key), "import-%d-%" PRId64, getpid(), end_realtime_ns);
	status = sn_store_create(how->output, base, key, &im->result->path, &is_joined, err);
	if (status == SN_OK)
		status = write_data(im, im->result->path.chars, host, err);
	if (status == SN_OK)
		status = write_launch(im, how, im->result->path.chars, host,
				      end_realtime_ns - end_ns + im->start_ns, err);
	return status;
}

static void free_importer(struct sn_importer *im)
{
	for (size_t i = 0; i < im->processes.count; i++) {
		struct sn_import_process *p = im->processes.items[i];

		for (size_t t = 0; t < p->threads.count; t++)
			free(p->threads.items[t]);
		sn_vec_free(&p->threads);
		sn_vec_free(&p->mappings);
		sn_vec_free(&p->modules);
		sn_map_free(&p->stacks);
		munmap(p->file.base, sn_data_file_bytes(SN_IMPORT_CHUNKS));
		free(p);
	}
	for (size_t i = 0; i < im->files.count; i++) {
		sn_image_free(im->files.items[i].image);
		sn_file_unmap(&im->files.items[i].bytes);
	}
	sn_vec_free(&im->files);
	sn_vec_free(&im->processes);
	sn_map_free(&im->file_of);
	sn_map_free(&im->process_of);
	sn_map_free(&im->thread_of);
	sn_arena_free(&im->arena);
	sn_perf_data_free(&im->data);
}

sn_status sn_perf_import(const char *path, const struct sn_perf_import *how,
			 struct sn_perf_import_result *result, struct sn_error *err)
{
	struct sn_importer im = { .result = result };
	struct sn_perf_event event;
	sn_status status;

	memset(result, 0, sizeof(*result));
	status = sn_perf_data_open(path, &im.data, err);
	if (status != SN_OK)
		return status;
	find_scale(&im);
	for (size_t i = 0; i < im.data.place_count; i++)
		if (sn_perf_data_event(&im.data, i, &event))
			take_event(&im, &event);
	im.data.damaged /= 2; /* every event was read twice */
	if (!result->samples)
		status = sn_error_set(err, SN_ERR_NO_DATA, "import: '%s' has no samples", path);
	else
		status = write_experiment(&im, path, how, err);
	free_importer(&im);
	return status;
}

/* Samples of all CPUs, written as one process whose threads are the tasks that the kernel ran for. */
#include "record/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/map.h"
#include "base/text.h"
#include "record/kernel_symbols.h"
#include "record/outside_file.h"
#include "record/outside_proc.h"
#include "record/outside_ring.h"

enum {
	RING_ORDER = 6,	     /* pages: 256 kB, above 1,000 deep samples */
	TASKS_MOST = 8192,   /* lanes of their own; further tasks share one */
	ROOM_CHUNKS = 64,    /* ask for more space when fewer are left */
	FRAMES_MOST = 512,   /* the kernel's limit is 127 unless it was raised */
	CONTEXTS_MOST = 4095 /* the highest addresses stand for contexts in chains */
};

/* What user code is: one address of one made-up module. Nothing can be mapped there. */
static const uint64_t USER_ADDR = 0x1000;
static const uint64_t KERNEL_LEAST = 0xffff800000000000;

struct task {
	int32_t tid;
	struct sn_writer writer;
	uint64_t user_ns, system_ns;
	char name[16];
};

struct sn_kernel {
	struct sn_kernel_options options;
	struct sn_outside_file file;
	struct sn_kernel_symbols symbols;
	struct sn_ring *rings;
	uint64_t *lost_before; /* by ring: samples lost since its latest */
	size_t ring_count, cpu_count;
	SN_VEC(struct task *) tasks; /* 0: the kernel's own, and what others no longer fit */
	struct sn_map task_of;	     /* tid -> index + 1 */
	struct sn_map is_met;	     /* addresses in stacks */
	SN_VEC(uint64_t) met;
	uint64_t period_ns, throttled;
	int64_t began_ns;
	bool has_user;
};

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static struct sn_data_header *header_of(struct sn_kernel *k)
{
	return sn_writer_header(&k->file.shared);
}

/* ---- records ---- */

static void room_make(struct sn_kernel *k)
{
	struct sn_data_header *h = header_of(k);

	if (k->options.feed && h->next_chunk + ROOM_CHUNKS > h->chunks_backed)
		k->options.feed(k->options.feed_context);
}

/* Of this type, zeroed behind its header; NULL: no room, which is counted. */
static void *record_begin(struct sn_kernel *k, struct task *task, uint8_t type, uint8_t flags,
			  size_t bytes)
{
	struct sn_record_header *record;

	bytes = (bytes + 7) & ~(size_t)7;
	record = sn_writer_reserve(&task->writer, (uint32_t)bytes, now_ns());
	if (!record) {
		sn_writer_count_loss(&k->file.shared, SN_LOSS_NO_SPACE, 1);
		return NULL;
	}
	memset(record, 0, bytes);
	*record = (struct sn_record_header){ .type = type,
					     .flags = flags,
					     .size_bytes = (uint16_t)bytes };
	return record;
}

static void record_end(struct task *task, const void *record)
{
	sn_writer_commit(&task->writer, ((const struct sn_record_header *)record)->size_bytes);
}

static void text_write(struct sn_kernel *k, uint8_t kind, const char *text)
{
	sn_writer_text(&k->tasks.items[0]->writer, now_ns(), kind, text, strlen(text));
}

/* Addresses [start, end) are those of this module, whatever else may lie around them. */
static void map_write(struct sn_kernel *k, const char *name, uint64_t start, uint64_t end)
{
	struct task *task = k->tasks.items[0];
	size_t length = strlen(name);
	struct sn_record_map *record =
		record_begin(k, task, SN_RECORD_MAP, SN_RECORD_MAP_KERNEL,
			     offsetof(struct sn_record_map, path) + length + 1);

	if (!record)
		return;
	record->path_bytes = (uint32_t)length;
	record->time_ns = k->began_ns;
	record->load_start = start;
	record->load_end = end;
	memcpy(record->path, name, length);
	record_end(task, record);
}

/* ---- tasks ---- */

static void task_name(struct task *task)
{
	char name[sizeof(task->name) + 1];
	size_t length = sn_proc_read(task->tid, 0, "comm", name, sizeof(name));

	if (length > 1)
		memcpy(task->name, name, length - 1); /* less the end of line */
	else
		strcpy(task->name, task->tid ? "[ended]" : "[kernel]");
}

static struct task *task_add(struct sn_kernel *k, int32_t tid, int64_t time_ns)
{
	struct task *task = sn_alloc_zeroed(1, sizeof(*task));
	uint32_t index = (uint32_t)k->tasks.count;
	struct sn_record_thread_start *record;

	task->tid = tid;
	task->writer =
		(struct sn_writer){ .file = &k->file.shared, .thread_index = index, .tid = tid };
	task_name(task);
	sn_vec_push(&k->tasks, task);
	*sn_map_put(&k->task_of, (uint32_t)tid, NULL) = k->tasks.count;
	header_of(k)->threads_started++;
	record = record_begin(k, task, SN_RECORD_THREAD_START, 0, sizeof(*record));
	if (record) {
		record->thread_index = index;
		record->tid = tid;
		record->creator_index = UINT32_MAX;
		record->time_ns = time_ns;
		record_end(task, record);
	}
	return task;
}

static struct task *task_of(struct sn_kernel *k, int32_t tid, int64_t time_ns)
{
	const uint64_t *found = sn_map_get(&k->task_of, (uint32_t)tid);

	if (found)
		return k->tasks.items[*found - 1];
	return k->tasks.count < TASKS_MOST ? task_add(k, tid, time_ns) : k->tasks.items[0];
}

static void task_end(struct sn_kernel *k, uint32_t index)
{
	struct task *task = k->tasks.items[index];
	struct sn_record_thread_account *record =
		record_begin(k, task, SN_RECORD_THREAD_END, 0, sizeof(*record));

	if (!record)
		return;
	record->thread_index = index;
	record->time_ns = now_ns();
	record->user_ns = (int64_t)task->user_ns;
	record->system_ns = (int64_t)task->system_ns;
	record->cpu_ns = record->user_ns + record->system_ns;
	record->wait_cpu_ns = -1;
	memcpy(record->name, task->name, sizeof(record->name));
	record_end(task, record);
}

/* ---- samples ---- */

static void met_add(struct sn_kernel *k, uint64_t pc)
{
	bool is_new;

	sn_map_put(&k->is_met, pc, &is_new);
	if (is_new)
		sn_vec_push(&k->met, pc);
}

/* The kernel's part of a chain; whoever called from user code is left out. */
static uint32_t chain_read(const uint64_t *words, uint64_t count, uint64_t *pcs)
{
	uint32_t depth = 0;

	for (uint64_t i = 0; i < count && depth < FRAMES_MOST; i++) {
		if (words[i] >= (uint64_t)-CONTEXTS_MOST) {
			if (words[i] != (uint64_t)PERF_CONTEXT_KERNEL)
				break;
		} else if (words[i] >= KERNEL_LEAST) {
			pcs[depth++] = words[i];
		}
	}
	return depth;
}

/* pid and tid, time, CPU, length of the chain, the chain */
static void sample_take(struct sn_kernel *k, size_t ring, const struct perf_event_header *header)
{
	static uint64_t pcs[FRAMES_MOST];
	size_t words_count = (header->size - sizeof(*header)) / 8;
	const uint64_t *words = (const void *)(header + 1);
	bool is_kernel = (header->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	uint64_t cpu_ns = k->period_ns * (1 + k->lost_before[ring]);
	struct task *task;
	uint32_t stack, depth;

	if (words_count < 4 || words[3] > words_count - 4 || (!is_kernel && !k->options.with_user))
		return;
	k->lost_before[ring] = 0;
	depth = is_kernel ? chain_read(words + 4, words[3], pcs) : 0;
	if (!is_kernel)
		pcs[depth++] = USER_ADDR;
	k->has_user |= !is_kernel;
	room_make(k);
	task = task_of(k, (int32_t)(words[0] >> 32), (int64_t)words[1]);
	for (uint32_t i = 0; i < depth; i++)
		met_add(k, pcs[i] - (i > 0)); /* a return address belongs to the call before it */
	stack = depth ? sn_outside_file_stack(&k->file, &task->writer, (int64_t)words[1], pcs,
					      depth, SN_STACK_COMPLETE)
		      : 0;
	if (!sn_writer_sample(&task->writer, (int64_t)words[1], cpu_ns, stack, (uint16_t)words[2],
			      is_kernel ? SN_SAMPLE_SYSTEM : 0)) {
		sn_writer_count_loss(&k->file.shared, SN_LOSS_NO_SPACE, 1);
		return;
	}
	header_of(k)->handler_count++;
	if (is_kernel)
		task->system_ns += cpu_ns;
	else
		task->user_ns += cpu_ns;
}

void sn_kernel_drain(struct sn_kernel *k)
{
	const struct perf_event_header *header;

	for (size_t r = 0; r < k->ring_count; r++)
		while ((header = sn_ring_next(&k->rings[r]))) {
			if (header->type == PERF_RECORD_SAMPLE) {
				sample_take(k, r, header);
			} else if (header->type == PERF_RECORD_LOST) {
				const uint64_t *id_and_count = (const void *)(header + 1);

				k->lost_before[r] += id_and_count[1];
				sn_writer_count_loss(&k->file.shared, SN_LOSS_RING,
						     id_and_count[1]);
			} else if (header->type == PERF_RECORD_THROTTLE) {
				k->throttled++;
			}
		}
}

/* ---- opening ---- */

static sn_status refuse(int fault, struct sn_error *err)
{
	struct sn_file_view view;
	int level = -1;

	if (fault == ENOSYS)
		return sn_error_set(err, SN_ERR_UNSUPPORTED,
				    "the kernel cannot be profiled: it has no perf events "
				    "(CONFIG_PERF_EVENTS)");
	if (fault != EACCES && fault != EPERM) {
		errno = fault;
		return sn_error_errno(err, "the kernel cannot be profiled: it refuses");
	}
	if (sn_file_map("/proc/sys/kernel/perf_event_paranoid", &view, NULL) == SN_OK) {
		level = view.length ? atoi((const char *)view.bytes) : -1;
		sn_file_unmap(&view);
	}
	return sn_error_set(err, SN_ERR_UNSUPPORTED,
			    "the kernel cannot be profiled: it takes root to look at all CPUs "
			    "(or CAP_PERFMON; kernel.perf_event_paranoid is %d)",
			    level);
}

static sn_status rings_open(struct sn_kernel *k, struct sn_error *err)
{
	size_t most = (size_t)sysconf(_SC_NPROCESSORS_CONF);
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = k->period_ns,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
			       PERF_SAMPLE_CALLCHAIN,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.exclude_user = !k->options.with_user,
		.exclude_callchain_user = 1,
		.exclude_idle = 1,
		.exclude_hv = 1,
		.disabled = 1,
	};

	k->rings = sn_alloc_zeroed(most + 1, sizeof(*k->rings));
	k->lost_before = sn_alloc_zeroed(most + 1, sizeof(*k->lost_before));
	for (size_t cpu = 0; cpu < most; cpu++) {
		struct sn_ring *ring = &k->rings[k->ring_count];
		int fault = sn_ring_open_on(ring, &attr, -1, (int)cpu, RING_ORDER);

		if (fault && fault != ENODEV) /* ENODEV: it is switched off */
			return refuse(fault, err);
		k->ring_count += !fault;
	}
	return k->ring_count ? SN_OK : refuse(ENODEV, err);
}

static void kernel_free(struct sn_kernel *k)
{
	for (size_t r = 0; r < k->ring_count; r++)
		sn_ring_close(&k->rings[r]);
	sn_outside_file_close(&k->file);
	for (size_t i = 0; i < k->tasks.count; i++)
		free(k->tasks.items[i]);
	sn_vec_free(&k->tasks);
	sn_map_free(&k->task_of);
	sn_map_free(&k->is_met);
	sn_vec_free(&k->met);
	sn_kernel_symbols_free(&k->symbols);
	free(k->rings);
	free(k->lost_before);
	free(k);
}

static void first_words_say(struct sn_kernel *k)
{
	struct sn_text text = { 0 };

	text_write(k, SN_TEXT_TITLE, "[kernel]");
	text_write(k, SN_TEXT_PROGRAM, "[kernel]");
	sn_text_addf(
		&text,
		"the kernel on %zu CPUs: time in it is that of the tasks that it ran for, idle "
		"time is left out%s",
		k->ring_count,
		k->options.with_user ? "; user code is one row, [user], of each task"
				     : ", as is user code (--pid ALL has it)");
	text_write(k, SN_TEXT_WARNING, text.chars);
	sn_text_free(&text);
}

sn_status sn_kernel_open(const struct sn_kernel_options *options, struct sn_kernel **out,
			 struct sn_error *err)
{
	struct sn_kernel *k = sn_alloc_zeroed(1, sizeof(*k));
	struct sn_outside_file_facts facts = {
		options->folder, options->host, 0, 0, options->rank, 0
	};
	sn_status status;

	k->options = *options;
	k->period_ns = facts.period_ns = (uint64_t)(1000700000.0 / options->rate_hz);
	status = rings_open(k, err);
	if (status == SN_OK)
		status = sn_kernel_symbols_read(&k->symbols, err);
	if (status == SN_OK)
		status = sn_outside_file_create(&k->file, &facts, err);
	if (status != SN_OK) {
		kernel_free(k);
		return status;
	}
	k->began_ns = header_of(k)->start_ns;
	task_add(k, 0, k->began_ns);
	map_write(k, "[kernel]", KERNEL_LEAST, UINT64_MAX);
	first_words_say(k);
	sn_kernel_pause(k, options->starts_paused);
	*out = k;
	return SN_OK;
}

void sn_kernel_pause(struct sn_kernel *k, bool is_paused)
{
	for (size_t r = 0; r < k->ring_count; r++)
		sn_ring_enable(&k->rings[r], !is_paused);
}

/* ---- closing ---- */

static int addresses_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Each module that was met: from the first to the last of its functions that were. */
static void module_add(struct sn_map *module_of, sn_strings *names, uint64_t (*ranges)[2],
		       const struct sn_kernel_symbol *symbol)
{
	uint64_t *place =
		sn_map_put(module_of, sn_hash_bytes(symbol->module, strlen(symbol->module)), NULL);

	if (!*place) {
		sn_vec_push(names, (char *)symbol->module);
		*place = names->count;
		ranges[*place - 1][0] = symbol->load_addr;
	}
	ranges[*place - 1][1] = symbol->load_addr + symbol->size_bytes;
}

static void symbols_write(struct sn_kernel *k)
{
	struct sn_text path = { 0 }, name = { 0 };
	struct sn_map module_of = { 0 };
	sn_strings modules = { 0 };
	uint64_t(*ranges)[2] = sn_alloc_zeroed(k->met.count + 1, sizeof(*ranges));
	const struct sn_kernel_symbol *last = NULL;
	struct sn_file_writer writer;
	struct sn_error err;
	sn_status status;

	if (k->met.count)
		qsort(k->met.items, k->met.count, sizeof(*k->met.items), addresses_compare);
	sn_text_addf(&path, "%s/kernel.symbols", k->options.experiment);
	status = sn_file_writer_open(&writer, path.chars, &err);
	for (size_t i = 0; status == SN_OK && i < k->met.count; i++) {
		const struct sn_kernel_symbol *symbol =
			sn_kernel_symbol_at(&k->symbols, k->met.items[i]);

		if (!symbol || symbol == last)
			continue;
		last = symbol;
		fprintf(writer.out, "%llx %llx %s\n", (unsigned long long)symbol->load_addr,
			(unsigned long long)symbol->size_bytes, symbol->name);
		if (symbol->module)
			module_add(&module_of, &modules, ranges, symbol);
	}
	if (status == SN_OK)
		status = sn_file_writer_commit(&writer, &err);
	if (status != SN_OK)
		text_write(k, SN_TEXT_WARNING, err.sentence);
	for (size_t m = 0; m < modules.count; m++) {
		sn_text_clear(&name);
		sn_text_addf(&name, "[%s]", modules.items[m]);
		map_write(k, name.chars, ranges[m][0], ranges[m][1]);
	}
	if (k->has_user)
		map_write(k, "[user]", USER_ADDR, USER_ADDR + 4096);
	free(ranges);
	sn_vec_free(&modules);
	sn_map_free(&module_of);
	sn_text_free(&name);
	sn_text_free(&path);
}

void sn_kernel_close(struct sn_kernel *k)
{
	struct sn_data_header *h = header_of(k);
	struct sn_text text = { 0 };
	struct timespec realtime;

	sn_kernel_pause(k, true);
	sn_kernel_drain(k);
	if (k->throttled)
		sn_text_addf(
			&text,
			"the kernel held sampling back %llu times (kernel.perf_event_max_sample_rate): "
			"time is missing",
			(unsigned long long)k->throttled);
	if (text.chars)
		text_write(k, SN_TEXT_WARNING, text.chars);
	sn_text_free(&text);
	symbols_write(k);
	h->start_user_ns = h->start_system_ns = 0;
	h->end_user_ns = 0;
	h->end_system_ns = 0;
	for (uint32_t i = 0; i < k->tasks.count; i++) {
		task_end(k, i);
		h->end_user_ns += (int64_t)k->tasks.items[i]->user_ns;
		h->end_system_ns += (int64_t)k->tasks.items[i]->system_ns;
	}
	clock_gettime(CLOCK_REALTIME, &realtime);
	h->end_ns = now_ns();
	h->end_realtime_ns = (int64_t)realtime.tv_sec * 1000000000 + realtime.tv_nsec;
	h->exit_code = 0;
	atomic_store_explicit(&h->state, SN_DATA_EXITED, memory_order_release);
	kernel_free(k);
}

/* Host and nodes: starting, triggering phases, bringing data there and back, ending. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "pandore/runtime/runtime.h"

struct pd_state pd_state;

static bool is_finished;
static void ***storages; /* [phase][parameter] */
static void *scratch;
static size_t scratch_bytes;

int pd_node(void)
{
	return pd_state.me;
}

uint64_t pd_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t pd_now_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

void pd_die(const char *format, ...)
{
	char sentence[512];
	va_list args;
	int length;

	va_start(args, format);
	length = snprintf(sentence, sizeof(sentence), "sonde: pandore: ");
	vsnprintf(sentence + length, sizeof(sentence) - (size_t)length - 1, format, args);
	va_end(args);
	strcat(sentence, "\n");
	if (pd_net_has_last_word() && write(STDERR_FILENO, sentence, strlen(sentence)) >= 0)
		fsync(STDERR_FILENO);
	pd_net_abort();
}

void pd_die_out_of_memory(void)
{
	pd_die("process %d is out of memory", pd_state.me);
}

void *pd_alloc_zeroed(size_t count, size_t bytes)
{
	void *memory = calloc(count ? count : 1, bytes);

	if (!memory)
		pd_die_out_of_memory();
	return memory;
}

long pd_check(long subscript, long extent, const char *array, const char *file, int line)
{
	if (subscript < 0 || subscript >= extent)
		pd_die("%s:%d: node %d: subscript %ld of '%s' is out of bounds: 0 to %ld", file,
		       line, pd_state.me, subscript, array, extent - 1);
	return subscript;
}

static void check_node(int node)
{
	if ((unsigned)node >= (unsigned)pd_state.program->nodes)
		pd_die("node %d: a subscript is out of bounds; compile with --check to see where",
		       pd_state.me);
}

void pd_send(int to, const void *bytes, size_t count)
{
	check_node(to);
	pd_measure_sent(to, count);
	pd_net_send(to, pd_measure_header(count, 0), bytes, count);
}

void pd_receive(int from, void *bytes, size_t count)
{
	check_node(from);
	pd_net_receive(from, bytes, count, NULL);
}

void pd_receive_timed(int from, void *bytes, size_t count, uint64_t *wait_ticks)
{
	check_node(from);
	pd_net_receive(from, bytes, count, wait_ticks);
}

/* ---- data of phases ---- */

static void *get_scratch(size_t bytes)
{
	if (bytes > scratch_bytes) {
		free(scratch);
		scratch = malloc(bytes);
		if (!scratch)
			pd_die_out_of_memory();
		scratch_bytes = bytes;
	}
	return scratch;
}

static size_t array_bytes(const struct pd_array *array)
{
	size_t bytes = array->element_bytes;

	for (int d = 0; d < array->rank; d++)
		bytes *= (size_t)array->extent[d];
	return bytes;
}

/* Address space for a whole array; pages that are never touched cost nothing. */
static void *storage_of(int phase, int param)
{
	const struct pd_array *array = pd_state.program->phases[phase].arrays[param];
	void **place = &storages[phase][param];

	if (!*place) {
		*place = mmap(NULL, array_bytes(array) + 64, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (*place == MAP_FAILED)
			pd_die_out_of_memory();
	}
	return *place;
}

static struct pd_header header_of_part(size_t bytes)
{
	return pd_state.me == pd_state.host_process ? pd_measure_header(bytes, 0)
						    : pd_measure_collection_header(bytes);
}

static void send_part(const struct pd_array *array, int node, const void *from, int to)
{
	size_t bytes = pd_part_bytes(array, pd_state.program->nodes, node);
	void *packed = get_scratch(bytes);

	if (!bytes)
		return;
	pd_part_pack(array, pd_state.program->nodes, node, from, packed);
	pd_net_send(to, header_of_part(bytes), packed, bytes);
}

static void receive_part(const struct pd_array *array, int node, void *into, int from)
{
	size_t bytes = pd_part_bytes(array, pd_state.program->nodes, node);
	void *packed = get_scratch(bytes);
	struct pd_header header;

	if (!bytes)
		return;
	header = pd_net_receive(from, packed, bytes, NULL);
	if (pd_state.me == pd_state.host_process)
		pd_measure_collected(node, header);
	pd_part_unpack(array, pd_state.program->nodes, node, into, packed);
}

static void copy_part(const struct pd_array *array, int node, const void *from, void *into)
{
	void *packed = get_scratch(pd_part_bytes(array, pd_state.program->nodes, node));

	pd_part_pack(array, pd_state.program->nodes, node, from, packed);
	pd_part_unpack(array, pd_state.program->nodes, node, into, packed);
}

/* OUT, too, unless all of it is written: what a phase leaves out keeps its value. */
static bool is_brought(const struct pd_array *array)
{
	return array && !array->is_overwritten;
}

/* Results of a replicated array come from node 0; of a distributed one from every owner. */
static bool gives_back(const struct pd_array *array, int node)
{
	return array->mode != PD_IN && (array->is_distributed || node == 0);
}

static void run_node(int phase, void **storage, const union pd_scalar *scalars)
{
	struct pd_phase_times *times = &pd_state.phase_times[phase];
	uint64_t start = pd_now_ticks();

	pd_state.event_ticks = start;
	pd_state.program->phases[phase].run(storage, scalars);
	times->run_ticks += pd_now_ticks() - start;
	times->calls++;
}

/* ---- nodes ---- */

struct trigger {
	int64_t phase; /* -1: the end */
};

static size_t scalars_bytes(const struct pd_phase *ph)
{
	return sizeof(union pd_scalar) * ((size_t)ph->param_count + 1);
}

static void node_phase(int phase)
{
	const struct pd_phase *ph = &pd_state.program->phases[phase];
	struct pd_phase_times *times = &pd_state.phase_times[phase];
	union pd_scalar scalars[PD_PARAMS_MAX];
	void *storage[PD_PARAMS_MAX];
	uint64_t start = pd_now_ticks(), end;

	pd_net_receive(pd_state.host_process, scalars, scalars_bytes(ph), NULL);
	pd_measure_receive_order();
	for (int i = 0; i < ph->param_count; i++) {
		storage[i] = ph->arrays[i] ? storage_of(phase, i) : NULL;
		if (is_brought(ph->arrays[i]))
			receive_part(ph->arrays[i], pd_state.me, storage[i], pd_state.host_process);
	}
	end = pd_now_ticks();
	times->distribution_ticks += end - start;
	run_node(phase, storage, scalars);
	start = pd_now_ticks();
	for (int i = 0; i < ph->param_count; i++)
		if (ph->arrays[i] && gives_back(ph->arrays[i], pd_state.me))
			send_part(ph->arrays[i], pd_state.me, storage[i], pd_state.host_process);
	times->collection_ticks += pd_now_ticks() - start;
}

static void node_loop(void)
{
	struct trigger trigger;

	for (;;) {
		uint64_t waited = 0;

		pd_net_receive(pd_state.host_process, &trigger, sizeof(trigger), &waited);
		if (trigger.phase < 0 || trigger.phase >= pd_state.program->phase_count)
			break;
		pd_state.phase_times[trigger.phase].trigger_ticks += waited;
		node_phase((int)trigger.phase);
	}
	pd_measure_give();
	pd_net_finish();
}

/* ---- host ---- */

static bool is_remote(int node)
{
	return node != pd_state.host_process;
}

void pd_call(int phase, void *const *arrays, const union pd_scalar *scalars)
{
	const struct pd_phase *ph = &pd_state.program->phases[phase];
	struct trigger trigger = { phase };
	union pd_scalar sent[PD_PARAMS_MAX];
	void *storage[PD_PARAMS_MAX];
	size_t bytes = scalars_bytes(ph);

	memset(sent, 0, bytes);
	memcpy(sent, scalars, sizeof(*scalars) * (size_t)ph->param_count);
	for (int node = 0; node < pd_state.program->nodes; node++) {
		if (!is_remote(node))
			continue;
		pd_net_send(node, pd_measure_header(sizeof(trigger), 0), &trigger, sizeof(trigger));
		pd_net_send(node, pd_measure_header(bytes, 0), sent, bytes);
		pd_measure_send_order(node);
	}
	for (int i = 0; i < ph->param_count; i++) {
		storage[i] = ph->arrays[i] && !is_remote(0) ? storage_of(phase, i) : NULL;
		for (int node = 0; node < pd_state.program->nodes; node++) {
			if (!is_brought(ph->arrays[i]))
				continue;
			if (is_remote(node))
				send_part(ph->arrays[i], node, arrays[i], node);
			else
				copy_part(ph->arrays[i], node, arrays[i], storage[i]);
		}
	}
	if (!is_remote(0)) {
		pd_measure_order_inside();
		run_node(phase, storage, sent);
		pd_measure_ran_inside();
	}
	for (int node = 0; node < pd_state.program->nodes; node++)
		for (int i = 0; i < ph->param_count; i++) {
			if (!ph->arrays[i] || !gives_back(ph->arrays[i], node))
				continue;
			if (is_remote(node))
				receive_part(ph->arrays[i], node, arrays[i], node);
			else
				copy_part(ph->arrays[i], node, storage[i], arrays[i]);
		}
}

static void finish(void)
{
	struct trigger trigger = { -1 };

	if (is_finished)
		return;
	is_finished = true;
	for (int node = 0; node < pd_state.program->nodes; node++)
		if (is_remote(node))
			pd_net_send(node, pd_measure_header(sizeof(trigger), 0), &trigger,
				    sizeof(trigger));
	pd_measure_collect();
	pd_net_finish();
}

int pd_main(const struct pd_program *program, int argc, char **argv, int (*host)(int, char **))
{
	int status;

	pd_state.program = program;
	pd_state.host_process = program->host_inside ? 0 : program->nodes;
	pd_state.process_count = program->nodes + !program->host_inside;
	fflush(NULL);
	pd_clocks_begin();
	pd_state.me = pd_net_start(&argc, &argv, pd_state.process_count, program->nodes,
				   pd_state.host_process);
	storages = pd_alloc_zeroed((size_t)program->phase_count, sizeof(*storages));
	for (int i = 0; i < program->phase_count; i++)
		storages[i] = pd_alloc_zeroed((size_t)program->phases[i].param_count + 1,
					      sizeof(**storages));
	pd_measure_start();
	if (pd_state.me != pd_state.host_process) {
		node_loop();
		_exit(0);
	}
	atexit(finish);
	status = host(argc, argv);
	finish();
	return status;
}

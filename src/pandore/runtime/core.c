/* Host and nodes: starting, triggering phases, bringing data there and back, ending. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pandore/runtime/runtime.h"

/* Linux 5.14 */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum {
	PAGE_BYTES = 4096,
	POPULATED_BYTES = 64 << 10,
	SPARES_MAX = 64,
	/* What a node prepares before the first call: whole arrays up to here ... */
	SPARE_WHOLE_BYTES_MAX = 32 << 20,
	/* ... else its own parts, together up to here. */
	SPARE_BYTES_MAX = 256 << 20,
};

struct pd_state pd_state;
int pd_nodes;

static bool is_finished, is_calling;

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

/*
 * An array of the host, by its address. A node keeps a slot for it under the same number. If the
 * host looks at it only by ways that we see (pd_stay, pd_look), it stays on the nodes between phases
 * with the same layout; it is away while they hold its values.
 */
struct placed {
	void *base;
	struct pd_array layout; /* on the nodes, if it is there */
	int is_away, may_stay;
	int is_stale; /* only the nodes have the values */
};

/* A node's storage of an array: address space for all of it. */
struct slot {
	void *storage;
	size_t bytes;
	struct pd_array layout; /* of the last phase that had it */
};

/* What the host says of an array: its slot, whether the host sends it, and whether the nodes send it
 * back. */
struct passed {
	int32_t slot, is_brought, is_taken;
};

/* A parameter of a phase: an array or a scalar. */
struct argument {
	struct passed passed;
	union pd_scalar scalar;
};

struct trigger {
	int64_t phase; /* or one of: */
	int64_t value; /* of TAKE: the slot; of a phase: whether to say that it is over */
};

enum { END = -1, TAKE = -2, ASK = -3 };

int pd_away;
static struct placed *placed;
static int placed_count, placed_capacity;
static struct slot *slots;
static int slot_count;
static struct pd_runs runs;

/* Phases that the host has called, and not asked since whether they are over. */
static int is_ahead, unfinished;

enum { UNFINISHED_MAX = 64 };

/* What x86-64 gives a process. */
#define ARRAY_BYTES_MAX ((size_t)1 << 46)

static size_t array_bytes(const struct pd_array *array)
{
	size_t bytes = array->element_bytes;

	for (int d = 0; d < array->rank; d++)
		bytes *= (size_t)array->extent[d];
	return bytes;
}

static size_t checked_bytes(const char *phase, const char *name, size_t element_bytes, int rank,
			    const long *extent)
{
	size_t bytes = element_bytes;

	for (int d = 0; d < rank; d++) {
		if (extent[d] < 1)
			pd_die("%s%s'%s' has the extent %ld; it is at least 1", phase,
			       *phase ? ": " : "", name, extent[d]);
		if (__builtin_mul_overflow(bytes, (size_t)extent[d], &bytes) ||
		    bytes > ARRAY_BYTES_MAX)
			pd_die("%s%s'%s' is larger than the address space of a process", phase,
			       *phase ? ": " : "", name);
	}
	return bytes;
}

void pd_lay_out(const char *phase, struct pd_array *a)
{
	checked_bytes(phase, a->name, a->element_bytes, a->rank, a->extent);
	a->block_count = 1;
	for (int d = 0; a->is_distributed && d < a->rank; d++) {
		if (a->block[d] < 1)
			pd_die("phase '%s': a block of '%s' has the size %ld; it is at least 1: "
			       "round up, as in block((n + nodes - 1) / nodes)",
			       phase, a->name, a->block[d]);
		if (a->block[d] > a->extent[d])
			a->block[d] = a->extent[d];
		a->grid[d] = (a->extent[d] + a->block[d] - 1) / a->block[d];
		a->block_count *= a->grid[d];
	}
	a->per_node = (a->block_count + pd_nodes - 1) / pd_nodes;
}

static void *map_pages(size_t bytes)
{
	void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (pages == MAP_FAILED)
		pd_die_out_of_memory();
	return pages;
}

struct local {
	void *memory;
	size_t bytes;
};

void *pd_local(int number, const char *name, size_t element_bytes, int rank, const long *extent)
{
	static struct local *locals;
	static int count;
	size_t bytes = checked_bytes("", name, element_bytes, rank, extent);

	if (!locals || number >= count) {
		locals = realloc(locals, ((size_t)number + 1) * sizeof(*locals));
		if (!locals)
			pd_die_out_of_memory();
		memset(locals + count, 0, (size_t)(number + 1 - count) * sizeof(*locals));
		count = number + 1;
	}
	if (locals[number].bytes < bytes) {
		if (locals[number].memory)
			munmap(locals[number].memory, locals[number].bytes);
		locals[number].memory = map_pages(bytes);
		locals[number].bytes = bytes;
	}
	return locals[number].memory;
}

static bool has_same_layout(const struct pd_array *a, const struct pd_array *b)
{
	if (a->element_bytes != b->element_bytes || a->rank != b->rank ||
	    a->is_distributed != b->is_distributed || a->is_wrapped != b->is_wrapped)
		return false;
	for (int d = 0; d < a->rank; d++)
		if (a->extent[d] != b->extent[d] ||
		    (a->is_distributed &&
		     (a->block[d] != b->block[d] || a->order[d] != b->order[d])))
			return false;
	return true;
}

/* The pages of what will be touched anyway, all at once, and large ones if the kernel has some. Where it
 * cannot, pages come one by one. */
static void make_pages(char *place, size_t bytes)
{
	uintptr_t first = (uintptr_t)place + PAGE_BYTES - 1, end = (uintptr_t)place + bytes;

	first -= first % PAGE_BYTES;
	end -= end % PAGE_BYTES;
	if (end < first + POPULATED_BYTES)
		return;
	madvise((void *)first, end - first, MADV_HUGEPAGE);
	madvise((void *)first, end - first, MADV_POPULATE_WRITE);
}

static void make_own_pages(const struct pd_array *array, void *storage)
{
	pd_part_runs(array, pd_state.program->nodes, pd_state.me, storage, &runs);
	for (size_t i = 0; i < runs.count; i++)
		make_pages(runs.items[i].place, runs.items[i].bytes);
}

static size_t storage_bytes(const struct pd_array *array)
{
	return array_bytes(array) + 64;
}

/* ---- pages before the first call ---- */

/*
 * A node has nothing to do until the host's first call. It makes the pages of the arrays that this
 * call may bring, for the first touch of a page can cost more than the bytes that go there.
 */
static struct spare {
	void *storage; /* NULL: taken */
	const struct pd_array *layout;
} spares[SPARES_MAX];
static int spare_count;

static int count_alike(const struct pd_phase *ph, int end, const struct pd_array *array)
{
	int count = 0;

	for (int i = 0; i < end; i++)
		count += ph->arrays[i] && has_same_layout(ph->arrays[i], array);
	return count;
}

static int count_spares(const struct pd_array *array)
{
	int count = 0;

	for (int i = 0; i < spare_count; i++)
		count += has_same_layout(spares[i].layout, array);
	return count;
}

/* As many arrays of each layout as a phase has at most. */
static void list_spares(void)
{
	const struct pd_program *p = pd_state.program;

	for (int phase = 0; phase < p->phase_count; phase++) {
		const struct pd_phase *ph = &p->phases[phase];

		for (int i = 0; !ph->lay_out && i < ph->param_count; i++)
			if (ph->arrays[i] && spare_count < SPARES_MAX &&
			    count_spares(ph->arrays[i]) <= count_alike(ph, i, ph->arrays[i]))
				spares[spare_count++].layout = ph->arrays[i];
	}
}

static void make_spares(void)
{
	size_t whole = 0, own = 0;

	list_spares();
	for (int i = 0; i < spare_count; i++)
		whole += storage_bytes(spares[i].layout);
	for (int i = 0; i < spare_count; i++) {
		const struct pd_array *array = spares[i].layout;

		spares[i].storage = map_pages(storage_bytes(array));
		if (whole <= SPARE_WHOLE_BYTES_MAX) {
			make_pages(spares[i].storage, array_bytes(array));
			continue;
		}
		pd_part_runs(array, pd_state.program->nodes, pd_state.me, spares[i].storage, &runs);
		own += runs.bytes;
		if (own <= SPARE_BYTES_MAX)
			make_own_pages(array, spares[i].storage);
	}
}

static void *take_spare(const struct pd_array *array)
{
	for (int i = 0; i < spare_count; i++)
		if (spares[i].storage && has_same_layout(spares[i].layout, array)) {
			void *storage = spares[i].storage;

			spares[i].storage = NULL;
			return storage;
		}
	return NULL;
}

/* Pages that are never touched cost nothing. */
static void *storage_of(int number, const struct pd_array *array)
{
	size_t bytes = storage_bytes(array);
	struct slot *slot;

	if (number >= slot_count) {
		slots = realloc(slots, ((size_t)number + 1) * sizeof(*slots));
		if (!slots)
			pd_die_out_of_memory();
		memset(slots + slot_count, 0, (size_t)(number + 1 - slot_count) * sizeof(*slots));
		slot_count = number + 1;
	}
	slot = &slots[number];
	slot->layout = *array;
	if (slot->bytes < bytes) {
		if (slot->storage)
			munmap(slot->storage, slot->bytes);
		slot->storage = take_spare(array);
		slot->bytes = bytes;
		if (slot->storage)
			return slot->storage;
		slot->storage = map_pages(bytes);
		make_own_pages(array, slot->storage);
	}
	return slot->storage;
}

static struct pd_header header_of_part(size_t bytes)
{
	return pd_state.me == pd_state.host_process ? pd_measure_header(bytes, 0)
						    : pd_measure_collection_header(bytes);
}

static void send_part(const struct pd_array *array, int node, void *from, int to)
{
	pd_part_runs(array, pd_state.program->nodes, node, from, &runs);
	if (runs.bytes)
		pd_net_send_runs(to, header_of_part(runs.bytes), runs.items, runs.count);
}

static void receive_part(const struct pd_array *array, int node, void *into, int from)
{
	struct pd_header header;

	pd_part_runs(array, pd_state.program->nodes, node, into, &runs);
	if (!runs.bytes)
		return;
	header = pd_net_receive_runs(from, runs.items, runs.count);
	if (pd_state.me == pd_state.host_process)
		pd_measure_collected(node, header);
}

/* OUT, too, unless all of it is written: what a phase leaves out keeps its value. */
static bool is_brought(const struct pd_array *array)
{
	return array && !array->is_overwritten;
}

/* Results of a replicated array come from node 0; of a distributed one from every owner. */
static bool gives_back(const struct pd_array *array, int node)
{
	return array && (array->is_distributed || node == 0);
}

/* `arguments` say which arrays the host has sent: they are new. */
static void run_node(int phase, void **storage, const union pd_scalar *scalars,
		     const struct argument *arguments)
{
	const struct pd_phase *ph = &pd_state.program->phases[phase];

	pd_measure_run_begin(phase);
	for (int i = 0; i < ph->param_count; i++)
		if (ph->arrays[i] &&
		    (arguments[i].passed.is_brought || ph->arrays[i]->mode != PD_IN))
			pd_changed(storage[i]);
	pd_state.program->phases[phase].run(storage, scalars);
	pd_measure_run_end(phase);
}

/* ---- nodes ---- */

static size_t arguments_bytes(const struct pd_phase *ph)
{
	return sizeof(struct argument) * ((size_t)ph->param_count + 1);
}

static void say_end(void)
{
	pd_net_send(pd_state.host_process, pd_measure_collection_header(0), NULL, 0);
}

static void node_phase(int phase, bool wants_end)
{
	const struct pd_phase *ph = &pd_state.program->phases[phase];
	struct pd_phase_times *times = &pd_state.phase_times[phase];
	struct argument arguments[PD_PARAMS_MAX + 1];
	union pd_scalar scalars[PD_PARAMS_MAX + 1];
	void *storage[PD_PARAMS_MAX] = { NULL };
	uint64_t start = pd_now_ticks(), end;
	int host = pd_state.host_process;

	pd_net_receive(host, arguments, arguments_bytes(ph), NULL);
	pd_measure_receive_order();
	for (int i = 0; i < ph->param_count; i++)
		scalars[i] = arguments[i].scalar;
	if (ph->lay_out)
		ph->lay_out(scalars);
	for (int i = 0; i < ph->param_count; i++) {
		const struct passed *passed = &arguments[i].passed;

		storage[i] = ph->arrays[i] ? storage_of(passed->slot, ph->arrays[i]) : NULL;
		if (passed->is_brought)
			receive_part(ph->arrays[i], pd_state.me, storage[i], host);
	}
	end = pd_now_ticks();
	times->distribution_ticks += end - start;
	run_node(phase, storage, scalars, arguments);
	start = pd_now_ticks();
	for (int i = 0; i < ph->param_count; i++)
		if (arguments[i].passed.is_taken && gives_back(ph->arrays[i], pd_state.me))
			send_part(ph->arrays[i], pd_state.me, storage[i], host);
	pd_net_settle();
	if (wants_end)
		say_end();
	times->collection_ticks += pd_now_ticks() - start;
}

static void node_loop(void)
{
	struct trigger trigger;

	make_spares();
	for (;;) {
		uint64_t waited = 0;

		pd_net_receive(pd_state.host_process, &trigger, sizeof(trigger), &waited);
		if (trigger.phase == TAKE && trigger.value >= 0 && trigger.value < slot_count) {
			const struct slot *slot = &slots[trigger.value];

			if (gives_back(&slot->layout, pd_state.me))
				send_part(&slot->layout, pd_state.me, slot->storage,
					  pd_state.host_process);
			pd_net_settle();
			continue;
		}
		if (trigger.phase == ASK) {
			say_end();
			continue;
		}
		if (trigger.phase < 0 || trigger.phase >= pd_state.program->phase_count)
			break;
		pd_state.phase_times[trigger.phase].trigger_ticks += waited;
		node_phase((int)trigger.phase, trigger.value);
	}
	pd_measure_give();
	pd_net_finish();
}

/* ---- host ---- */

static bool is_remote(int node)
{
	return node != pd_state.host_process;
}

static struct placed *placed_at(const void *base)
{
	for (int i = 0; i < placed_count; i++)
		if (placed[i].base == base)
			return &placed[i];
	return NULL;
}

static struct placed *place(void *base)
{
	struct placed *p = placed_at(base);

	if (p)
		return p;
	if (placed_count == placed_capacity) {
		placed_capacity = placed_capacity ? placed_capacity * 2 : 16;
		placed = realloc(placed, (size_t)placed_capacity * sizeof(*placed));
		if (!placed)
			pd_die_out_of_memory();
	}
	placed[placed_count] = (struct placed){ .base = base };
	return &placed[placed_count++];
}

static void send_trigger(int node, struct trigger trigger)
{
	pd_net_send(node, pd_measure_header(sizeof(trigger), 0), &trigger, sizeof(trigger));
}

static void set_away(struct placed *p, const struct pd_array *layout)
{
	pd_away += !p->is_away;
	p->is_away = 1;
	p->layout = *layout;
}

static void take_parts(const struct pd_array *array, void *base)
{
	for (int node = 0; node < pd_state.program->nodes; node++)
		if (is_remote(node) && gives_back(array, node))
			receive_part(array, node, base, node);
}

static void hear_ends(void)
{
	for (int node = 0; node < pd_state.program->nodes; node++)
		if (is_remote(node))
			pd_measure_collected(node, pd_net_receive(node, NULL, 0, NULL));
	unfinished = 0;
}

/* A node answers when it has done all that it was told before. */
static void wait_for_ends(void)
{
	if (!unfinished)
		return;
	for (int node = 0; node < pd_state.program->nodes; node++)
		if (is_remote(node))
			send_trigger(node, (struct trigger){ ASK, 0 });
	hear_ends();
}

void pd_ahead_begin(void)
{
	is_ahead = 1;
}

void pd_ahead_end(void)
{
	is_ahead = 0;
	wait_for_ends();
}

/* The host has the values again, and may change them. */
static void bring_home(struct placed *p)
{
	const struct pd_array *array = &p->layout;

	if (p->is_stale) {
		for (int node = 0; node < pd_state.program->nodes; node++)
			if (is_remote(node) && gives_back(array, node))
				send_trigger(node, (struct trigger){ TAKE, p - placed });
		take_parts(array, p->base);
	}
	p->is_stale = 0;
	pd_away -= p->is_away;
	p->is_away = 0;
}

void *pd_stay(void *base)
{
	place(base)->may_stay = 1;
	return base;
}

void pd_bring_home(const void *base)
{
	struct placed *p = placed_at(base);

	if (p && p->is_away)
		bring_home(p);
}

/* Whether the host sends an array for this call, and takes it back. */
static struct passed pass(const struct pd_array *array, void *base)
{
	int is_new = !placed_at(base);
	struct placed *p = place(base);
	struct passed passed = { .slot = (int32_t)(p - placed) };
	int is_written = array->mode != PD_IN;

	if (is_new && array->is_overwritten)
		make_pages(base, array_bytes(array));
	bool may_stay = p->may_stay;

	p->may_stay = 0; /* each call says it anew */
	if (p->is_away && (!may_stay || !has_same_layout(&p->layout, array)))
		bring_home(p);
	passed.is_brought = is_brought(array) && !p->is_away;
	passed.is_taken = is_written && !may_stay;
	if (may_stay) {
		set_away(p, array);
		p->is_stale |= is_written;
	}
	return passed;
}

/* Elements of the first dimension are rows for the host, or it has a plain pointer. */
static void check_rows(const struct pd_phase *ph, const struct pd_array *array, size_t row)
{
	size_t wanted = array->element_bytes;

	for (int d = 1; d < array->rank; d++)
		wanted *= (size_t)array->extent[d];
	if (row != wanted && row != array->element_bytes)
		pd_die("phase '%s': the argument for '%s' has rows of %zu bytes, not %zu: its "
		       "sizes differ from the phase's",
		       ph->name, array->name, row, wanted);
}

static void check_overlap(const struct pd_phase *ph, void *const *arrays, int i, int k)
{
	const struct pd_array *a = ph->arrays[i], *b = ph->arrays[k];
	const char *x = arrays[i], *y = arrays[k];

	if ((a->mode != PD_IN || b->mode != PD_IN) &&
	    (x <= y ? (size_t)(y - x) < array_bytes(a) : (size_t)(x - y) < array_bytes(b)))
		pd_die("phase '%s': the arguments for '%s' and '%s' overlap and one of them is "
		       "written; pass arrays that are apart",
		       ph->name, a->name, b->name);
}

static void check_arguments(const struct pd_phase *ph, void *const *arrays, const size_t *rows)
{
	for (int i = 0; i < ph->param_count; i++) {
		if (!ph->arrays[i])
			continue;
		if (!arrays[i])
			pd_die("phase '%s': the argument for '%s' is NULL", ph->name,
			       ph->arrays[i]->name);
		check_rows(ph, ph->arrays[i], rows[i]);
		for (int k = 0; k < i; k++)
			if (ph->arrays[k])
				check_overlap(ph, arrays, i, k);
	}
}

/* The host that is node 0 has its part where it is, so the phase works on the host's own array. What
 * it receives there of other nodes' parts is current, or comes back from them in the end. */
void pd_call(int phase, void *const *arrays, const union pd_scalar *scalars, const size_t *rows)
{
	const struct pd_phase *ph = &pd_state.program->phases[phase];
	struct argument arguments[PD_PARAMS_MAX + 1];
	void *storage[PD_PARAMS_MAX] = { NULL };
	size_t bytes = arguments_bytes(ph);
	int wants_end = !is_ahead || unfinished >= UNFINISHED_MAX;

	is_calling = true;
	if (ph->lay_out)
		ph->lay_out(scalars);
	check_arguments(ph, arrays, rows);
	memset(arguments, 0, bytes);
	for (int i = 0; i < ph->param_count; i++) {
		storage[i] = arrays[i];
		arguments[i].scalar = scalars[i];
		if (ph->arrays[i])
			arguments[i].passed = pass(ph->arrays[i], arrays[i]);
	}
	for (int node = 0; node < pd_state.program->nodes; node++) {
		if (!is_remote(node))
			continue;
		send_trigger(node, (struct trigger){ phase, wants_end });
		pd_net_send(node, pd_measure_header(bytes, 0), arguments, bytes);
		pd_measure_send_order(node);
	}
	/* array by array, so that no node computes while another one waits for its first bytes */
	for (int i = 0; i < ph->param_count; i++)
		for (int node = 0; node < pd_state.program->nodes; node++)
			if (is_remote(node) && arguments[i].passed.is_brought)
				send_part(ph->arrays[i], node, arrays[i], node);
	pd_net_settle();
	if (!is_remote(0)) {
		pd_measure_order_inside();
		run_node(phase, storage, scalars, arguments);
		pd_measure_ran_inside();
	}
	for (int node = 0; node < pd_state.program->nodes; node++)
		for (int i = 0; i < ph->param_count; i++)
			if (is_remote(node) && arguments[i].passed.is_taken &&
			    gives_back(ph->arrays[i], node))
				receive_part(ph->arrays[i], node, arrays[i], node);
	/* a host that went on while nodes work could say more than the program does, if one of
	 * them fails */
	if (wants_end)
		hear_ends();
	else
		unfinished++;
	is_calling = false;
}

static void finish(void)
{
	if (is_finished)
		return;
	is_finished = true;
	if (is_calling && pd_net_kill()) { /* exit() in a handler of a signal */
		pd_keep_end(false);
		return;
	}
	wait_for_ends();
	for (int node = 0; node < pd_state.program->nodes; node++)
		if (is_remote(node))
			send_trigger(node, (struct trigger){ END, 0 });
	pd_measure_collect();
	pd_keep_end(true);
	pd_net_finish();
}

int pd_main(const struct pd_program *program, int argc, char **argv, int (*host)(int, char **))
{
	static struct pd_program of_run;
	int status;

	if (program->is_counting)
		return pd_count(program, argc, argv);
	of_run = *program;
	pd_state.program = &of_run;
	fflush(NULL);
	pd_net_guard();
	pd_clocks_begin();
	pd_keep_begin();
	of_run.nodes = pd_nodes = pd_net_begin(&argc, &argv, program->nodes, program->host_inside);
	pd_state.host_process = program->host_inside ? 0 : pd_nodes;
	pd_state.process_count = pd_nodes + !program->host_inside;
	pd_keep_share();
	pd_state.me = pd_net_start(pd_state.process_count, pd_nodes, pd_state.host_process);
	pd_measure_start();
	if (pd_state.me != pd_state.host_process) {
		node_loop();
		_exit(0);
	}
	pd_keep_watch();
	atexit(finish);
	status = host(argc, argv);
	finish();
	return status;
}

/* Moving sections: one message for each pair of nodes that has something to move. */
#include <stdlib.h>
#include <string.h>

#include "pandore/runtime/runtime.h"

struct buffer {
	char *bytes;
	size_t length, capacity;
};

struct part {
	int from;
	struct pd_section section;
};

struct exchange {
	const struct pd_moves *moves;
	char *storage;
	int nodes, me;
};

static struct buffer *outgoing; /* by node */
static struct part *incoming;
static size_t *incoming_bytes; /* by node */
static size_t incoming_count, incoming_capacity;
static struct buffer received;

static void reserve(struct buffer *b, size_t bytes)
{
	if (bytes <= b->capacity)
		return;
	b->capacity = bytes * 2;
	b->bytes = realloc(b->bytes, b->capacity);
	if (!b->bytes)
		pd_die_out_of_memory();
}

/* Copies a section to or from packed bytes; returns the end of the packed bytes. */
static char *copy_section(const struct pd_array *a, const struct pd_section *s, char *storage,
			  char *packed, int is_pack)
{
	int last = a->rank - 1;
	size_t size = a->element_bytes;
	long at[PD_DIMENSIONS_MAX], count = (s->last[last] - s->first[last]) / s->stride[last] + 1;
	size_t run = s->stride[last] == 1 ? (size_t)count * size : size;

	memcpy(at, s->first, sizeof(at));
	for (;;) {
		size_t offset = 0;
		char *place;
		int d;

		for (d = 0; d < a->rank; d++)
			offset = offset * (size_t)a->extent[d] + (size_t)at[d];
		place = storage + offset * size;
		for (long i = 0; i < (s->stride[last] == 1 ? 1 : count); i++) {
			memcpy(is_pack ? packed : place, is_pack ? place : packed, run);
			packed += run;
			place += (size_t)s->stride[last] * size;
		}
		for (d = last - 1; d >= 0 && (at[d] += s->stride[d]) > s->last[d]; d--)
			at[d] = s->first[d];
		if (d < 0)
			return packed;
	}
}

static void pack(struct exchange *x, const struct pd_section *section, int to)
{
	struct buffer *b = &outgoing[to];
	size_t bytes = (size_t)pd_section_count(section, x->moves->source->rank) *
		       x->moves->source->element_bytes;

	reserve(b, b->length + bytes);
	copy_section(x->moves->source, section, x->storage, b->bytes + b->length, 1);
	b->length += bytes;
}

static void expect(struct exchange *x, const struct pd_section *section)
{
	if (incoming_count == incoming_capacity) {
		incoming_capacity = incoming_capacity ? incoming_capacity * 2 : 64;
		incoming = realloc(incoming, incoming_capacity * sizeof(*incoming));
		if (!incoming)
			pd_die_out_of_memory();
	}
	incoming[incoming_count++] = (struct part){ section->from, *section };
	incoming_bytes[section->from] += (size_t)pd_section_count(section, x->moves->source->rank) *
					 x->moves->source->element_bytes;
}

static void take_section(const struct pd_section *section, void *context)
{
	struct exchange *x = context;

	if (section->from == x->me) {
		if (section->to >= 0)
			pack(x, section, section->to);
		for (int to = 0; section->to < 0 && to < x->nodes; to++)
			if (to != x->me)
				pack(x, section, to);
	} else if (section->to == x->me || section->to < 0) {
		expect(x, section);
	}
}

void pd_measured_send(int site, int to, const void *bytes, size_t count)
{
	const struct pd_program *p = pd_state.program;

	if (p->has_profile) {
		struct pd_counter *c = &pd_counters[site * p->nodes + to];

		c->messages++;
		c->bytes += count;
	}
	if (p->has_trace)
		pd_trace_send(site, to, bytes, count);
	else
		pd_send(to, bytes, count);
}

void pd_measured_receive(int site, int from, void *bytes, size_t count)
{
	const struct pd_program *p = pd_state.program;
	uint64_t *wait = p->has_profile ? &pd_counters[site * p->nodes + from].wait_ticks : NULL;

	if (p->has_trace)
		pd_trace_receive(site, from, bytes, count, wait);
	else
		pd_receive_timed(from, bytes, count, wait);
}

static void send_all(struct exchange *x)
{
	for (int to = 0; to < x->nodes; to++) {
		struct buffer *b = &outgoing[to];

		if (b->length)
			pd_measured_send(x->moves->site, to, b->bytes, b->length);
		b->length = 0;
	}
}

static void receive_from(struct exchange *x, int from)
{
	size_t bytes = incoming_bytes[from];
	char *packed;

	reserve(&received, bytes);
	packed = received.bytes;
	pd_measured_receive(x->moves->site, from, packed, bytes);
	for (size_t i = 0; i < incoming_count; i++)
		if (incoming[i].from == from)
			packed = copy_section(x->moves->source, &incoming[i].section, x->storage,
					      packed, 0);
	incoming_bytes[from] = 0;
}

void pd_exchange(const struct pd_moves *moves, void *storage, const long *target_base,
		 const long *source_base, const struct pd_range *loops)
{
	struct exchange x = { moves, storage, pd_state.program->nodes, pd_state.me };

	if (x.nodes == 1)
		return;
	if (!outgoing) {
		outgoing = pd_alloc_zeroed((size_t)x.nodes, sizeof(*outgoing));
		incoming_bytes = pd_alloc_zeroed((size_t)x.nodes, sizeof(*incoming_bytes));
	}
	incoming_count = 0;
	pd_sections(moves, target_base, source_base, loops, x.nodes, take_section, &x);
	send_all(&x);
	for (size_t i = 0; i < incoming_count; i++)
		if (incoming_bytes[incoming[i].from])
			receive_from(&x, incoming[i].from);
}

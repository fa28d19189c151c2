/*
 * Moving sections: whatever the references of one place need goes in one message for each pair of
 * nodes. Sections are noted first (pd_exchange, pd_inspect), then they move (pd_move).
 */
#include <stdlib.h>
#include <string.h>

#include "pandore/runtime/runtime.h"

struct exchange {
	const struct pd_moves *moves;
	char *storage;
	int nodes, me;
};

static struct pd_pieces *outgoing, *incoming; /* by node */
static char *packed;
static size_t packed_bytes;

/* Copies a section to or from packed bytes; returns the end of the packed bytes. */
static char *copy_section(const struct pd_array *a, const struct pd_section *s, char *storage,
			  char *bytes, int is_pack)
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
			memcpy(is_pack ? bytes : place, is_pack ? place : bytes, run);
			bytes += run;
			place += (size_t)s->stride[last] * size;
		}
		for (d = last - 1; d >= 0 && (at[d] += s->stride[d]) > s->last[d]; d--)
			at[d] = s->first[d];
		if (d < 0)
			return bytes;
	}
}

static void make_lists(int nodes)
{
	if (!outgoing) {
		outgoing = pd_alloc_zeroed((size_t)nodes, sizeof(*outgoing));
		incoming = pd_alloc_zeroed((size_t)nodes, sizeof(*incoming));
	}
}

static void add(struct exchange *x, struct pd_pieces *pieces, const struct pd_section *section,
		int to)
{
	long added = pd_pieces_add(pieces, x->storage, x->moves->source, x->moves->site, section);

	if (added < 0)
		pd_die_out_of_memory();
	if (to >= 0)
		pd_measure_bytes(x->moves->site, to,
				 (size_t)added * x->moves->source->element_bytes);
}

static void take_section(const struct pd_section *section, void *context)
{
	struct exchange *x = context;

	if (section->from == x->me) {
		for (int to = 0; to < x->nodes; to++)
			if (to != x->me && (section->to < 0 || section->to == to))
				add(x, &outgoing[to], section, to);
	} else if (section->to == x->me || section->to < 0) {
		add(x, &incoming[section->from], section, -1);
	}
}

void pd_exchange(const struct pd_moves *moves, void *storage, const long *target_base,
		 const long *source_base, const struct pd_range *loops)
{
	struct exchange x = { moves, storage, pd_state.program->nodes, pd_state.me };

	if (x.nodes == 1)
		return;
	make_lists(x.nodes);
	pd_sections(moves, target_base, source_base, loops, x.nodes, take_section, &x);
}

/* ---- messages ---- */

static void send_counted(int site, int to, const void *bytes, size_t count)
{
	const struct pd_program *p = pd_state.program;

	if (p->has_profile)
		pd_counters[site * p->nodes + to].messages++;
	if (p->has_trace)
		pd_trace_send(site, to, bytes, count);
	else
		pd_send(to, bytes, count);
}

static void receive_counted(int site, int from, void *bytes, size_t count)
{
	const struct pd_program *p = pd_state.program;
	uint64_t *wait = p->has_profile ? &pd_counters[site * p->nodes + from].wait_ticks : NULL;

	if (p->has_trace)
		pd_trace_receive(site, from, bytes, count, wait);
	else
		pd_receive_timed(from, bytes, count, wait);
}

static size_t bytes_of(const struct pd_pieces *pieces)
{
	size_t bytes = 0;

	for (size_t i = 0; i < pieces->count; i++)
		bytes += (size_t)pd_section_count(&pieces->items[i].section,
						  pieces->items[i].array->rank) *
			 pieces->items[i].array->element_bytes;
	return bytes;
}

static char *packed_for(size_t bytes)
{
	if (bytes > packed_bytes) {
		packed_bytes = bytes * 2;
		free(packed);
		packed = malloc(packed_bytes);
		if (!packed)
			pd_die_out_of_memory();
	}
	return packed;
}

/* The message for, or from, one node: sections, then listed elements. */
static char *copy_pieces(struct pd_pieces *pieces, char *at, int is_pack)
{
	for (size_t i = 0; i < pieces->count; i++) {
		struct pd_piece *p = &pieces->items[i];

		at = copy_section(p->array, &p->section, (char *)(uintptr_t)p->storage, at,
				  is_pack);
	}
	pieces->count = 0;
	return at;
}

static void send_to(int to)
{
	size_t sections = bytes_of(&outgoing[to]), listed = pd_listed_bytes(to, 1);
	int site = outgoing[to].count ? outgoing[to].items[0].site : pd_listed_site(to, 1);
	char *bytes;

	if (!sections && !listed)
		return;
	bytes = packed_for(sections + listed);
	pd_listed_copy(to, copy_pieces(&outgoing[to], bytes, 1), 1);
	send_counted(site, to, bytes, sections + listed);
}

static void receive_from(int from)
{
	size_t sections = bytes_of(&incoming[from]), listed = pd_listed_bytes(from, 0);
	int site = incoming[from].count ? incoming[from].items[0].site : pd_listed_site(from, 0);
	char *bytes;

	if (!sections && !listed)
		return;
	bytes = packed_for(sections + listed);
	receive_counted(site, from, bytes, sections + listed);
	pd_listed_copy(from, copy_pieces(&incoming[from], bytes, 0), 0);
}

void pd_move(void)
{
	int nodes = pd_state.program->nodes;

	if (nodes == 1)
		return;
	make_lists(nodes);
	for (int to = 0; to < nodes; to++)
		send_to(to);
	for (int from = 0; from < nodes; from++)
		receive_from(from);
}

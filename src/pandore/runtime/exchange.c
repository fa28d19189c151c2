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

/* Copies a section to a message (`to`) or from it (`from`, and `to` is NULL); returns its bytes there. */
static size_t copy_section(const struct pd_array *a, const struct pd_section *s, char *storage,
			   char *to, const char *from)
{
	int last = a->rank - 1;
	size_t size = a->element_bytes;
	long at[PD_DIMENSIONS_MAX], count = (s->last[last] - s->first[last]) / s->stride[last] + 1;
	size_t run = s->stride[last] == 1 ? (size_t)count * size : size, bytes = 0;

	memcpy(at, s->first, sizeof(at));
	for (;;) {
		size_t offset = 0;
		char *place;
		int d;

		for (d = 0; d < a->rank; d++)
			offset = offset * (size_t)a->extent[d] + (size_t)at[d];
		place = storage + offset * size;
		for (long i = 0; i < (s->stride[last] == 1 ? 1 : count); i++) {
			memcpy(to ? to + bytes : place, to ? place : from + bytes, run);
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

static void send_counted(int site, int to, char *room, size_t count)
{
	const struct pd_program *p = pd_state.program;
	struct pd_header header =
		p->has_trace ? pd_trace_header(site, to, count) : pd_measure_header(count, 0);

	if (p->has_profile)
		pd_counters[site * p->nodes + to].messages++;
	pd_measure_sent(to, count);
	pd_net_send_filled(to, header, room, count);
}

static const char *receive_counted(int site, int from, size_t count)
{
	const struct pd_program *p = pd_state.program;
	uint64_t *wait = p->has_profile ? &pd_counters[site * p->nodes + from].wait_ticks : NULL;
	const char *bytes;
	struct pd_header header = pd_net_receive_there(from, &bytes, count, wait);

	if (p->has_trace)
		pd_trace_received(site, from, header);
	return bytes;
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

/* The message for, or from, one node: sections, then listed elements. Returns the sections' bytes. */
static size_t copy_pieces(struct pd_pieces *pieces, char *to, const char *from)
{
	size_t at = 0;

	for (size_t i = 0; i < pieces->count; i++) {
		struct pd_piece *p = &pieces->items[i];

		at += copy_section(p->array, &p->section, (char *)(uintptr_t)p->storage,
				   to ? to + at : NULL, to ? NULL : from + at);
	}
	pieces->count = 0;
	return at;
}

static void send_to(int to)
{
	size_t sections = bytes_of(&outgoing[to]), listed = pd_listed_bytes(to, 1);
	int site = outgoing[to].count ? outgoing[to].items[0].site : pd_listed_site(to, 1);
	char *room;

	if (!sections && !listed)
		return;
	room = pd_net_room(sections + listed);
	pd_listed_pack(to, room + copy_pieces(&outgoing[to], room, NULL));
	send_counted(site, to, room, sections + listed);
}

static void expect_from(int from)
{
	size_t bytes = bytes_of(&incoming[from]) + pd_listed_bytes(from, 0);

	if (bytes)
		pd_net_expect(from, bytes);
}

static void receive_from(int from)
{
	size_t sections = bytes_of(&incoming[from]), listed = pd_listed_bytes(from, 0);
	int site = incoming[from].count ? incoming[from].items[0].site : pd_listed_site(from, 0);
	const char *bytes;

	if (!sections && !listed)
		return;
	bytes = receive_counted(site, from, sections + listed);
	pd_listed_unpack(from, bytes + copy_pieces(&incoming[from], NULL, bytes));
}

/* What pd_move() would send is counted and forgotten. */
static void count_all(int nodes)
{
	for (int node = 0; node < nodes; node++) {
		const struct pd_pieces *out = &outgoing[node];

		if (out->count || pd_listed_bytes(node, 1))
			pd_counters[(out->count ? out->items[0].site : pd_listed_site(node, 1)) *
					    nodes +
				    node]
				.messages++;
		outgoing[node].count = incoming[node].count = 0;
		pd_listed_forget(node);
	}
	pd_count_moved();
}

void pd_move(void)
{
	int nodes = pd_state.program->nodes;

	if (nodes == 1)
		return;
	make_lists(nodes);
	if (pd_state.program->is_counting) {
		count_all(nodes);
		return;
	}
	for (int from = 0; from < nodes; from++)
		expect_from(from);
	for (int to = 0; to < nodes; to++)
		send_to(to);
	for (int from = 0; from < nodes; from++)
		receive_from(from);
	pd_net_hand_over(); /* they are all in this pd_move(), or will come here by themselves */
}

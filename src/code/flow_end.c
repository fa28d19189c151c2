/*
 * Follows control flow from an entry and marks the bytes that it meets. Where the marked bytes
 * end, with nothing that leads beyond, the function ends.
 */
#include "code/flow_end.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "unwind/insn.h"

enum { HOLE_MAX = 1024 /* bytes inside of a function that nothing seems to reach */ };

/* What is known of the instruction that begins at a byte. */
struct met {
	uint32_t walk;	      /* the last that came here */
	uint32_t branch_walk; /* the last in which a conditional branch led here */
	uint8_t length;
};

struct sn_flow_stretch {
	const uint8_t *bytes;
	uint64_t start, end;
	struct met *met; /* by byte */
	uint32_t walk;
	uint64_t last_branch; /* the furthest place to which a conditional branch led in it */
	bool is_broken;	      /* the walk met what is no instruction, or too many */
	uint32_t *used;
	SN_VEC(uint64_t) pending;
};

struct sn_flow_stretch *sn_flow_stretch_new(const struct sn_image *image, uint64_t start,
					    uint64_t end, uint32_t *used)
{
	size_t available;
	const uint8_t *bytes = sn_image_bytes(image, start, &available);
	struct sn_flow_stretch *s;

	if (!bytes || end <= start || *used >= SN_FLOW_INSTRUCTIONS_MAX)
		return NULL;
	if (end - start > available)
		end = start + available;
	if (end - start > SN_FLOW_STRETCH_MAX)
		end = start + SN_FLOW_STRETCH_MAX;
	s = sn_alloc(sizeof(*s));
	*s = (struct sn_flow_stretch){ .bytes = bytes, .start = start, .end = end, .used = used };
	s->met = sn_alloc_zeroed(end - start, sizeof(*s->met));
	return s;
}

void sn_flow_stretch_free(struct sn_flow_stretch *s)
{
	if (!s)
		return;
	sn_vec_free(&s->pending);
	free(s->met);
	free(s);
}

static struct met *met_at(const struct sn_flow_stretch *s, uint64_t at)
{
	return at >= s->start && at < s->end ? &s->met[at - s->start] : NULL;
}

static bool decode(const struct sn_flow_stretch *s, uint64_t at, struct sn_unwind_insn *insn)
{
	return sn_unwind_insn_decode(s->bytes + (at - s->start), s->end - at, insn);
}

static bool is_padding(const struct sn_unwind_insn *insn)
{
	if (insn->map == SN_UNWIND_MAP_TWO)
		return insn->opcode == 0x1f;
	return insn->map == SN_UNWIND_MAP_ONE &&
	       ((insn->opcode == 0x90 && insn->prefix != 0xf3) || insn->opcode == 0xcc);
}

static void lead_to(struct sn_flow_stretch *s, uint64_t target_addr, bool is_branch)
{
	struct met *target = met_at(s, target_addr);

	if (!target)
		return;
	if (is_branch) {
		target->branch_walk = s->walk;
		if (target_addr > s->last_branch)
			s->last_branch = target_addr;
	}
	if (target->walk != s->walk)
		sn_vec_push(&s->pending, target_addr);
}

/* Straight on to where control leaves for good, or has been. */
static void run(struct sn_flow_stretch *s, uint64_t at)
{
	struct sn_unwind_insn insn;
	enum sn_unwind_insn_flow flow;
	struct met *met;

	while ((met = met_at(s, at)) && met->walk != s->walk) {
		if (*s->used >= SN_FLOW_INSTRUCTIONS_MAX || !decode(s, at, &insn)) {
			s->is_broken = true;
			return;
		}
		++*s->used;
		met->walk = s->walk;
		met->length = insn.length;
		at += insn.length;
		flow = sn_unwind_insn_flow(&insn);
		if (flow == SN_UNWIND_FLOW_BRANCH || flow == SN_UNWIND_FLOW_JUMP)
			lead_to(s, at + (uint64_t)insn.immediate, flow == SN_UNWIND_FLOW_BRANCH);
		if (flow > SN_UNWIND_FLOW_BRANCH && flow != SN_UNWIND_FLOW_CALL)
			return;
	}
}

uint64_t sn_flow_skip_padding(const struct sn_flow_stretch *s, uint64_t at)
{
	struct sn_unwind_insn insn;

	while (at >= s->start && at < s->end) {
		if (!s->bytes[at - s->start])
			at++;
		else if (decode(s, at, &insn) && is_padding(&insn))
			at += insn.length;
		else
			break;
	}
	return at;
}

/* The next place behind a hole to which a conditional branch of this walk leads; 0: none. */
static uint64_t behind_hole(const struct sn_flow_stretch *s, uint64_t hole)
{
	const struct met *met;

	for (uint64_t at = hole; at - hole < HOLE_MAX && at <= s->last_branch; at++) {
		met = met_at(s, at);
		if (met->walk == s->walk && met->branch_walk == s->walk)
			return at;
	}
	return 0;
}

uint64_t sn_flow_end(struct sn_flow_stretch *s, uint64_t entry)
{
	uint64_t end = entry;
	const struct met *met;

	s->walk++;
	s->is_broken = false;
	s->last_branch = 0;
	s->pending.count = 0;
	sn_vec_push(&s->pending, entry);
	while (s->pending.count)
		run(s, s->pending.items[--s->pending.count]);
	for (uint64_t at = entry; at; at = behind_hole(s, end)) {
		while ((met = met_at(s, at)) && met->walk == s->walk)
			at += met->length;
		end = at;
	}
	return end;
}

bool sn_flow_is_sound(const struct sn_flow_stretch *s)
{
	return !s->is_broken;
}

bool sn_flow_is_end(const struct sn_flow_stretch *s, uint64_t at)
{
	return at >= s->end;
}

bool sn_flow_is_near_end(const struct sn_flow_stretch *s, uint64_t at)
{
	return at >= s->end || at - s->start > SN_FLOW_STRETCH_MAX / 2;
}

/* Results as bytes and back. Names go by their ids, so that both sides need not count alike. */
#include "search/simulate/result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "search/properties/write.h"

enum { SHARES_MOST = 1 << 20, LIST_MOST = 1 << 16 };

/* ---- writing ---- */

static const struct sn_tables *tables_of(const struct sn_search *s)
{
	return s->recorded->tables;
}

static uint32_t thread_in_process(const struct sn_tables *t, uint32_t thread)
{
	const struct sn_member *m = &t->members[SN_KEY_THREAD].items[thread];

	return thread - t->members[SN_KEY_PROCESS].items[m->parent].first_thread;
}

static void value_write(const struct sn_tables *t, struct sn_prop_type type,
			struct sn_prop_value value, struct sn_text *out)
{
	bool is_member = value.is_known && type.kind == SN_TYPE_MEMBER && type.member < SN_KEYS;
	bool is_thread = is_member && type.member == SN_KEY_THREAD;

	sn_body_u32(out, value.is_known);
	sn_body_double(out, value.is_known && !is_member ? value.number : 0);
	sn_body_u32(out, is_member ? (uint32_t)type.member : SN_ALL);
	sn_body_u32(out, is_thread ? t->members[SN_KEY_THREAD].items[value.member].parent : SN_ALL);
	sn_body_u32(out, is_thread   ? thread_in_process(t, value.member)
			 : is_member ? value.member
				     : SN_ALL);
}

static void members_write(const struct sn_search *s, const struct sn_finding *f,
			  struct sn_text *out)
{
	sn_body_u32(out, f ? (uint32_t)f->members.count : 0);
	for (size_t i = 0; f && i < f->members.count; i++) {
		const struct sn_finding_member *m = &f->members.items[i];

		sn_body_u32(out, m->process);
		sn_body_u32(out, m->thread == SN_ALL ? SN_ALL
						     : thread_in_process(tables_of(s), m->thread));
		sn_body_double(out, m->severity);
		sn_body_double(out, m->confidence);
	}
}

static double worst_of(const struct sn_finding *f)
{
	double worst = 0;

	for (size_t i = 0; f && i < f->members.count; i++)
		worst = fmax(worst, f->members.items[i].severity);
	return worst;
}

static void share_write(const struct sn_search *s, const struct sn_candidate *c,
			const struct sn_finding *f, uint32_t phase, struct sn_text *out)
{
	const struct sn_property *property = s->library->properties.items[c->what.property];
	const struct sn_tables *t = tables_of(s);
	size_t evidence = f ? property->evidence.count : 0;

	sn_text_add_char(out, SN_RESULT_SHARE);
	sn_body_u32(out, phase);
	sn_body_u32(out, f ? f->step : 0);
	sn_body_string(out, property->name);
	sn_body_string(out, sn_member_id(t, SN_KEY_REGION, c->what.region));
	sn_body_string(out, sn_member_id(t, SN_KEY_DATA, c->what.data));
	sn_body_double(out, isnan(c->severity) ? 0 : c->severity * sn_search_lanes(t));
	sn_body_double(out, worst_of(f));
	sn_body_string(out, f ? f->condition : NULL);
	sn_body_string(out, f ? f->explanation : NULL);
	sn_body_u32(out, (uint32_t)evidence);
	for (size_t i = 0; i < evidence; i++)
		value_write(t, property->evidence.items[i].expr->type, f->evidence[i], out);
	members_write(s, f, out);
}

static const struct sn_finding *finding_of(const struct sn_search *s, const struct sn_candidate *c)
{
	for (size_t i = 0; i < s->findings.count; i++)
		if (!memcmp(&s->findings.items[i].what, &c->what, sizeof(c->what)))
			return &s->findings.items[i];
	return NULL;
}

void sn_result_shares_write(const struct sn_search *s, uint32_t phase, sn_bodies *out)
{
	for (size_t i = 0; i < s->candidates.count; i++) {
		const struct sn_candidate *c = &s->candidates.items[i];
		const struct sn_finding *f = finding_of(s, c);
		struct sn_text body = { 0 };

		if (!f && !(c->severity > 0))
			continue;
		share_write(s, c, f, phase, &body);
		sn_vec_push(out, body);
	}
}

static void missing_write(const struct sn_search *s, struct sn_text *out)
{
	sn_body_u32(out, (uint32_t)s->not_measurable.count);
	for (size_t i = 0; i < s->not_measurable.count; i++) {
		const struct sn_not_measurable *m = &s->not_measurable.items[i];

		sn_body_string(out, s->library->properties.items[m->property]->name);
		sn_body_string(out, sn_member_id(tables_of(s), SN_KEY_REGION, m->region));
		sn_body_u32(out, (uint32_t)m->needs.count);
		for (size_t k = 0; k < m->needs.count; k++)
			sn_body_u32(out, m->needs.items[k]);
	}
}

void sn_result_phase_write(const struct sn_search *s, uint32_t phase, const struct sn_outbox *o,
			   uint32_t shares, struct sn_text *out)
{
	sn_text_add_char(out, SN_RESULT_PHASE);
	sn_body_u32(out, phase);
	sn_body_u32(out, shares);
	sn_body_u32(out, (uint32_t)s->steps.count);
	for (size_t i = 0; i < s->steps.count; i++) {
		sn_body_u32(out, s->steps.items[i].candidates);
		sn_body_u32(out, s->steps.items[i].proven);
		sn_body_u32(out, s->steps.items[i].not_measurable);
	}
	missing_write(s, out);
	sn_body_u32(out, (uint32_t)o->epochs.count);
	for (size_t i = 0; i < o->epochs.count; i++) {
		bool is_last = i + 1 == o->epochs.count;

		sn_body_u32(out, o->epochs.items[i].epoch);
		sn_body_u64(out, o->epochs.items[i].count + (is_last ? shares + 1 : 0));
	}
}

/* ---- reading ---- */

bool sn_result_head(const uint8_t *body, size_t length, enum sn_result_kind *kind, uint32_t *phase)
{
	struct sn_cursor cur = sn_cursor_over(body, length);
	uint8_t first = sn_cursor_u8(&cur);

	*kind = (enum sn_result_kind)first;
	*phase = sn_cursor_u32(&cur);
	return cur.status == SN_OK && (first == SN_RESULT_SHARE || first == SN_RESULT_PHASE);
}

static uint32_t count_read(struct sn_cursor *cur, uint32_t most)
{
	uint32_t count = sn_cursor_u32(cur);

	if (count > most)
		sn_cursor_fail(cur);
	return cur->status == SN_OK ? count : 0;
}

/* The index of a member by its id; SN_ALL: the id is NULL. An id that is not there fails the cursor. */
static uint32_t member_read(struct sn_cursor *cur, const struct sn_tables *t, enum sn_key kind)
{
	const char *id = sn_body_read_string(cur);
	uint32_t index = id ? sn_tables_member(t, kind, SN_ALL, id) : SN_ALL;

	if (id && index == SN_ALL)
		sn_cursor_fail(cur);
	return index;
}

static uint32_t property_read(struct sn_cursor *cur, const struct sn_library *library)
{
	const char *name = sn_body_read_string(cur);

	for (uint32_t i = 0; name && i < library->properties.count; i++)
		if (!strcmp(library->properties.items[i]->name, name))
			return i;
	sn_cursor_fail(cur);
	return 0;
}

struct place {
	const struct sn_tables *tables;
	uint32_t first, count; /* processes of the host */
};

/* Of the host's process and its thread the thread of all; SN_ALL: none. */
static uint32_t thread_at(struct sn_cursor *cur, const struct place *place, uint32_t process,
			  uint32_t thread)
{
	const struct sn_member *owner;

	if (thread == SN_ALL)
		return SN_ALL;
	if (process >= place->count) {
		sn_cursor_fail(cur);
		return SN_ALL;
	}
	owner = &place->tables->members[SN_KEY_PROCESS].items[place->first + process];
	if (thread >= owner->thread_count) {
		sn_cursor_fail(cur);
		return SN_ALL;
	}
	return owner->first_thread + thread;
}

static struct sn_prop_value value_read(struct sn_cursor *cur, const struct place *place)
{
	struct sn_prop_value value = { .is_known = sn_cursor_u32(cur) != 0 };
	uint32_t kind, process, index;

	value.number = sn_body_read_double(cur);
	kind = sn_cursor_u32(cur);
	process = sn_cursor_u32(cur);
	index = sn_cursor_u32(cur);
	if (kind == SN_ALL)
		return value;
	if (kind == SN_KEY_THREAD)
		value.member = thread_at(cur, place, process, index);
	else if (kind == SN_KEY_PROCESS || kind == SN_KEY_PEER)
		value.member = index < place->count ? place->first + index : SN_ALL;
	else
		value.member = kind < SN_KEYS && index < place->tables->members[kind].count
				       ? index
				       : SN_ALL;
	value.is_known = value.is_known && value.member != SN_ALL;
	return value;
}

static bool share_read(struct sn_cursor *cur, const struct place *place, struct sn_search *s,
		       struct sn_search_share *out)
{
	struct sn_prop_value *evidence;
	struct sn_finding_member *members;
	uint32_t count;

	out->step = sn_cursor_u32(cur);
	out->what.property = property_read(cur, s->library);
	out->what.region = member_read(cur, place->tables, SN_KEY_REGION);
	out->what.data = member_read(cur, place->tables, SN_KEY_DATA);
	out->loss = sn_body_read_double(cur);
	out->worst = sn_body_read_double(cur);
	out->condition = sn_body_read_string(cur);
	out->explanation = sn_body_read_string(cur);
	count = count_read(cur, LIST_MOST);
	evidence = sn_alloc_zeroed(
		s->library->properties.items[out->what.property]->evidence.count + count + 1,
		sizeof(*evidence));
	out->evidence = evidence;
	for (uint32_t i = 0; i < count && cur->status == SN_OK; i++)
		evidence[i] = value_read(cur, place);
	out->member_count = count_read(cur, (uint32_t)(sn_cursor_left(cur) / 24 + 1));
	members = sn_alloc_zeroed(out->member_count + 1, sizeof(*members));
	out->members = members;
	for (size_t i = 0; i < out->member_count; i++) {
		uint32_t process = sn_cursor_u32(cur), thread = sn_cursor_u32(cur);

		if (process >= place->count)
			sn_cursor_fail(cur);
		members[i].process = place->first + process;
		members[i].thread = thread_at(cur, place, process, thread);
		members[i].severity = sn_body_read_double(cur);
		members[i].confidence = sn_body_read_double(cur);
	}
	return cur->status == SN_OK && (!out->member_count || out->step) && out->loss >= 0;
}

/* The name that the property has: it lives as long as the search. */
static const char *condition_of(const struct sn_property *property, const char *name)
{
	for (size_t i = 0; name && i < property->conditions.count; i++)
		if (property->conditions.items[i].name &&
		    !strcmp(property->conditions.items[i].name, name))
			return property->conditions.items[i].name;
	return NULL;
}

bool sn_result_share_add(const uint8_t *body, size_t length, uint32_t first_process,
			 uint32_t processes, struct sn_search *s)
{
	const struct place place = { s->recorded->tables, first_process, processes };
	struct sn_cursor cur = sn_cursor_over(body, length);
	struct sn_search_share share = { 0 };
	bool is_good;

	sn_cursor_u8(&cur);
	sn_cursor_u32(&cur);
	is_good = share_read(&cur, &place, s, &share);
	if (is_good) {
		share.condition = condition_of(s->library->properties.items[share.what.property],
					       share.condition);
		sn_search_share_add(s, &share);
	}
	free((void *)(uintptr_t)share.evidence);
	free((void *)(uintptr_t)share.members);
	return is_good;
}

static void step_grow(struct sn_search *s, uint32_t step, uint32_t candidates, uint32_t proven,
		      uint32_t not_measurable)
{
	struct sn_search_step *of;

	while (s->steps.count <= step)
		sn_vec_push(&s->steps, (struct sn_search_step){ 0 });
	of = &s->steps.items[step];
	of->candidates = candidates > of->candidates ? candidates : of->candidates;
	of->proven = proven > of->proven ? proven : of->proven;
	if (not_measurable > of->not_measurable)
		of->not_measurable = not_measurable;
}

/* A property that several hosts miss stands once, with all that it lacks. */
static void missing_add(struct sn_search *s, uint32_t property, uint32_t region, uint32_t need)
{
	struct sn_not_measurable *missing = NULL,
				 fresh = { .property = property, .region = region };
	bool is_known = false;

	for (size_t i = 0; i < s->not_measurable.count; i++)
		if (s->not_measurable.items[i].property == property)
			missing = &s->not_measurable.items[i];
	if (!missing) {
		sn_vec_push(&s->not_measurable, fresh);
		missing = &sn_vec_last(&s->not_measurable);
	}
	for (size_t i = 0; i < missing->needs.count; i++)
		is_known = is_known || missing->needs.items[i] == need;
	if (!is_known && need != SN_ALL)
		sn_vec_push(&missing->needs, need);
}

static void missing_read(struct sn_cursor *cur, struct sn_search *s)
{
	uint32_t property = property_read(cur, s->library);
	uint32_t region = member_read(cur, tables_of(s), SN_KEY_REGION);
	uint32_t needs = count_read(cur, LIST_MOST);

	if (cur->status == SN_OK)
		missing_add(s, property, region, SN_ALL);
	for (uint32_t i = 0; i < needs && cur->status == SN_OK; i++) {
		uint32_t need = sn_cursor_u32(cur);

		if (need >= s->library->properties.items[property]->requests.count)
			sn_cursor_fail(cur);
		else if (cur->status == SN_OK)
			missing_add(s, property, region, need);
	}
}

bool sn_result_phase_add(const uint8_t *body, size_t length, struct sn_search *s)
{
	struct sn_cursor cur = sn_cursor_over(body, length);
	uint32_t count;

	sn_cursor_u8(&cur);
	sn_cursor_u32(&cur);
	sn_cursor_u32(&cur);
	count = count_read(&cur, LIST_MOST);
	for (uint32_t i = 0; i < count && cur.status == SN_OK; i++) {
		uint32_t candidates = sn_cursor_u32(&cur), proven = sn_cursor_u32(&cur);
		uint32_t not_measurable = sn_cursor_u32(&cur);

		if (cur.status == SN_OK)
			step_grow(s, i, candidates, proven, not_measurable);
	}
	count = count_read(&cur, LIST_MOST);
	for (uint32_t i = 0; i < count && cur.status == SN_OK; i++)
		missing_read(&cur, s);
	return cur.status == SN_OK;
}

/* Over what stands before the epochs. */
static void missing_skip(struct sn_cursor *cur)
{
	uint32_t count;

	sn_body_read_string(cur);
	sn_body_read_string(cur);
	count = count_read(cur, LIST_MOST);
	sn_cursor_skip(cur, (size_t)count * 4);
}

bool sn_result_phase_head(const uint8_t *body, size_t length, uint32_t *shares,
			  void (*epoch)(uint32_t epoch, uint64_t count, void *context),
			  void *context)
{
	struct sn_cursor cur = sn_cursor_over(body, length);
	uint32_t count;

	sn_cursor_u8(&cur);
	sn_cursor_u32(&cur);
	*shares = count_read(&cur, SHARES_MOST);
	count = count_read(&cur, LIST_MOST);
	sn_cursor_skip(&cur, (size_t)count * 12);
	count = count_read(&cur, LIST_MOST);
	for (uint32_t i = 0; i < count && cur.status == SN_OK; i++)
		missing_skip(&cur);
	count = count_read(&cur, SN_OUTBOX_EPOCHS_MOST);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t which = sn_cursor_u32(&cur);
		uint64_t results = sn_cursor_u64(&cur);

		if (cur.status == SN_OK)
			epoch(which, results, context);
	}
	return cur.status == SN_OK;
}

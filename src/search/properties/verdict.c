/* The contexts of a property on tables, and what a verdict says in words. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/properties/evaluate.h"
#include "search/properties/library.h"

/* ---- contexts ---- */

struct walk {
	const struct sn_tables *tables;
	const struct sn_property *property;
	void (*see)(const uint32_t keys[SN_KEYS], void *context);
	void *context;
	uint32_t keys[SN_KEYS];
	const uint32_t *fixed;
};

/* In this order, outermost first; a process is always there. */
static const enum sn_key order[SN_KEYS] = { SN_KEY_PROCESS, SN_KEY_REGION, SN_KEY_DATA,
					    SN_KEY_THREAD,  SN_KEY_LOCK,   SN_KEY_FILE,
					    SN_KEY_PEER };

static bool is_of_kind(const struct sn_prop_context *parameter, const struct sn_member *member)
{
	if (!parameter || !parameter->kinds.count)
		return true;
	for (size_t i = 0; i < parameter->kinds.count; i++)
		if (member->kind && !strcmp(member->kind, parameter->kinds.items[i]))
			return true;
	return false;
}

static void walk_level(struct walk *w, size_t level)
{
	enum sn_key kind;
	const struct sn_prop_context *parameter;
	const sn_member_vec *members;
	uint32_t first = 0, end;

	if (level == SN_KEYS) {
		w->see(w->keys, w->context);
		return;
	}
	kind = order[level];
	parameter = sn_property_parameter(w->property, kind);
	if (!parameter && kind != SN_KEY_PROCESS) {
		walk_level(w, level + 1);
		return;
	}
	members = &w->tables->members[kind == SN_KEY_PEER ? SN_KEY_PROCESS : kind];
	end = (uint32_t)members->count;
	if (kind == SN_KEY_THREAD) {
		const struct sn_member *process =
			&w->tables->members[SN_KEY_PROCESS].items[w->keys[SN_KEY_PROCESS]];

		first = process->first_thread;
		end = first + process->thread_count;
	}
	if (w->fixed[kind] != SN_ALL && kind != SN_KEY_THREAD && w->fixed[kind] < end) {
		first = w->fixed[kind];
		end = first + 1;
	}
	for (uint32_t m = first; m < end; m++) {
		if (w->fixed[kind] != SN_ALL && w->fixed[kind] != m)
			continue;
		if (!is_of_kind(parameter, &members->items[m]) ||
		    (kind == SN_KEY_PEER && m == w->keys[SN_KEY_PROCESS]))
			continue;
		w->keys[kind] = m;
		walk_level(w, level + 1);
	}
	w->keys[kind] = SN_ALL;
}

void sn_property_contexts(const struct sn_tables *tables, const struct sn_property *property,
			  const uint32_t fixed[SN_KEYS],
			  void (*see)(const uint32_t keys[SN_KEYS], void *context), void *context)
{
	struct walk w = { .tables = tables,
			  .property = property,
			  .see = see,
			  .context = context,
			  .fixed = fixed };

	for (int k = 0; k < SN_KEYS; k++)
		w.keys[k] = SN_ALL;
	walk_level(&w, 0);
}

/* ---- words ---- */

void sn_prop_request_print(const struct sn_prop_request *request, struct sn_text *out)
{
	sn_text_add(out, request->metric->name);
	if (request->level)
		sn_text_addf(out, "(%s)", request->level);
}

static const struct sn_member *member_of(const struct sn_tables *tables, int kind, uint32_t index)
{
	if (kind >= SN_KEYS)
		return NULL;
	return &tables->members[kind == SN_KEY_PEER ? SN_KEY_PROCESS : kind].items[index];
}

/* Larger ones are no counts that anybody reads, nor whole numbers of 64 bits. */
static const double count_most = 1e15;

void sn_prop_value_print(const struct sn_tables *tables, struct sn_prop_type type,
			 struct sn_prop_value value, const char *format, struct sn_text *out)
{
	const struct sn_member *member;

	if (!value.is_known) {
		sn_text_add(out, "?");
	} else if (type.kind == SN_TYPE_MEMBER) {
		member = member_of(tables, type.member, value.member);
		if (member)
			sn_member_add_shown(member, out);
		else
			sn_text_add(out, "?");
	} else if (type.kind == SN_TYPE_BOOL) {
		sn_text_add(out, value.number != 0 ? "true" : "false");
	} else if (format && sn_starts_with(format, SN_PROP_DURATION)) {
		sn_text_add_duration(out, value.number);
	} else if (format && format[2] == '%') {
		sn_text_addf(out, "%.*f %%", format[1] - '0', 100 * value.number);
	} else if (format && format[1] == '0' && fabs(value.number) < count_most) {
		sn_text_add(out, value.number <= -0.5 ? "-" : "");
		sn_text_add_count(out, (uint64_t)rint(fabs(value.number)));
	} else if (format) {
		sn_text_addf(out, "%.*f", format[1] - '0', value.number);
	} else {
		sn_text_add_number(out, value.number);
	}
}

void sn_prop_value_print_whole(const struct sn_tables *tables, struct sn_prop_type type,
			       struct sn_prop_value value, struct sn_text *out)
{
	const struct sn_member *member;

	if (value.is_known && type.kind == SN_TYPE_NUMBER) {
		sn_text_add_double(out, value.number);
	} else if (value.is_known && type.kind == SN_TYPE_MEMBER) {
		member = member_of(tables, type.member, value.member);
		sn_text_add(out, member ? sn_member_whole_name(member) : "?");
	} else {
		sn_prop_value_print(tables, type, value, NULL, out);
	}
}

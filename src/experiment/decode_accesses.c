/*
 * Windows of traces: the words of one instance of a loop (wire/accesses.h), by the loop's table. Both may
 * be damaged: every number is checked before it is used.
 */
#include <string.h>

#include "experiment/decode_parts.h"
#include "wire/accesses.h"

enum { RECORDS_MIN = 1 << 12, RECORDS_A_WORD = 256 };

/* ---- tables: in the first pass ---- */

/* A table that makes sense. */
struct access_table {
	const struct sn_access_table *head;
	const struct sn_access_site *sites;
	const struct sn_access_group *groups;
	const struct sn_access_line *lines;
	const struct sn_access_member *members;
};

static struct access_bytes *bytes_of(struct image *image, uint32_t loop)
{
	for (size_t i = 0; i < image->access_tables.count; i++)
		if (image->access_tables.items[i].loop == loop)
			return &image->access_tables.items[i];
	return NULL;
}

void sn_decode_access_table(struct image *image, const struct sn_record_access_table *record)
{
	uint32_t room = record->header.size_bytes - (uint32_t)sizeof(*record);
	struct access_bytes *table = bytes_of(image, record->loop);
	uint32_t part;

	if (record->total_bytes > SN_ACCESS_TABLE_MAX || record->offset >= record->total_bytes) {
		image->damaged++;
		return;
	}
	if (!table) {
		struct access_bytes none = { record->loop, record->total_bytes, 0, NULL };

		none.bytes = sn_arena_array(&image->decoder->experiment->arena, uint8_t,
					    (record->total_bytes + 8u) & ~7u);
		sn_vec_push(&image->access_tables, none);
		table = &sn_vec_last(&image->access_tables);
	}
	part = record->total_bytes - record->offset;
	part = part < room ? part : room;
	if (table->total != record->total_bytes || table->have != record->offset) {
		image->damaged++;
		return;
	}
	memcpy(table->bytes + record->offset, record->bytes, part);
	table->have += part;
}

static bool are_sites_sound(const struct access_table *table)
{
	for (uint32_t i = 0; i < table->head->site_count; i++)
		if (!table->sites[i].size_bytes || !table->sites[i].kind ||
		    table->sites[i].kind > SN_ACCESS_BOTH)
			return false;
	for (uint32_t i = 0; i < table->head->group_count; i++)
		if (table->groups[i].first_site > table->head->site_count ||
		    table->head->site_count - table->groups[i].first_site <
			    table->groups[i].site_count)
			return false;
	return true;
}

static bool are_lines_sound(const struct access_table *table)
{
	for (uint32_t i = 0; i < table->head->member_count; i++)
		if (table->members[i].index >= (table->members[i].is_group
							? table->head->group_count
							: table->head->site_count))
			return false;
	for (uint32_t i = 0; i < table->head->line_count; i++) {
		const struct sn_access_line *line = &table->lines[i];
		uint32_t firsts = 0;

		if (!line->step || line->first_member > table->head->member_count ||
		    table->head->member_count - line->first_member < line->member_count)
			return false;
		for (uint32_t m = 0; m < line->member_count; m++)
			firsts += !table->members[line->first_member + m].is_group;
		if (firsts != line->first_count)
			return false;
	}
	return true;
}

static bool table_read(struct image *image, uint32_t loop, struct access_table *out)
{
	const struct access_bytes *bytes = bytes_of(image, loop);
	uint64_t need = sizeof(*out->head);

	if (!bytes || bytes->have != bytes->total || bytes->total < need)
		return false;
	out->head = (const void *)bytes->bytes;
	out->sites = (const void *)(bytes->bytes + need);
	need += (uint64_t)out->head->site_count * sizeof(*out->sites);
	if (need > bytes->total)
		return false;
	out->groups = (const void *)(bytes->bytes + need);
	need += (uint64_t)out->head->group_count * sizeof(*out->groups);
	if (need > bytes->total)
		return false;
	out->lines = (const void *)(bytes->bytes + need);
	need += (uint64_t)out->head->line_count * sizeof(*out->lines);
	if (need > bytes->total)
		return false;
	out->members = (const void *)(bytes->bytes + need);
	need += (uint64_t)out->head->member_count * sizeof(*out->members);
	return need == bytes->total && are_sites_sound(out) && are_lines_sound(out);
}

/* ---- words: in the second pass ---- */

struct reading {
	const struct access_table *table;
	const uint64_t *words;
	size_t count, at;
	SN_VEC(struct sn_access_record) records;
	uint64_t accesses;
	size_t most; /* records that so many words can be */
	/* the line that was entered; NULL: none */
	const struct sn_access_line *line;
	size_t line_at;	       /* its counting register and first addresses */
	SN_VEC(size_t) events; /* groups in it: where their markers are */
};

static void add(struct reading *r, uint32_t site, uint64_t address, uint64_t count,
		uint32_t group_length)
{
	const struct sn_access_site *of = &r->table->sites[site];
	struct sn_access_record record = {
		.link_addr = of->link_addr,
		.address = address,
		.stride_bytes = count > 1 ? of->stride_bytes : 0,
		.count = (uint32_t)count,
		.size_bytes = of->size_bytes,
		.kind = of->kind,
		.group_length = group_length,
	};

	if (r->records.count == r->most)
		return;
	sn_vec_push(&r->records, record);
	r->accesses += count;
}

static void add_group(struct reading *r, size_t marker)
{
	const struct sn_access_group *group =
		&r->table->groups[r->words[marker] & ((1u << SN_ACCESS_MARKER_SHIFT) - 1)];

	for (uint32_t i = 0; i < group->site_count; i++)
		add(r, group->first_site + i, r->words[marker + 1 + i], 1, 1);
}

/* How often a line was passed: `full` times, and once more up to the block `last` (-1: not). */
struct passes {
	uint64_t full;
	int64_t last;
};

static bool find_passes(const struct sn_access_line *line, uint64_t before, uint64_t after,
			uint32_t left, struct passes *out)
{
	int64_t way = (int64_t)(after - before);
	int64_t steps;

	if (way == INT64_MIN || way % line->step)
		return false;
	steps = way / line->step;
	out->last = (int64_t)left - 1;
	if (left != SN_ACCESS_AT_HEADER && (uint32_t)out->last >= line->step_block)
		steps--;
	out->full = (uint64_t)steps;
	return steps >= 0;
}

static bool is_passed(const struct passes *passes, uint64_t pass, uint16_t block)
{
	return pass < passes->full || block <= passes->last;
}

/* A line without groups: its accesses take turns. */
static void add_strided(struct reading *r, const struct passes *passes)
{
	const struct sn_access_member *members = &r->table->members[r->line->first_member];
	uint64_t total = passes->full + (passes->last >= 0), most = UINT32_MAX;

	for (uint64_t from = 0; from < total && r->records.count < r->most; from += most) {
		size_t first = r->records.count;

		for (uint32_t m = 0; m < r->line->member_count; m++) {
			uint64_t count =
				passes->full + is_passed(passes, passes->full, members[m].block);

			if (count <= from)
				continue;
			count = count - from < most ? count - from : most;
			add(r, members[m].index,
			    r->words[r->line_at + 1 + m] +
				    from * (uint64_t)r->table->sites[members[m].index].stride_bytes,
			    count, 0);
		}
		if (r->records.count > first)
			r->records.items[first].group_length = (uint32_t)(r->records.count - first);
		if (total - from <= most)
			break;
	}
}

/* One that has groups: iteration by iteration. False: groups are missing. */
static bool add_mixed(struct reading *r, const struct passes *passes)
{
	const struct sn_access_member *members = &r->table->members[r->line->first_member];
	size_t event = 0;

	for (uint64_t pass = 0;
	     pass < passes->full + (passes->last >= 0) && r->records.count < r->most; pass++) {
		uint32_t strided = 0;

		for (uint32_t m = 0; m < r->line->member_count; m++) {
			const struct sn_access_member *member = &members[m];
			uint32_t first = strided;

			strided += !member->is_group;
			if (!is_passed(passes, pass, member->block))
				continue;
			if (!member->is_group) {
				add(r, member->index,
				    r->words[r->line_at + 1 + first] +
					    pass * (uint64_t)r->table->sites[member->index]
							    .stride_bytes,
				    1, 1);
				continue;
			}
			if (event == r->events.count ||
			    (r->words[r->events.items[event]] &
			     ((1u << SN_ACCESS_MARKER_SHIFT) - 1)) != member->index)
				return false;
			add_group(r, r->events.items[event++]);
		}
	}
	return event == r->events.count;
}

static bool leave_line(struct reading *r, uint32_t number)
{
	const struct sn_access_line *line = r->line;
	struct passes passes;
	bool is_whole = true;
	uint32_t left = number & ((1u << SN_ACCESS_LINE_SHIFT) - 1);

	if (!line || line != &r->table->lines[number >> SN_ACCESS_LINE_SHIFT] ||
	    r->count - r->at < 1 ||
	    !find_passes(line, r->words[r->line_at], r->words[r->at], left, &passes))
		return false;
	r->at++;
	if (line->member_count > line->first_count)
		is_whole = add_mixed(r, &passes);
	else
		add_strided(r, &passes);
	r->line = NULL;
	return is_whole && r->records.count < r->most;
}

/* One marker with what belongs to it. False: the words make no sense from here on, or end. */
static bool read_next(struct reading *r)
{
	uint64_t word = r->words[r->at];
	uint32_t number = word & ((1u << SN_ACCESS_MARKER_SHIFT) - 1);
	size_t marker = r->at++, left = r->count - r->at;

	switch (word >> SN_ACCESS_MARKER_SHIFT) {
	case SN_ACCESS_GROUP:
		if (number >= r->table->head->group_count ||
		    left < r->table->groups[number].site_count)
			return false;
		if (r->line)
			sn_vec_push(&r->events, marker);
		else
			add_group(r, marker);
		r->at += r->table->groups[number].site_count;
		return true;
	case SN_ACCESS_ENTER:
		if (number >= r->table->head->line_count || r->line ||
		    left < 1u + (size_t)r->table->lines[number].first_count)
			return false;
		r->line = &r->table->lines[number];
		r->line_at = r->at;
		r->events.count = 0;
		r->at += 1u + r->line->first_count;
		return true;
	case SN_ACCESS_LEAVE:
		return number >> SN_ACCESS_LINE_SHIFT < r->table->head->line_count &&
		       leave_line(r, number);
	default:
		return false;
	}
}

/* ---- windows ---- */

static void window_end(struct image *image, uint32_t thread, struct access_words *from)
{
	struct sn_experiment *e = image->decoder->experiment;
	struct sn_access_window window = {
		.thread = image->first_thread + thread,
		.stack = sn_decode_stack(image, from->stack, bounded(from->begin_ns)),
		.number = from->number,
		.begin_ns = bounded(from->begin_ns) + image->offset_ns,
		.end_ns = bounded(from->end_ns) + image->offset_ns,
		.is_cut = from->is_cut,
	};
	bool is_sound = true;
	struct access_table table;
	struct reading r = { .table = &table,
			     .words = from->words.items,
			     .count = from->words.count,
			     .most = RECORDS_MIN + RECORDS_A_WORD * from->words.count };

	from->is_open = false;
	if (!table_read(image, from->loop, &table)) {
		image->damaged++;
		return;
	}
	while (is_sound && r.at < r.count)
		is_sound = read_next(&r);
	window.is_cut |= !is_sound || r.line;
	window.accesses = r.accesses;
	window.record_count = (uint32_t)r.records.count;
	if (r.records.count) {
		struct sn_access_record *records =
			sn_arena_array(&e->arena, struct sn_access_record, r.records.count);

		memcpy(records, r.records.items, r.records.count * sizeof(*records));
		window.records = records;
	}
	sn_vec_push(&e->windows, window);
	sn_vec_free(&r.records);
	sn_vec_free(&r.events);
}

static struct access_words *words_of(struct image *image, uint32_t thread)
{
	struct access_words none = { 0 };

	while (image->access_words.count <= thread)
		sn_vec_push(&image->access_words, none);
	return &image->access_words.items[thread];
}

void sn_decode_accesses(struct image *image, const struct owner *owner,
			const struct sn_record_accesses *record)
{
	uint32_t room =
		(uint32_t)((record->header.size_bytes - sizeof(*record)) / sizeof(*record->words));
	struct access_words *words;

	if (!sn_decode_thread_of(image, owner->thread_index) || record->word_count > room) {
		image->damaged++;
		return;
	}
	words = words_of(image, owner->thread_index);
	if (record->header.flags & SN_ACCESS_FIRST) {
		if (words->is_open) {
			words->is_cut = true;
			window_end(image, owner->thread_index, words);
		}
		words->is_open = true;
		words->is_cut = false;
		words->loop = record->loop;
		words->stack = record->stack;
		words->number = record->number;
		words->begin_ns = record->time_ns;
		words->words.count = 0;
	}
	if (!words->is_open || words->loop != record->loop || words->number != record->number) {
		image->damaged++;
		return;
	}
	words->end_ns = record->end_ns;
	words->is_cut |= (record->header.flags & SN_ACCESS_CUT) != 0;
	for (uint32_t i = 0; i < record->word_count; i++)
		sn_vec_push(&words->words, record->words[i]);
	if (record->header.flags & SN_ACCESS_LAST)
		window_end(image, owner->thread_index, words);
}

void sn_decode_accesses_end(struct image *image)
{
	for (size_t i = 0; i < image->access_words.count; i++) {
		struct access_words *words = &image->access_words.items[i];

		if (words->is_open) {
			words->is_cut = true;
			window_end(image, (uint32_t)i, words);
		}
		sn_vec_free(&words->words);
	}
	sn_vec_free(&image->access_words);
	sn_vec_free(&image->access_tables);
}

void sn_decode_thread_pointer(struct image *image, const struct owner *owner,
			      const struct sn_record_thread_pointer *record)
{
	if (sn_decode_thread_of(image, owner->thread_index))
		image->decoder->experiment->threads.items[image->first_thread + owner->thread_index]
			.thread_pointer = record->thread_pointer;
	else
		image->damaged++;
}

/* The views of simulated caches: what misses which level, and which lines move between threads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "base/text.h"
#include "caches/replay.h"
#include "code/loop_columns.h"
#include "profile/companions.h"
#include "views/parts.h"

enum by { BY_OBJECT, BY_LOOP, BY_THREAD };

/* What was read before for the same input, or now. */
static struct sn_replay *replay_get(const struct sn_view_input *input)
{
	struct sn_sim_config native;

	if (*input->replay)
		return *input->replay;
	if (!input->caches)
		sn_sim_config_native(&native);
	*input->replay = sn_replay_new(input->profile, input->caches ? input->caches : &native, 0);
	return *input->replay;
}

static sn_status by_parse(const char *by, enum by *out, struct sn_error *err)
{
	static const char *const names[] = { "object", "loop", "thread" };

	*out = BY_OBJECT;
	for (int i = 0; by && i < 3; i++)
		if (!strcmp(by, names[i])) {
			*out = (enum by)i;
			return SN_OK;
		}
	return by ? sn_error_set(err, SN_ERR_USAGE,
				 "'show caches' has rows --by object, loop or thread, not by '%s'",
				 by)
		  : SN_OK;
}

/* ---- caches ---- */

enum {
	C_LOOP,
	C_LABEL,
	C_FUNCTION,
	C_MODULE,
	C_PROCESS,
	C_THREAD,
	C_OBJECT,
	C_KIND,
	C_FILE,
	C_LINE,
	C_LEVEL,
	C_ACCESSES,
	C_WRITES,
	C_MISSES,
	C_READ_MISSES,
	C_WRITE_MISSES,
	C_CAUSES,
	C_MISS_SHARE = C_CAUSES + SN_SIM_CAUSES,
	C_MISS_LOW,
	C_MISS_RANGE,
	C_USED,
	C_STRIDE,
	C_REUSE,
	C_SEEN,
	C_OPEN,
};

static const struct sn_column caches_columns[] = {
	{ "loop", NULL, SN_CELL_TEXT, 0 },
	{ "label", "loop", SN_CELL_TEXT, 0 },
	{ "function", NULL, SN_CELL_TEXT, 0 },
	{ "module", NULL, SN_CELL_TEXT, 0 },
	{ "process", NULL, SN_CELL_INT, 0 },
	{ "thread", "thread", SN_CELL_INT, 0 },
	{ "object", "object", SN_CELL_TEXT, 0 },
	{ "object_kind", "kind", SN_CELL_TEXT, 0 },
	{ "file", NULL, SN_CELL_TEXT, 0 },
	{ "line", NULL, SN_CELL_INT, 0 },
	{ "level", "level", SN_CELL_TEXT, 0 },
	{ "accesses", "accesses", SN_CELL_INT, 0 },
	{ "writes", "writes", SN_CELL_INT, 0 },
	{ "misses", "misses", SN_CELL_INT, 0 },
	{ "read_misses", "read", SN_CELL_INT, 0 },
	{ "write_misses", "write", SN_CELL_INT, 0 },
	{ "cold", "cold", SN_CELL_INT, 0 },
	{ "capacity", "capacity", SN_CELL_INT, 0 },
	{ "conflict", "conflict", SN_CELL_INT, 0 },
	{ "coherence", "coherence", SN_CELL_INT, 0 },
	{ "miss_share", "miss high", SN_CELL_SHARE, 0 },
	{ "miss_share_low", "miss low", SN_CELL_SHARE, 0 },
	{ "miss_range", "miss", SN_CELL_TEXT, 0 },
	{ "line_used_share", "used", SN_CELL_SHARE, 0 },
	{ "stride_bytes", "stride B", SN_CELL_INT, 0 },
	{ "reuse_lines_median", "reuse", SN_CELL_REAL, 0 },
	{ "seen_share", "seen", SN_CELL_SHARE, 0 },
	{ "open_share", "open", SN_CELL_SHARE, 0 },
};

/* What a row is of, and its sums. */
struct group {
	uint32_t loop, object, thread; /* SN_NONE where rows are not told apart by it */
	struct sn_sim_stage stages[SN_SIM_STAGES];
	struct sn_sim_stride strides[SN_SIM_STRIDES];
};

static int by_key(const void *a, const void *b)
{
	const struct group *x = *(const struct group *const *)a;
	const struct group *y = *(const struct group *const *)b;

	if (x->loop != y->loop)
		return x->loop < y->loop ? -1 : 1;
	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static void group_add(struct group *to, const struct group *from)
{
	for (int s = 0; s < SN_SIM_STAGES; s++)
		sn_sim_stage_add(&to->stages[s], &from->stages[s]);
	for (int s = 0; s < SN_SIM_STRIDES; s++)
		if (from->strides[s].count)
			sn_sim_stride_add(to->strides, from->strides[s].bytes,
					  from->strides[s].count);
}

/* The distance of more than half of the accesses. */
static const struct sn_sim_stride *stride_of(const struct group *group)
{
	for (const struct sn_sim_stride *s = group->strides; s < group->strides + SN_SIM_STRIDES;
	     s++)
		if (s->count > group->stages[0].accesses / 2)
			return s;
	return NULL;
}

/* The loop's names; `file` and `line` may be of an object. */
static const struct sn_loop_columns *loop_columns(void)
{
	static struct sn_loop_columns found;
	static bool is_found;

	if (!is_found)
		found = sn_loop_columns_find(caches_columns, C_PROCESS);
	is_found = true;
	return &found;
}

static void names_set(const struct sn_profile *profile, const struct sn_replay *replay,
		      struct sn_table *table, const struct group *group)
{
	if (group->loop != SN_NONE) {
		const struct sn_program_loop *loop = &profile->program->loops.items[group->loop];

		sn_loop_columns_set(loop_columns(), table, loop->code);
		/* the function that it was written in, as in the view of loops */
		sn_table_set_text(table, C_FUNCTION,
				  profile->program->functions.items[loop->function].name);
		sn_table_set_text(table, C_MODULE,
				  sn_program_module_name(profile->program, loop->module));
		if (group->object == SN_NONE) {
			sn_table_set_text(table, C_FILE, loop->code->file);
			sn_view_set_line(table, C_LINE, loop->code->line_first);
		}
	}
	if (group->object != SN_NONE) {
		const struct sn_replay_object *object = &replay->objects.items[group->object];

		sn_table_set_text(table, C_OBJECT, object->name);
		sn_table_set_text(table, C_KIND, object->kind);
		sn_table_set_text(table, C_FILE, object->file);
		sn_view_set_line(table, C_LINE, object->line);
	}
	if (group->thread != SN_NONE) {
		const struct sn_thread *thread = &profile->experiment->threads.items[group->thread];

		sn_table_set_int(table, C_PROCESS, thread->process);
		sn_table_set_int(table, C_THREAD, thread->tid);
	}
}

/* From all open misses as hits to all of them as misses. */
static void set_range(struct sn_table *table, const struct sn_sim_stage *stage)
{
	uint64_t misses = sn_sim_stage_misses(stage);
	double high = sn_share(misses, stage->accesses),
	       low = sn_share(misses - stage->open, stage->accesses);
	char text[48];

	sn_table_set_real(table, C_MISS_SHARE, high);
	sn_table_set_real(table, C_MISS_LOW, low);
	if (stage->open)
		snprintf(text, sizeof(text), "%.1f-%.1f %%", 100 * low, 100 * high);
	else
		snprintf(text, sizeof(text), "%.1f %%", 100 * high);
	sn_table_set_text(table, C_MISS_RANGE, text);
}

static void stage_row(const struct sn_profile *profile, const struct sn_replay *replay,
		      struct sn_table *table, const struct group *group, unsigned s)
{
	static const char *const levels[SN_SIM_STAGES] = { "L1", "L2", "L3", "TLB" };
	const struct sn_sim_stage *stage = &group->stages[s];
	const struct sn_sim_stride *stride = stride_of(group);
	uint64_t misses = sn_sim_stage_misses(stage);

	sn_table_add_row(table);
	names_set(profile, replay, table, group);
	sn_table_set_text(table, C_LEVEL, levels[s]);
	sn_table_set_int(table, C_ACCESSES, (int64_t)stage->accesses);
	sn_table_set_int(table, C_WRITES, (int64_t)stage->writes);
	sn_table_set_int(table, C_MISSES, (int64_t)misses);
	sn_table_set_int(table, C_READ_MISSES, (int64_t)stage->read_misses);
	sn_table_set_int(table, C_WRITE_MISSES, (int64_t)stage->write_misses);
	for (int c = 0; c < SN_SIM_CAUSES; c++)
		sn_table_set_int(table, C_CAUSES + (size_t)c, (int64_t)stage->misses[c]);
	set_range(table, stage);
	sn_table_set_real(table, C_OPEN, sn_share(stage->open, stage->accesses));
	sn_table_set_real(table, C_SEEN, sn_replay_seen_share(replay, group->loop, SN_NONE));
	if (stride)
		sn_table_set_int(table, C_STRIDE, stride->bytes);
	if (s == SN_SIM_TLB)
		return;
	sn_table_set_real(table, C_USED,
			  sn_share(stage->used_bytes, stage->lines * replay->config.line_bytes));
	sn_table_set_real(table, C_REUSE, sn_sim_stage_median(stage));
}

/* One row of the table. */
struct line {
	const struct group *group;
	unsigned stage;
};

/* Caches before TLBs, most misses first. */
static int by_misses(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	uint64_t of_x = sn_sim_stage_misses(&x->group->stages[x->stage]),
		 of_y = sn_sim_stage_misses(&y->group->stages[y->stage]);
	bool is_x_tlb = x->stage == SN_SIM_TLB, is_y_tlb = y->stage == SN_SIM_TLB;

	if (is_x_tlb != is_y_tlb)
		return is_x_tlb ? 1 : -1;
	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	if (x->group != y->group)
		return by_key(&x->group, &y->group);
	return x->stage < y->stage ? -1 : 1;
}

static void rows_fill(const struct sn_profile *profile, const struct sn_replay *replay, enum by by,
		      struct sn_table *table)
{
	size_t count = replay->cells.count;
	struct group *groups = sn_alloc_zeroed(count + 1, sizeof(*groups));
	struct group **sorted = sn_alloc_zeroed(count + 1, sizeof(*sorted));
	SN_VEC(struct line) lines = { 0 };

	for (size_t i = 0; i < count; i++) {
		const struct sn_replay_cell *cell = &replay->cells.items[i];

		groups[i].loop = replay->sites.items[cell->site].loop;
		groups[i].object = by == BY_OBJECT ? cell->object : SN_NONE;
		groups[i].thread = by == BY_THREAD ? cell->thread : SN_NONE;
		memcpy(groups[i].stages, cell->stages, sizeof(cell->stages));
		memcpy(groups[i].strides, cell->strides, sizeof(cell->strides));
		sorted[i] = &groups[i];
	}
	qsort(sorted, count, sizeof(struct group *), by_key);
	for (size_t first = 0, i; first < count; first = i) {
		for (i = first + 1; i < count && !by_key(&sorted[first], &sorted[i]); i++)
			group_add(sorted[first], sorted[i]);
		for (unsigned stage = 0; stage < SN_SIM_STAGES; stage++) {
			struct line line = { sorted[first], stage };

			if (sorted[first]->stages[stage].accesses)
				sn_vec_push(&lines, line);
		}
	}
	if (lines.count)
		qsort(lines.items, lines.count, sizeof(*lines.items), by_misses);
	for (size_t i = 0; i < lines.count; i++)
		stage_row(profile, replay, table, lines.items[i].group, lines.items[i].stage);
	sn_vec_free(&lines);
	free(sorted);
	free(groups);
}

static sn_status caches_fill(const struct sn_view_input *input, struct sn_table *table,
			     struct sn_error *err)
{
	struct sn_view_input ours = *input;
	struct sn_replay *own = NULL;
	enum by by;
	sn_status status = by_parse(input->by, &by, err);

	if (!ours.replay)
		ours.replay = &own;
	if (status == SN_OK)
		rows_fill(input->profile, replay_get(&ours), by, table);
	sn_replay_free(own);
	return status;
}

static void why_no_windows(const struct sn_view_input *input, struct sn_text *out)
{
	const char *damage = sn_companion_damage(input->profile, SN_COMPANION_ACCESSES);

	if (damage)
		sn_text_add(out, damage);
	else if (!input->profile->experiment->windows.count)
		sn_text_add(out, "no accesses to memory were recorded in this run: sonde trace "
				 "records them (of a run of sonde trace itself, sonde show summary "
				 "says what failed)");
	else
		sn_text_add(out, "no window that was recorded passes the filters");
}

static void put_foot(const struct sn_view_input *input, FILE *out)
{
	const struct sn_replay *replay = replay_get(input);
	struct sn_text text = { 0 };

	if (!replay->windows)
		return;
	sn_sim_config_describe(&replay->config, &text);
	fprintf(out, "simulated: %s\n", text.chars);
	sn_text_free(&text);
	fprintf(out, "%llu accesses of %llu instances of loops",
		(unsigned long long)replay->accesses, (unsigned long long)replay->windows);
	if (replay->cut_windows)
		fprintf(out, ", %llu of them not to their end",
			(unsigned long long)replay->cut_windows);
	fputs("; cold misses are open as far as caches have room: what was in them before is not known\n",
	      out);
}

static void write_members(const struct sn_view_input *input, struct sn_json *json)
{
	const struct sn_replay *replay = replay_get(input);
	struct sn_text text = { 0 };

	sn_sim_config_describe(&replay->config, &text);
	sn_json_key(json, "caches");
	sn_json_string(json, text.chars);
	sn_text_free(&text);
	sn_json_key(json, "windows");
	sn_json_int(json, (int64_t)replay->windows);
	sn_json_key(json, "cut_windows");
	sn_json_int(json, (int64_t)replay->cut_windows);
	sn_json_key(json, "recorded_accesses");
	sn_json_int(json, (int64_t)replay->accesses);
}

static const struct sn_explanation caches_words[] = {
	{ "object_kind", "text",
	  "variable, section, heap, stack, or mapped. Where allocations were traced, a block of the heap "
	  "has the name of the variable that holds it, as far as the code behind the allocation tells, "
	  "and the place that allocated it: unew (setup, solve.f90:41).",
	  "object" },
	{ "writes", "count", "Accesses that write; those that read and write are among them.",
	  "accesses" },
	{ "misses", "count",
	  "Simulated misses of the accesses that were recorded; never scaled to the whole run.",
	  "seen_share" },
	{ "read_misses", "count", "Misses of accesses that only read.", "misses" },
	{ "write_misses", "count", "Misses of accesses that write.", "misses" },
	{ "cold", "count",
	  "Misses of lines (pages) that were not met before. The caches' contents at a window's begin "
	  "are not known, so those that there was room for are open: they may have been hits.",
	  "open_share" },
	{ "capacity", "count",
	  "Misses that a fully associative LRU cache of the same size would have had, too: as many other "
	  "lines were met since as the level holds.",
	  "conflict" },
	{ "conflict", "count",
	  "Misses of lines that were met since fewer others than the level holds: their set had too many.",
	  "capacity" },
	{ "coherence", "count", "Misses of lines that another thread's write took away.",
	  "transfers" },
	{ "miss_share", "share",
	  "Misses of the accesses that reach the level, with all open ones: the most that it can be.",
	  "miss_share_low" },
	{ "miss_share_low", "share",
	  "Misses of the accesses that reach the level, without the open ones: the least that it can be.",
	  "miss_share" },
	{ "miss_range", "text",
	  "From miss_share_low to miss_share, in per cent: the truth lies between, as some cold misses are open. "
	  "One number where nothing is open.",
	  "miss_share_low miss_share open_share" },
	{ "line_used_share", "share",
	  "Bytes that were used of lines between their arrival in the level and their leaving it.",
	  "stride_bytes" },
	{ "reuse_lines_median", "count",
	  "Median of the other lines that were met between two accesses to a line, of accesses that reach "
	  "the level; cold ones are left out.",
	  "capacity" },
	{ "seen_share", "share",
	  "Part of the loop's accesses in the whole run that was recorded, estimated by its instances; "
	  "by its iterations where no instance was recorded to its end. In 'show sharing' of all loops at its sites.",
	  "misses" },
	{ "open_share", "share",
	  "Open misses of the accesses that reach the level (cold ones that there was room for before): with "
	  "other contents at the begin the true miss_share may be lower by as much.",
	  "cold" },
	{ 0 },
};

const struct sn_view sn_view_caches = {
	.name = "caches",
	.takes_by = true,
	.title = "what misses which cache, simulated, by data object (sonde trace)",
	.needs = SN_VIEW_NEEDS_WINDOWS,
	.schema = "sonde.caches/1",
	.columns = caches_columns,
	.column_count = sizeof(caches_columns) / sizeof(*caches_columns),
	.words = caches_words,
	.text_columns =
		"object,label,thread,level,misses,miss_range,accesses,cold,capacity,conflict,coherence,"
		"line_used_share,stride_bytes,reuse_lines_median,seen_share",
	/* rows of threads are not on the page */
	.page_columns = "object,label,level,misses,miss_range,accesses,cold,capacity,conflict,"
			"coherence,line_used_share,stride_bytes,reuse_lines_median,seen_share",
	.page_title = "Caches",
	.is_in_report = true,
	.fill = caches_fill,
	.why_empty = why_no_windows,
	.put_foot = put_foot,
	.write_members = write_members,
};

/* ---- sharing ---- */

enum {
	S_OBJECT,
	S_OBJECT_KIND,
	S_FIRST,
	S_LAST,
	S_ADDRESS,
	S_KIND,
	S_THREADS,
	S_TRANSFERS,
	S_SITES,
	S_SEEN,
	S_FILE,
	S_LINE,
	S_MODULE,
};

static const struct sn_column sharing_columns[] = {
	{ "object", "object", SN_CELL_TEXT, 0 },
	{ "object_kind", NULL, SN_CELL_TEXT, 0 },
	{ "offset_first", "from byte", SN_CELL_INT, 0 },
	{ "offset_last", "to byte", SN_CELL_INT, 0 },
	{ "address", "address", SN_CELL_TEXT, 0 },
	{ "kind", "sharing", SN_CELL_TEXT, 0 },
	{ "threads", "threads", SN_CELL_INT, 0 },
	{ "transfers", "transfers", SN_CELL_INT, 0 },
	{ "sites", "at", SN_CELL_TEXT, 0 },
	{ "seen_share", "seen", SN_CELL_SHARE, 0 },
	{ "file", NULL, SN_CELL_TEXT, 0 },
	{ "line", NULL, SN_CELL_INT, 0 },
	{ "object_module", NULL, SN_CELL_TEXT, 0 },
};

/* "file.c:12", or the function's name. */
static void add_site(const struct sn_view_input *input, const struct sn_replay_site *site,
		     struct sn_text *out)
{
	struct sn_resolver resolver = { 0 };
	struct sn_resolved *resolved = sn_alloc_zeroed(1, sizeof(*resolved));
	bool is_known = input->structures && site->module != SN_NONE;

	if (is_known)
		resolver = sn_structures_resolver(input->structures);
	if (is_known && resolver.resolve(resolver.context, site->process, site->module,
					 site->link_addr, resolved)) {
		const struct sn_resolved_scope *scope =
			&resolved->scopes[resolved->scope_count - 1];
		const char *slash = scope->file ? strrchr(scope->file, '/') : NULL;

		if (scope->file)
			sn_text_addf(out, "%s:%u", slash ? slash + 1 : scope->file, scope->line);
		else
			sn_text_add(out, scope->name);
	} else {
		sn_text_addf(out, "%#llx", (unsigned long long)site->link_addr);
	}
	free(resolved);
}

/* Each line once, as a text with blanks between. */
static void set_sites(const struct sn_view_input *input, const struct sn_replay *replay,
		      struct sn_table *table, const struct sn_replay_shared *shared)
{
	struct sn_text text = { 0 }, site = { 0 };

	for (uint32_t s = 0; s < shared->site_count; s++) {
		const char *there;

		sn_text_clear(&site);
		add_site(input, &replay->sites.items[shared->sites[s]], &site);
		there = text.chars ? strstr(text.chars, site.chars) : NULL;
		if (there && (there[site.length] == ' ' || !there[site.length]))
			continue;
		sn_text_addf(&text, "%s%s", text.length ? " " : "", site.chars);
	}
	sn_table_set_text(table, S_SITES, text.chars);
	sn_text_free(&site);
	sn_text_free(&text);
}

/* Of the loops at the sites: their accesses that were recorded, of all that they made. NaN: unknown. */
static double seen_share_of_sites(const struct sn_replay *replay,
				  const struct sn_replay_shared *shared)
{
	double seen = 0, all = 0;

	for (size_t i = 0; i < replay->loops.count; i++) {
		const struct sn_replay_loop *loop = &replay->loops.items[i];
		bool is_there = false;

		for (uint32_t s = 0; s < shared->site_count; s++)
			is_there |= replay->sites.items[shared->sites[s]].loop == loop->loop;
		if (!is_there)
			continue;
		seen += (double)loop->accesses;
		all += (double)loop->accesses / loop->seen_share;
	}
	return all > 0 ? seen / all : NAN;
}

static void sharing_row(const struct sn_view_input *input, const struct sn_replay *replay,
			struct sn_table *table, const struct sn_replay_shared *shared, bool is_true)
{
	const struct sn_replay_object *object = &replay->objects.items[shared->object];
	uint64_t transfers = is_true ? shared->true_transfers : shared->false_transfers;
	char address[32];

	if (!transfers)
		return;
	snprintf(address, sizeof(address), "%#llx", (unsigned long long)shared->first_address);
	sn_table_add_row(table);
	sn_table_set_text(table, S_OBJECT, object->name);
	sn_table_set_text(table, S_OBJECT_KIND, object->kind);
	if (object->has_address) {
		sn_table_set_int(table, S_FIRST,
				 (int64_t)(shared->first_address - object->address));
		sn_table_set_int(table, S_LAST, (int64_t)(shared->last_address - object->address));
	}
	sn_table_set_text(table, S_ADDRESS, address);
	sn_table_set_text(table, S_KIND, is_true ? "true" : "false");
	sn_table_set_int(table, S_THREADS, shared->thread_count);
	sn_table_set_int(table, S_TRANSFERS, (int64_t)transfers);
	set_sites(input, replay, table, shared);
	sn_table_set_real(table, S_SEEN, seen_share_of_sites(replay, shared));
	sn_table_set_text(table, S_FILE, object->file);
	sn_view_set_line(table, S_LINE, object->line);
	sn_table_set_text(table, S_MODULE, object->module);
}

static sn_status sharing_fill(const struct sn_view_input *input, struct sn_table *table,
			      struct sn_error *err)
{
	struct sn_view_input ours = *input;
	struct sn_replay *own = NULL;
	const struct sn_replay *replay;

	(void)err;
	if (!ours.replay)
		ours.replay = &own;
	replay = replay_get(&ours);
	for (size_t i = 0; i < replay->shared.count; i++) {
		sharing_row(input, replay, table, &replay->shared.items[i], false);
		sharing_row(input, replay, table, &replay->shared.items[i], true);
	}
	sn_replay_free(own);
	return SN_OK;
}

/* Lines that could have moved, but between windows of which the caches' contents are not known. */
static void add_handed(const struct sn_replay *replay, const struct sn_replay_handed *handed,
		       struct sn_text *out)
{
	enum { SHOWN = 3 };

	sn_text_addf(out, "whether lines move between threads cannot be told: %llu lines of ",
		     (unsigned long long)handed->lines);
	for (size_t i = 0; i < handed->objects.count && i < SHOWN; i++)
		sn_text_addf(out, "%s%s", i ? ", " : "",
			     replay->objects.items[handed->objects.items[i]].name);
	if (handed->objects.count > SHOWN)
		sn_text_addf(out, " and %zu others", handed->objects.count - SHOWN);
	sn_text_addf(out,
		     " were written by one thread and used by another, but the %llu instances that "
		     "were recorded are too few or not of the same time; 'sonde trace --every 1' "
		     "records all",
		     (unsigned long long)replay->windows);
}

static void why_no_sharing(const struct sn_view_input *input, struct sn_text *out)
{
	struct sn_replay *replay = replay_get(input);
	struct sn_replay_handed handed;

	if (!replay->windows) {
		why_no_windows(input, out);
		return;
	}
	sn_replay_handed_find(replay, input->profile, &handed);
	if (handed.lines)
		add_handed(replay, &handed, out);
	else
		sn_text_addf(out, "in the %llu instances of loops that were recorded%s",
			     (unsigned long long)replay->windows,
			     handed.threads > 1
				     ? " no thread used a line that another wrote"
				     : ", all of one thread, no line can move between threads");
	sn_replay_handed_free(&handed);
}

static const struct sn_explanation sharing_words[] = {
	{ "offset_first", "bytes",
	  "The first byte, from the object's begin, for which a thread fetched a line that another had "
	  "changed; unknown where the object has no begin.",
	  "offset_last" },
	{ "offset_last", "bytes", "The last such byte of neighbouring lines.", "offset_first" },
	{ "transfers", "count",
	  "Times that a thread fetched a line that it had lost to another's write, or that another's cache "
	  "held modified.",
	  "coherence" },
	{ "sites", "text",
	  "Source lines that fetched and that wrote what was fetched, at most eight.",
	  "transfers" },
	{ 0 },
};

const struct sn_view sn_view_sharing = {
	.name = "sharing",
	.title = "data that move between threads' caches, truly and falsely shared (sonde trace)",
	.needs = SN_VIEW_NEEDS_WINDOWS,
	.schema = "sonde.sharing/1",
	.columns = sharing_columns,
	.column_count = sizeof(sharing_columns) / sizeof(*sharing_columns),
	.words = sharing_words,
	.text_columns = "transfers,kind,threads,object,offset_first,offset_last,seen_share,sites",
	.sort = "transfers",
	.page_title = "Sharing",
	.is_in_report = true,
	.fill = sharing_fill,
	.why_empty = why_no_sharing,
	.put_foot = put_foot,
	.write_members = write_members,
};

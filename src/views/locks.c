/* The views of locks: what was taken and waited for, who held it, what can deadlock. */
#include "locks/locks.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/text.h"
#include "locks/chains.h"
#include "profile/wait.h"
#include "views/parts.h"

/* The locks as they were read before for the same input, or now. */
static sn_status locks_get(const struct sn_view_input *input, struct sn_locks **out,
			   struct sn_error *err)
{
	if (!*input->locks) {
		sn_status status = sn_locks_read(input->profile->program, input->locks, err);

		if (status != SN_OK)
			return status;
	}
	*out = *input->locks;
	return SN_OK;
}

/* Fills by what was read; frees it if it is nobody's. */
static sn_status locks_fill(const struct sn_view_input *input, struct sn_table *table,
			    void (*rows_add)(struct sn_table *, const struct sn_program *,
					     const struct sn_locks *),
			    struct sn_error *err)
{
	struct sn_view_input ours = *input;
	struct sn_locks *locks, *own = NULL;
	sn_status status;

	if (!ours.locks)
		ours.locks = &own;
	status = locks_get(&ours, &locks, err);
	if (status == SN_OK)
		rows_add(table, input->profile->program, locks);
	sn_locks_free(own);
	return status;
}

static void why_no_locks(const struct sn_view_input *input, struct sn_text *out)
{
	struct sn_locks *locks;
	struct sn_error err;

	if (input->locks && locks_get(input, &locks, &err) == SN_OK && locks->is_traced)
		sn_text_add(out, "there is none: locks were traced, and what the program did gives "
				 "no row");
	else
		sn_text_add(out, "locks were not traced; 'sonde record --sync PROGRAM' does that");
}

static void members_write(const struct sn_view_input *input, struct sn_json *json)
{
	struct sn_locks *locks;
	struct sn_error err;

	if (locks_get(input, &locks, &err) != SN_OK)
		return;
	sn_json_member_uint(json, "acquisitions", locks->acquisitions);
	sn_json_member_uint(json, "contended", locks->contended);
	sn_json_member_double(json, "wait_s", (double)locks->wait_ns / 1e9);
	sn_json_key(json, "lost");
	sn_json_object(json);
	sn_json_member_uint(json, "sync", locks->lost);
	sn_json_close(json);
	sn_json_key(json, "overhead_s");
	sn_json_object(json);
	sn_json_member_double(json, "sync", (double)locks->overhead_ns / 1e9);
	sn_json_close(json);
}

static void foot_put(const struct sn_view_input *input, FILE *out)
{
	struct sn_locks *locks;
	struct sn_error err;

	if (locks_get(input, &locks, &err) != SN_OK || !locks->is_traced)
		return;
	fprintf(out, "%llu acquisitions; %llu calls waited, %.3g s in all threads",
		(unsigned long long)locks->acquisitions, (unsigned long long)locks->contended,
		(double)locks->wait_ns / 1e9);
	if (locks->lost)
		fprintf(out, "; %llu entries were lost", (unsigned long long)locks->lost);
	if (locks->damaged)
		fprintf(out, "; %llu %s", (unsigned long long)locks->damaged,
			sn_view_pieces_are_damaged(locks->damaged));
	fputc('\n', out);
}

/* ---- locks ---- */

enum {
	L_OBJECT,
	L_KIND,
	L_SITE,
	L_FUNCTION,
	L_FILE,
	L_LINE,
	L_MODULE,
	L_ACQUISITIONS,
	L_CONTENDED,
	L_WAIT,
	L_CONTENDED_SHARE
};

static const struct sn_column lock_columns[] = {
	{ "object", "object", SN_CELL_TEXT, 0 },
	{ "kind", "kind", SN_CELL_TEXT, 0 },
	{ "site", "site", SN_CELL_TEXT, 0 },
	{ "function", NULL, SN_CELL_TEXT, 0 },
	{ "file", NULL, SN_CELL_TEXT, 0 },
	{ "line", NULL, SN_CELL_INT, 0 },
	{ "module", "module", SN_CELL_TEXT, 0 },
	{ "acquisitions", "taken", SN_CELL_INT, 0 },
	{ "contended", "waited", SN_CELL_INT, 0 },
	{ "wait_s", "wait s", SN_CELL_SECONDS, 0 },
	{ "contended_share", "waited", SN_CELL_SHARE, 0 },
};

static void uses_add(struct sn_table *table, const struct sn_program *program,
		     const struct sn_locks *locks)
{
	static const struct sn_site_columns columns = { L_SITE, L_FUNCTION, L_FILE, L_LINE,
							L_MODULE };

	for (size_t i = 0; i < locks->uses.count; i++) {
		const struct sn_lock_use *use = &locks->uses.items[i];

		sn_table_add_row(table);
		sn_table_set_text(table, L_OBJECT, locks->objects.items[use->object].name);
		sn_table_set_text(table, L_KIND, sn_lock_kind_name(use->kind));
		sn_view_set_site(table, &columns, program, use->site);
		sn_table_set_int(table, L_ACQUISITIONS, (int64_t)use->acquisitions);
		sn_table_set_int(table, L_CONTENDED, (int64_t)use->contended);
		sn_table_set_real(table, L_WAIT, (double)use->wait_ns / 1e9);
		if (use->acquisitions)
			sn_table_set_real(table, L_CONTENDED_SHARE,
					  sn_share(use->contended < use->acquisitions
							   ? use->contended
							   : use->acquisitions,
						   use->acquisitions));
	}
}

static sn_status uses_fill(const struct sn_view_input *input, struct sn_table *table,
			   struct sn_error *err)
{
	return locks_fill(input, table, uses_add, err);
}

static const struct sn_explanation lock_words[] = {
	{ "object", "text",
	  "What is waited for: the name of a variable, or an address. Of a join the thread, of a "
	  "futex its word. In 'show caches', 'sharing' and 'dataspace' the data that were accessed: a "
	  "variable, else a section or a region of memory.",
	  NULL },
	{ "acquisitions", "count",
	  "How often it was taken, calls that only try included if they succeed; exact.",
	  "contended" },
	{ "contended", "count",
	  "Calls that found it taken and waited. Waits below the threshold of --sync are not among "
	  "them.",
	  "acquisitions" },
	{ "contended_share", "share", "Which part of the acquisitions had to wait.", "contended" },
	{ 0 },
};

const struct sn_view sn_view_locks = {
	.name = "locks",
	.title = "locks by object and site: how often taken, how long waited for",
	.needs = SN_VIEW_NEEDS_LOCKS,
	.schema = "sonde.locks/1",
	.columns = lock_columns,
	.column_count = sizeof(lock_columns) / sizeof(*lock_columns),
	.words = lock_words,
	.text_columns = "wait_s,contended,acquisitions,contended_share,kind,object,site",
	.sort = "wait_s",
	.page_title = "Locks",
	.is_in_report = true,
	.fill = uses_fill,
	.why_empty = why_no_locks,
	.write_members = members_write,
	.put_foot = foot_put,
};

/* ---- blame ---- */

enum { B_HOLDER, B_WAITER, B_OBJECT, B_HOLDER_SITE, B_WAITER_SITE, B_WAITS, B_WAIT, B_SHARE };

static const struct sn_column blame_columns[] = {
	{ "holder", NULL, SN_CELL_TEXT, 0 },
	{ "waiter", NULL, SN_CELL_TEXT, 0 },
	{ "object", "object", SN_CELL_TEXT, 0 },
	{ "holder_site", "held by", SN_CELL_TEXT, 0 },
	{ "waiter_site", "wanted by", SN_CELL_TEXT, 0 },
	{ "waits", "waits", SN_CELL_INT, 0 },
	{ "wait_s", "wait s", SN_CELL_SECONDS, 0 },
	{ "wait_share", "of waits", SN_CELL_SHARE, 0 },
};

static void function_set(struct sn_table *table, size_t name, size_t site_column,
			 const struct sn_program *program, struct sn_site site)
{
	struct sn_text text = { 0 };

	sn_table_set_text(table, name,
			  site.function == SN_NONE ? "[unknown]"
						   : program->functions.items[site.function].name);
	if (site.function == SN_NONE)
		sn_text_add(&text, "[unknown]");
	else
		sn_site_add_name(program, site, &text);
	sn_table_set_text(table, site_column, text.chars);
	sn_text_free(&text);
}

static void blames_add(struct sn_table *table, const struct sn_program *program,
		       const struct sn_locks *locks)
{
	uint64_t all_ns = 0;

	for (size_t i = 0; i < locks->blames.count; i++)
		all_ns += locks->blames.items[i].wait_ns;
	for (size_t i = 0; i < locks->blames.count; i++) {
		const struct sn_lock_blame *blame = &locks->blames.items[i];

		sn_table_add_row(table);
		function_set(table, B_HOLDER, B_HOLDER_SITE, program, blame->holder);
		function_set(table, B_WAITER, B_WAITER_SITE, program, blame->waiter);
		sn_table_set_text(table, B_OBJECT, locks->objects.items[blame->object].name);
		sn_table_set_int(table, B_WAITS, (int64_t)blame->waits);
		sn_table_set_real(table, B_WAIT, (double)blame->wait_ns / 1e9);
		sn_table_set_real(table, B_SHARE, sn_share(blame->wait_ns, all_ns));
	}
}

static sn_status blame_fill(const struct sn_view_input *input, struct sn_table *table,
			    struct sn_error *err)
{
	return locks_fill(input, table, blames_add, err);
}

static const struct sn_explanation blame_words[] = {
	{ "holder", "text",
	  "The function that released what was waited for. A wait with several holders in turn is "
	  "shared out among them by time.",
	  "waiter" },
	{ "waiter", "text", "The function whose call waited.", "holder" },
	{ "holder_site", "text", "The holder, with the line at which it released the object.",
	  "holder" },
	{ "waiter_site", "text", "The waiter, with the line of its call.", "waiter" },
	{ 0 },
};

const struct sn_view sn_view_blame = {
	.name = "blame",
	.title = "who held what others waited for",
	.needs = SN_VIEW_NEEDS_LOCKS,
	.schema = "sonde.blame/1",
	.columns = blame_columns,
	.column_count = sizeof(blame_columns) / sizeof(*blame_columns),
	.words = blame_words,
	.text_columns = "wait_s,wait_share,waits,object,holder_site,waiter_site",
	.sort = "wait_s",
	.page_title = "Lock holders",
	.is_in_report = true,
	.fill = blame_fill,
	.why_empty = why_no_locks,
	.write_members = members_write,
	.put_foot = foot_put,
};

/* ---- contention ---- */

enum { C_PROCESS, C_THREAD, C_OBJECT, C_KIND, C_ACQUISITIONS, C_CONTENDED, C_WAIT, C_HELD_UP };

static const struct sn_column contention_columns[] = {
	{ "process", "process", SN_CELL_INT, 0 },
	{ "thread", "thread", SN_CELL_INT, 0 },
	{ "object", "object", SN_CELL_TEXT, 0 },
	{ "kind", "kind", SN_CELL_TEXT, 0 },
	{ "acquisitions", "taken", SN_CELL_INT, 0 },
	{ "contended", "waited", SN_CELL_INT, 0 },
	{ "wait_s", "wait s", SN_CELL_SECONDS, 0 },
	{ "held_up_s", "held up s", SN_CELL_SECONDS, 0 },
};

static bool is_zero(const struct sn_lock_part *part)
{
	return !part->contended && !part->wait_ns && !part->held_up_ns;
}

/* What waited most first: the table's own order, by what was held up, keeps it where that is the same. */
static int parts_compare(const void *a, const void *b)
{
	const struct sn_lock_part *const *x = a, *const *y = b;

	if ((*x)->wait_ns != (*y)->wait_ns)
		return (*x)->wait_ns > (*y)->wait_ns ? -1 : 1;
	return (*x > *y) - (*x < *y);
}

static void parts_add(struct sn_table *table, const struct sn_locks *locks, bool leaves_out_zeros)
{
	const struct sn_lock_part **parts = sn_alloc_zeroed(locks->parts.count + 1, sizeof(*parts));

	for (size_t i = 0; i < locks->parts.count; i++)
		parts[i] = &locks->parts.items[i];
	qsort(parts, locks->parts.count, sizeof(*parts), parts_compare);
	for (size_t i = 0; i < locks->parts.count; i++) {
		const struct sn_lock_part *part = parts[i];

		if (leaves_out_zeros && is_zero(part))
			continue;
		sn_table_add_row(table);
		sn_table_set_int(table, C_PROCESS, part->process);
		if (part->tid)
			sn_table_set_int(table, C_THREAD, part->tid);
		sn_table_set_text(table, C_OBJECT, locks->objects.items[part->object].name);
		sn_table_set_text(table, C_KIND, sn_lock_kind_name(part->kind));
		sn_table_set_int(table, C_ACQUISITIONS, (int64_t)part->acquisitions);
		sn_table_set_int(table, C_CONTENDED, (int64_t)part->contended);
		sn_table_set_real(table, C_WAIT, (double)part->wait_ns / 1e9);
		sn_table_set_real(table, C_HELD_UP, (double)part->held_up_ns / 1e9);
	}
	free(parts);
}

static sn_status contention_fill(const struct sn_view_input *input, struct sn_table *table,
				 struct sn_error *err)
{
	struct sn_view_input ours = *input;
	struct sn_locks *locks, *own = NULL;
	sn_status status;

	if (!ours.locks)
		ours.locks = &own;
	status = locks_get(&ours, &locks, err);
	if (status == SN_OK)
		parts_add(table, locks, input->leaves_out_zeros);
	sn_locks_free(own);
	return status;
}

static void contention_foot_put(const struct sn_view_input *input, FILE *out)
{
	struct sn_locks *locks;
	struct sn_error err;
	size_t zeros = 0;

	foot_put(input, out);
	if (!input->leaves_out_zeros || locks_get(input, &locks, &err) != SN_OK)
		return;
	for (size_t i = 0; i < locks->parts.count; i++)
		zeros += is_zero(&locks->parts.items[i]);
	if (zeros)
		fprintf(out, "%zu row%s without a wait left out: --all brings %s\n", zeros,
			zeros == 1 ? " is" : "s are", zeros == 1 ? "it" : "them");
}

static void why_no_waits(const struct sn_view_input *input, struct sn_text *out)
{
	struct sn_locks *locks;
	struct sn_error err;

	if (input->leaves_out_zeros && input->locks && locks_get(input, &locks, &err) == SN_OK &&
	    locks->parts.count)
		sn_text_add(out, "no thread waited for a lock; --all lists what each took");
	else
		why_no_locks(input, out);
}

static const struct sn_explanation contention_words[] = {
	{ "held_up_s", "time",
	  "How long other threads waited for the object while this thread held it: its part of their "
	  "waits, as in show blame.",
	  "wait_s" },
	{ 0 },
};

const struct sn_view sn_view_contention = {
	.name = "contention",
	.title = "threads by locks: who took and waited for what, and held others up",
	.needs = SN_VIEW_NEEDS_LOCKS,
	.schema = "sonde.contention/1",
	.columns = contention_columns,
	.column_count = sizeof(contention_columns) / sizeof(*contention_columns),
	.words = contention_words,
	.text_columns = "held_up_s,wait_s,contended,acquisitions,kind,object,process,thread",
	.sort = "held_up_s",
	.page_title = "Locks by thread",
	.is_in_report = true,
	.fill = contention_fill,
	.why_empty = why_no_waits,
	.write_members = members_write,
	.put_foot = contention_foot_put,
};

/* ---- chains ---- */

enum { H_WAIT, H_SHARE, H_WAITS, H_LENGTH, H_WAITER, H_HOLDER, H_LINKS, H_CHAIN };

static const struct sn_column chain_columns[] = {
	{ "wait_s", "wait s", SN_CELL_SECONDS, 0 }, { "wait_share", "of waits", SN_CELL_SHARE, 0 },
	{ "waits", "waits", SN_CELL_INT, 0 },	    { "length", "length", SN_CELL_INT, 0 },
	{ "waiter", NULL, SN_CELL_TEXT, 0 },	    { "holder", NULL, SN_CELL_TEXT, 0 },
	{ "links", NULL, SN_CELL_JSON, 0 },	    { "chain", "chain", SN_CELL_TEXT, 0 },
};

static const char *function_name(const struct sn_program *program, struct sn_site site)
{
	return site.function == SN_NONE ? "[unknown]"
					: program->functions.items[site.function].name;
}

static void link_write(struct sn_json *json, const struct sn_program *program,
		       const struct sn_locks *locks, const struct sn_lock_link *link)
{
	sn_json_object(json);
	sn_json_member_string(json, "function", function_name(program, link->site));
	sn_json_key(json, "file");
	if (link->site.line != SN_NONE && link->site.line < program->lines.count) {
		sn_json_string(json, program->lines.items[link->site.line].file);
		sn_json_member_uint(json, "line", program->lines.items[link->site.line].line);
	} else {
		sn_json_null(json);
		sn_json_key(json, "line");
		sn_json_null(json);
	}
	sn_json_key(json, "object");
	if (link->object == SN_NONE)
		sn_json_null(json);
	else
		sn_json_string(json, locks->objects.items[link->object].name);
	sn_json_member_string(json, "kind", sn_lock_kind_name(link->kind));
	sn_json_close(json);
}

static void links_set(struct sn_table *table, const struct sn_program *program,
		      const struct sn_locks *locks, const struct sn_lock_chains *chains,
		      const struct sn_lock_chain *chain)
{
	struct sn_text words = { 0 };
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	struct sn_json json = { .out = out };

	sn_json_array(&json);
	for (uint32_t i = 0; i < chain->link_count; i++) {
		const struct sn_lock_link *link = &chains->links.items[chain->first_link + i];

		link_write(&json, program, locks, link);
		if (link->site.function == SN_NONE)
			sn_text_add(&words, "[unknown]");
		else
			sn_site_add_name(program, link->site, &words);
		sn_text_addf(&words, ": %s%s%s -> ", sn_lock_kind_name(link->kind),
			     link->object == SN_NONE ? "" : " ",
			     link->object == SN_NONE ? ""
						     : locks->objects.items[link->object].name);
	}
	sn_json_close(&json);
	fclose(out);
	if (chain->last.function == SN_NONE)
		sn_text_add(&words,
			    chain->is_last_unknown ? "an unknown thread" : "a thread that runs");
	else
		sn_site_add_name(program, chain->last, &words);
	if (chain->closes != SN_NONE)
		sn_text_add(&words, " again: a deadlock");
	else if (chain->last_kind)
		sn_text_addf(&words, ": %s", sn_wait_kind_name(chain->last_kind - 1));
	sn_table_set_text(table, H_LINKS, text);
	sn_table_set_text(table, H_CHAIN, words.chars);
	sn_text_free(&words);
	free(text);
}

static void chains_add(struct sn_table *table, const struct sn_program *program,
		       const struct sn_locks *locks)
{
	struct sn_lock_chains chains;

	sn_lock_chains_find(locks, program, &chains);
	for (size_t i = 0; i < chains.items.count; i++) {
		const struct sn_lock_chain *chain = &chains.items.items[i];

		sn_table_add_row(table);
		sn_table_set_real(table, H_WAIT, (double)chain->wait_ns / 1e9);
		sn_table_set_real(table, H_SHARE, sn_share(chain->wait_ns, locks->wait_ns));
		sn_table_set_int(table, H_WAITS, (int64_t)chain->waits);
		sn_table_set_int(table, H_LENGTH, chain->link_count);
		sn_table_set_text(
			table, H_WAITER,
			function_name(program, chains.links.items[chain->first_link].site));
		sn_table_set_text(table, H_HOLDER, function_name(program, chain->last));
		links_set(table, program, locks, &chains, chain);
	}
	sn_lock_chains_free(&chains);
}

static sn_status chains_fill(const struct sn_view_input *input, struct sn_table *table,
			     struct sn_error *err)
{
	return locks_fill(input, table, chains_add, err);
}

static const struct sn_explanation chain_words[] = {
	{ "length", "count",
	  "How many waits a chain has: two if a thread waits for one that waits.", "links" },
	{ "chain", "text",
	  "Who waits for what; '->' who has that, and waits for what meanwhile; last where the last "
	  "one, which waits for nobody, ended the wait before, or in what call it slept, read, wrote "
	  "or waited for events meanwhile. 'again': the circle closes, and nobody goes on.",
	  "links" },
	{ "links", "text",
	  "The waits of a chain in their order, each with function, file, line, object and kind.",
	  "length" },
	{ 0 },
};

const struct sn_view sn_view_chains = {
	.name = "chains",
	.title = "chains of waits: who waits for whom who waits for whom",
	.needs = SN_VIEW_NEEDS_LOCKS,
	.schema = "sonde.chains/1",
	.columns = chain_columns,
	.column_count = sizeof(chain_columns) / sizeof(*chain_columns),
	.words = chain_words,
	.data_columns = "length,waits,wait_s,wait_share,waiter,holder,chain,links",
	.text_columns = "wait_s,wait_share,waits,length,chain",
	.whole_column = "chain",
	.sort = "wait_s",
	.page_title = "Wait chains",
	.has_sentences = true,
	.is_in_report = true,
	.fill = chains_fill,
	.why_empty = why_no_locks,
	.write_members = members_write,
	.put_foot = foot_put,
};

/* ---- deadlocks ---- */

enum {
	D_CYCLE,
	D_OBJECT,
	D_PROCESS,
	D_THREAD,
	D_SITE,
	D_FUNCTION,
	D_FILE,
	D_LINE,
	D_MODULE,
	D_HUNG
};

static const struct sn_column deadlock_columns[] = {
	{ "cycle", "cycle", SN_CELL_INT, 0 },	    { "object", "object", SN_CELL_TEXT, 0 },
	{ "process", "process", SN_CELL_INT, 0 },   { "thread", "thread", SN_CELL_INT, 0 },
	{ "site", "takes it at", SN_CELL_TEXT, 0 }, { "function", NULL, SN_CELL_TEXT, 0 },
	{ "file", NULL, SN_CELL_TEXT, 0 },	    { "line", NULL, SN_CELL_INT, 0 },
	{ "module", "module", SN_CELL_TEXT, 0 },    { "hung", "hung", SN_CELL_BOOL, 0 },
};

static void cycles_add(struct sn_table *table, const struct sn_program *program,
		       const struct sn_locks *locks)
{
	static const struct sn_site_columns columns = { D_SITE, D_FUNCTION, D_FILE, D_LINE,
							D_MODULE };

	for (size_t i = 0; i < locks->cycles.count; i++) {
		const struct sn_lock_cycle_part *part = &locks->cycles.items[i];

		sn_table_add_row(table);
		sn_table_set_int(table, D_CYCLE, part->cycle);
		sn_table_set_text(table, D_OBJECT, locks->objects.items[part->object].name);
		sn_table_set_int(table, D_PROCESS, part->process);
		sn_table_set_int(table, D_THREAD, part->tid);
		sn_view_set_site(table, &columns, program, part->site);
		sn_table_set_int(table, D_HUNG, part->is_hung);
	}
}

static sn_status deadlocks_fill(const struct sn_view_input *input, struct sn_table *table,
				struct sn_error *err)
{
	return locks_fill(input, table, cycles_add, err);
}

static const struct sn_explanation deadlock_words[] = {
	{ "cycle", "count",
	  "Rows of one number are one circle: each thread takes the object of its row while it "
	  "holds that of the row before.",
	  "hung" },
	{ "hung", "text",
	  "Whether the threads were waiting for each other when the process ended. Otherwise they "
	  "took these locks in different orders and may meet one day.",
	  "cycle" },
	{ 0 },
};

const struct sn_view sn_view_deadlocks = {
	.name = "deadlocks",
	.title = "circles of threads that wait for each other, or may do so",
	.needs = SN_VIEW_NEEDS_LOCKS,
	.schema = "sonde.deadlocks/1",
	.columns = deadlock_columns,
	.column_count = sizeof(deadlock_columns) / sizeof(*deadlock_columns),
	.words = deadlock_words,
	.text_columns = "cycle,hung,thread,object,site",
	.is_listing = true,
	.page_title = "Deadlocks",
	.is_in_report = true,
	.fill = deadlocks_fill,
	.why_empty = why_no_locks,
	.write_members = members_write,
	.put_foot = foot_put,
};

/* The view of system time: which system calls and page faults, and who asked for them. */
#include "profile/system_call.h"
#include "views/parts.h"

enum {
	K_KIND,
	K_CALL,
	K_NUMBER,
	K_FUNCTION,
	K_CALLER,
	K_FILE,
	K_LINE,
	K_MODULE,
	K_SYSTEM,
	K_SHARE,
	K_SAMPLES,
	K_SOURCE,
};

static const struct sn_column system_columns[] = {
	{ "kind", "kind", SN_CELL_TEXT, 0 },
	{ "call", "what", SN_CELL_TEXT, 0 },
	{ "number", "number", SN_CELL_INT, 0 },
	{ "function", "in", SN_CELL_TEXT, 0 },
	{ "caller", "called by", SN_CELL_TEXT, 0 },
	{ "file", "file", SN_CELL_TEXT, 0 },
	{ "line", "line", SN_CELL_INT, 0 },
	{ "module", "module", SN_CELL_TEXT, 0 },
	{ "system_s", "system s", SN_CELL_SECONDS, 0 },
	{ "share", "share", SN_CELL_SHARE, 0 },
	{ "samples", "samples", SN_CELL_INT, 0 },
	{ "source", "at", SN_CELL_TEXT, 0 },
};

static const char *words_of(const struct sn_system_group *group)
{
	const char *name = group->number < 0 ? NULL : sn_system_call_name((uint64_t)group->number);

	switch (group->kind) {
	case SN_SYSTEM_CALL:
		return name ? name : "[system call]";
	case SN_SYSTEM_FAULT:
		return "[page fault]";
	case SN_SYSTEM_UNSEEN:
		return "[not seen]";
	case SN_SYSTEM_SONDE:
		return "[sonde]";
	case SN_SYSTEM_UNKNOWN:
		break;
	}
	return "[unknown]";
}

static void names_set(struct sn_table *table, const struct sn_program *program,
		      const struct sn_system_group *group)
{
	const struct sn_program_function *functions = program->functions.items;

	if (group->function != SN_NONE)
		sn_table_set_text(table, K_FUNCTION, functions[group->function].name);
	if (group->caller != SN_NONE) {
		sn_table_set_text(table, K_CALLER, functions[group->caller].name);
		sn_table_set_text(table, K_MODULE,
				  sn_program_module_name(program, functions[group->caller].module));
	}
	if (group->line != SN_NONE) {
		const struct sn_program_line *line = &program->lines.items[group->line];

		sn_table_set_text(table, K_FILE, line->file);
		sn_view_set_line(table, K_LINE, line->line);
		sn_view_set_source(table, K_SOURCE, line->file, line->line);
	}
}

static sn_status system_fill(const struct sn_view_input *input, struct sn_table *table,
			     struct sn_error *err)
{
	struct sn_system_groups groups;

	(void)err;
	sn_system_groups_find(input->profile, input->structures, &groups);
	for (size_t i = 0; i < groups.items.count; i++) {
		const struct sn_system_group *group = &groups.items.items[i];

		sn_table_add_row(table);
		sn_table_set_text(table, K_KIND, sn_system_kind_name(group->kind));
		sn_table_set_text(table, K_CALL, words_of(group));
		if (group->number >= 0)
			sn_table_set_int(table, K_NUMBER, group->number);
		names_set(table, input->profile->program, group);
		sn_table_set_real(table, K_SYSTEM, (double)group->system_ns / 1e9);
		sn_table_set_real(table, K_SHARE,
				  sn_share(group->system_ns, input->profile->total.system_ns));
		sn_table_set_int(table, K_SAMPLES, (int64_t)group->samples);
	}
	sn_system_groups_free(&groups);
	return SN_OK;
}

static void why_no_system(const struct sn_view_input *input, struct sn_text *out)
{
	const struct sn_profile *p = input->profile;

	if (p->total.samples)
		sn_text_addf(
			out,
			"none of the %llu samples met the kernel: the program makes few system "
			"calls, or short ones; let it work longer, or record with '--clock "
			"10000'",
			(unsigned long long)p->total.samples);
}

static const struct sn_explanation system_words[] = {
	{ "call", "text",
	  "The system call that a sample was in the kernel for, by the number that the code before "
	  "it loads; [page fault] where there was none, [not seen] for time without an "
	  "observation, [system call] where the number is not known.",
	  "system_s" },
	{ "number", "count", "Number of the system call, by the kernel's table for x86-64.",
	  "call" },
	{ 0 },
};

const struct sn_view sn_view_system = {
	.name = "system",
	.title = "time in the kernel, by system call and page fault, and who asked for it",
	.needs = SN_VIEW_NEEDS_TIME,
	.schema = "sonde.system/1",
	.columns = system_columns,
	.column_count = sizeof(system_columns) / sizeof(*system_columns),
	.words = system_words,
	.data_columns = "kind,call,number,function,caller,file,line,module,system_s,share,samples",
	.text_columns = "share,system_s,samples,call,function,caller,source,module",
	.share_column = "share",
	.page_title = "Kernel",
	.fill = system_fill,
	.why_empty = why_no_system,
};

/* From what a user calls a function or a loop to the one that is meant. */
#include "views/find.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "code/names.h"
#include "profile/rank.h"

sn_status sn_find_function(const struct sn_profile *profile, const char *name, uint32_t *out,
			   struct sn_error *err)
{
	const struct sn_program *program = profile->program;
	static const int rank_of[] = {
		[SN_NAME_PLAIN] = 2, [SN_NAME_CLONE] = 3, [SN_NAME_WHOLE] = 4
	};
	int best_rank = 0;

	for (uint32_t f = 0; f < program->functions.count; f++) {
		const struct sn_program_function *function = &program->functions.items[f];
		int rank = !strcmp(function->name, name) || !strcmp(function->linkage_name, name)
				   ? 5
				   : rank_of[sn_name_match_of(function->name,
							      function->linkage_name, name)];

		if (!rank && strstr(function->name, name))
			rank = 1;

		if (rank > best_rank || (rank && rank == best_rank &&
					 profile->functions[f].inclusive.cpu_ns >
						 profile->functions[*out].inclusive.cpu_ns)) {
			best_rank = rank;
			*out = f;
		}
	}
	if (best_rank)
		return SN_OK;
	return sn_error_set(err, SN_ERR_NOT_FOUND,
			    "no function of this experiment is called '%s' "
			    "(sonde show functions --all lists them)",
			    name);
}

bool sn_find_loop_is_called(const struct sn_loop *code, const char *name)
{
	return !strncmp(code->id, name, strlen(name)) || !strcmp(code->label, name);
}

bool sn_find_loop_has_line(const struct sn_loop *code, const char *name)
{
	const char *colon = strrchr(name, ':');
	size_t file_length = colon ? (size_t)(colon - name) : 0;
	unsigned long line;
	char *end;

	if (!colon || !code->file)
		return false;
	line = strtoul(colon + 1, &end, 10);
	if (*end || end == colon + 1 || line < code->line_first || line > code->line_last)
		return false;
	return (strlen(code->file) == file_length && !strncmp(code->file, name, file_length)) ||
	       (strlen(sn_base_name(code->file)) == file_length &&
		!strncmp(sn_base_name(code->file), name, file_length));
}

/* A line names the innermost loop around it; of several such, the hottest. */
static uint32_t loop_better(const struct sn_profile *profile, uint32_t a, uint32_t b)
{
	const struct sn_program_loop *x = &profile->program->loops.items[a];
	const struct sn_program_loop *y = &profile->program->loops.items[b];
	uint32_t nx = x->code->line_last - x->code->line_first,
		 ny = y->code->line_last - y->code->line_first;

	if (nx != ny)
		return nx < ny ? a : b;
	return profile->loops[b].exclusive.cpu_ns > profile->loops[a].exclusive.cpu_ns ? b : a;
}

static sn_status loop_by_rank(const struct sn_profile *profile, const char *text,
			      bool with_runtime_loops, uint32_t *out, struct sn_error *err)
{
	size_t count;
	uint32_t *order = sn_rank_loops(profile, with_runtime_loops, &count);
	char *end;
	unsigned long rank = strtoul(text, &end, 10);
	bool found = *text && !*end && rank >= 1 && rank <= count;

	if (found)
		*out = order[rank - 1];
	free(order);
	if (found)
		return SN_OK;
	return sn_error_set(err, SN_ERR_NOT_FOUND,
			    "there is no loop #%s: the loops table has %zu rows "
			    "(sonde show loops --all)",
			    text, count);
}

sn_status sn_find_loop(const struct sn_profile *profile, const char *name, bool with_runtime_loops,
		       uint32_t *out, struct sn_error *err)
{
	const struct sn_program *program = profile->program;
	uint32_t found, ids = 0;
	size_t length = strlen(name);

	if (name[0] == '#')
		return loop_by_rank(profile, name + 1, with_runtime_loops, out, err);
	found = sn_program_loop_with_id(program, name);
	if (found != SN_NONE) {
		*out = found;
		return SN_OK;
	}
	for (uint32_t l = 0; l < program->loops.count; l++) {
		const struct sn_program_loop *loop = &program->loops.items[l];

		if (!sn_find_loop_is_called(loop->code, name) &&
		    !sn_find_loop_has_line(loop->code, name))
			continue;
		ids += !strncmp(loop->code->id, name, length);
		found = found == SN_NONE ? l : loop_better(profile, found, l);
	}
	if (ids > 1)
		return sn_error_set(err, SN_ERR_USAGE,
				    "%u loops have an id that begins with '%s'; give more of it",
				    ids, name);
	if (found == SN_NONE && length && strspn(name, "0123456789") == length)
		return loop_by_rank(profile, name, with_runtime_loops, out, err);
	if (found == SN_NONE)
		return sn_error_set(err, SN_ERR_NOT_FOUND,
				    "no loop of this experiment is '%s': give an id, FILE:LINE or "
				    "#RANK from 'sonde show loops'",
				    name);
	*out = found;
	return SN_OK;
}

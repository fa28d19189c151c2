/* Names of outlined bodies, and what the calls that start them lie in. */
#include "profile/outlined.h"

#include <string.h>

#include "base/text.h"

size_t sn_outlined_stem(const char *linkage_name)
{
	const char *gcc = strstr(linkage_name, "._omp_fn."), *clang;

	if (gcc)
		return (size_t)(gcc - linkage_name);
	clang = strstr(linkage_name, ".omp_outlined");
	return clang ? (size_t)(clang - linkage_name) : SIZE_MAX;
}

bool sn_is_parallel_start(const char *linkage_name)
{
	return sn_starts_with(linkage_name, "GOMP_parallel") ||
	       strstr(linkage_name, "kmpc_fork_call");
}

const char *sn_called_name(struct sn_structure *structure, uint64_t link_addr)
{
	enum { CALL_BYTES = 5 };
	uint64_t end = link_addr + 1;
	const struct sn_function *function;
	const uint8_t *bytes;
	size_t available;
	int32_t distance;

	bytes = sn_structure_bytes(structure, end - CALL_BYTES, &available);
	if (!bytes || available < CALL_BYTES || bytes[0] != 0xe8) /* call rel32 */
		return NULL;
	memcpy(&distance, bytes + 1, sizeof(distance));
	function = sn_structure_function_at(structure, end + (uint64_t)(int64_t)distance);
	return function ? function->linkage_name : NULL;
}

/* The function that wrote what has this name: its own, or that of an outlined body around it. */
static size_t writer_length(const char *linkage_name)
{
	size_t stem = sn_outlined_stem(linkage_name);

	return stem == SIZE_MAX ? strlen(linkage_name) : stem;
}

static const char *linkage_of(const struct sn_resolved_scope *scope)
{
	return scope->linkage_name ? scope->linkage_name : scope->name;
}

/* Where what was outlined begins: bodies are declared nowhere. NULL: not known. */
static const struct sn_line *line_of(const struct sn_function *body)
{
	for (uint32_t i = 0; i < body->line_count; i++)
		if (body->lines[i].line)
			return &body->lines[i];
	return NULL;
}

/* The body that a scope's function has at or behind the line that its code is at, the first one; if all are before it,
 * the last of them. NULL: it has none. */
static const struct sn_function *body_of(struct sn_structure *structure,
					 const struct sn_resolved_scope *scope)
{
	const char *name = linkage_of(scope);
	size_t length = writer_length(name);
	const struct sn_function *best = NULL;
	uint32_t best_line = 0;

	for (size_t i = 0; length && i < sn_structure_function_count(structure); i++) {
		const struct sn_function *body = sn_structure_function(structure, i);
		const struct sn_line *first;
		uint32_t line;
		bool is_behind;

		if (strncmp(body->linkage_name, name, length) != 0 ||
		    sn_outlined_stem(body->linkage_name) != length)
			continue;
		sn_function_prepare(structure, body, SN_PREPARE_LINES);
		first = line_of(body);
		line = first ? first->line : 0;
		is_behind = line >= scope->line;
		if (best &&
		    (is_behind != (best_line >= scope->line) ? !is_behind
							     : (line < best_line) != is_behind))
			continue;
		best = body;
		best_line = line;
	}
	return best;
}

static void loops_drop(struct sn_resolved *resolved)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < resolved->loop_count; i++)
		if (resolved->loops[i].scope < resolved->scope_count)
			resolved->loops[kept++] = resolved->loops[i];
	resolved->loop_count = kept;
}

void sn_outlined_scopes(struct sn_structure *structure, uint64_t link_addr,
			struct sn_resolved *resolved)
{
	const struct sn_function *body = NULL;
	const struct sn_line *begin;
	const char *called;
	uint32_t scope = resolved->scope_count;

	if (scope < 2)
		return;
	called = sn_called_name(structure, link_addr);
	if (!called || !sn_is_parallel_start(called))
		return;
	while (scope && !body)
		body = body_of(structure, &resolved->scopes[--scope]);
	if (!body || scope + 1 == resolved->scope_count)
		return; /* nobody knows better */
	resolved->scope_count = scope + 1;
	loops_drop(resolved);
	begin = line_of(body);
	if (begin) {
		resolved->scopes[scope].file = begin->file;
		resolved->scopes[scope].line = begin->line;
	}
}

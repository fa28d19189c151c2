/*
 * Opens the structure of a module when it is first asked for, from the extract or from the file if
 * it is still the same, and resolves addresses with it. Code made at run time is resolved by lists
 * of names.
 */
#include "profile/structures.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/text.h"
#include "code/busy_wait.h"
#include "code/extract.h"
#include "code/jit.h"
#include "profile/generated.h"
#include "profile/outlined.h"

struct source_map {
	const char *from, *to;
};

/* The names that one process wrote for the code it made. */
struct jit_list {
	int32_t pid;
	struct sn_jit *jit;
};

struct sn_structures {
	struct sn_arena arena;
	const struct sn_experiment *experiment;
	struct sn_structure **of_module;
	const char **warnings, **damages; /* by module; NULL: none */
	struct sn_location location;	  /* large: one for all look-ups */
	SN_VEC(struct source_map) source_maps;
	SN_VEC(struct jit_list) jits; /* names of generated code */
	bool has_looked_for_jits;
	struct sn_jit *kernel; /* names of the kernel's functions (record --kernel); NULL: none */
	bool has_looked_for_kernel;
};

struct sn_structures *sn_structures_new(const struct sn_experiment *experiment)
{
	struct sn_structures *s = sn_alloc_zeroed(1, sizeof(*s));

	s->experiment = experiment;
	s->of_module = sn_alloc_zeroed(experiment->modules.count + 1, sizeof(*s->of_module));
	s->warnings = sn_alloc_zeroed(experiment->modules.count + 1, sizeof(*s->warnings));
	s->damages = sn_alloc_zeroed(experiment->modules.count + 1, sizeof(*s->damages));
	return s;
}

void sn_structures_free(struct sn_structures *s)
{
	if (!s)
		return;
	for (size_t m = 0; m < s->experiment->modules.count; m++)
		sn_structure_free(s->of_module[m]);
	free(s->of_module);
	free(s->warnings);
	free(s->damages);
	for (size_t i = 0; i < s->jits.count; i++)
		sn_jit_free(s->jits.items[i].jit);
	sn_vec_free(&s->jits);
	sn_jit_free(s->kernel);
	sn_vec_free(&s->source_maps);
	sn_arena_free(&s->arena);
	free(s);
}

struct sn_structure *sn_structures_of(struct sn_structures *s, uint32_t module)
{
	return module < s->experiment->modules.count ? s->of_module[module] : NULL;
}

const char *sn_structures_warning(const struct sn_structures *s, uint32_t module)
{
	return module < s->experiment->modules.count ? s->warnings[module] : NULL;
}

const char *sn_structures_damage(const struct sn_structures *s, uint32_t module)
{
	return module < s->experiment->modules.count ? s->damages[module] : NULL;
}

void sn_structures_map_source(struct sn_structures *s, const char *from, const char *to)
{
	struct source_map map = { sn_arena_strdup(&s->arena, from),
				  sn_arena_strdup(&s->arena, to) };

	sn_vec_push(&s->source_maps, map);
}

/* The file on disk may be another one by now: names of a newer build would be wrong names. */
static struct sn_structure *structure_from_file(struct sn_structures *s, uint32_t m,
						const uint64_t *link_addrs, size_t count)
{
	const struct sn_module *module = &s->experiment->modules.items[m];
	struct sn_structure *structure = NULL;
	struct sn_error err;

	if (module->kind != SN_MODULE_FILE || !module->path)
		return NULL;
	if (sn_structure_open_cached(module->path, NULL, link_addrs, count, &structure, &err) !=
	    SN_OK) {
		s->warnings[m] = sn_arena_strdup(&s->arena, err.sentence);
		return NULL;
	}
	if (module->build_id && module->build_id[0] &&
	    strcmp(module->build_id, sn_structure_id(structure)) != 0) {
		s->warnings[m] = sn_arena_printf(&s->arena,
						 "'%s' is not the file of the run any more: its "
						 "functions have no names here",
						 module->path);
		sn_structure_free(structure);
		return NULL;
	}
	return structure;
}

static bool covers(const struct sn_structure *structure, const uint64_t *link_addrs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!sn_structure_function_at(structure, link_addrs[i]))
			return false;
	return true;
}

/* What cannot be read is said, and what stands in for it. */
static void damage_tell(struct sn_structures *s, uint32_t m, const char *damage, bool has_file)
{
	const struct sn_module *module = &s->experiment->modules.items[m];

	if (has_file)
		s->damages[m] = sn_arena_printf(&s->arena,
						"%s; its functions and loops are read from '%s', "
						"the file of the run, as long as it is there",
						damage, module->path);
	else
		s->damages[m] = sn_arena_printf(
			&s->arena, "%s; its functions and loops have no names here%s%s", damage,
			s->warnings[m] ? ": " : "", s->warnings[m] ? s->warnings[m] : "");
	s->warnings[m] = s->damages[m];
}

/* The extract is what travelled with the experiment; where it has not all, the file may. */
static struct sn_structure *structure_open(struct sn_structures *s, uint32_t m,
					   const uint64_t *link_addrs, size_t count)
{
	const struct sn_module *module = &s->experiment->modules.items[m];
	struct sn_structure *structure = NULL, *of_file;
	bool is_damaged;
	struct sn_error err;

	is_damaged = module->extract_path &&
		     sn_extract_read(module->extract_path, &structure, &err) != SN_OK;
	if (is_damaged)
		structure = NULL;
	if (!structure || !covers(structure, link_addrs, count)) {
		const char *warning = s->warnings[m];

		of_file = structure_from_file(s, m, link_addrs, count);
		if (of_file) {
			sn_structure_free(structure);
			structure = of_file;
		} else if (structure) {
			s->warnings[m] = warning; /* what is there is good */
		}
	}
	if (is_damaged)
		damage_tell(s, m, err.sentence, structure != NULL);
	for (size_t i = 0; structure && i < s->source_maps.count; i++)
		sn_structure_map_source(structure, s->source_maps.items[i].from,
					s->source_maps.items[i].to);
	return structure;
}

/* ---- generated code ---- */

static void jit_list_read(struct sn_structures *s, int32_t pid, const char *path)
{
	struct sn_jit *jit;
	struct sn_error err;

	if (sn_jit_list_is_since(path, s->experiment->started_realtime_ns) &&
	    sn_jit_read(path, &jit, &err) == SN_OK)
		sn_vec_push(&s->jits, ((struct jit_list){ pid, jit }));
}

/* Lists that travel with the experiment come first, then those that the processes left behind. */
static void jit_lists_find(struct sn_structures *s)
{
	const struct sn_experiment *e = s->experiment;

	s->has_looked_for_jits = true;
	for (size_t p = 0; p < e->processes.count; p++) {
		int pid = e->processes.items[p].pid;
		size_t before = s->jits.count;
		struct sn_text path = { 0 };

		sn_text_addf(&path, "%s/perf-%d.map", e->path, pid);
		jit_list_read(s, pid, path.chars);
		sn_text_clear(&path);
		sn_text_addf(&path, "%s/jit-%d.dump", e->path, pid);
		jit_list_read(s, pid, path.chars);
		sn_text_clear(&path);
		sn_text_addf(&path, "/tmp/perf-%d.map", pid);
		if (s->jits.count == before)
			jit_list_read(s, pid, path.chars);
		sn_text_free(&path);
	}
}

static const char *unlisted_warning(struct sn_structures *s)
{
	const struct sn_generated_maker *maker = sn_generated_maker_of(s->experiment);

	return sn_arena_printf(&s->arena,
			       "no list of names was found for generated code; let the program "
			       "write /tmp/perf-PID.map%s%s",
			       maker ? ": " : "", maker ? maker->names : "");
}

/* In the process's own list; in any, if it has none: a child of fork runs what its parent made. */
static const struct sn_jit_symbol *jit_symbol_at(const struct sn_structures *s, uint32_t process,
						 uint64_t load_addr)
{
	int32_t pid = s->experiment->processes.items[process].pid;
	bool has_own = false;

	for (size_t i = 0; i < s->jits.count; i++)
		has_own |= s->jits.items[i].pid == pid;
	for (size_t i = 0; i < s->jits.count; i++) {
		const struct sn_jit_symbol *symbol;

		if (has_own && s->jits.items[i].pid != pid)
			continue;
		symbol = sn_jit_symbol_at(s->jits.items[i].jit, load_addr, 0);
		if (symbol)
			return symbol;
	}
	return NULL;
}

static bool jit_resolve(const struct sn_structures *s, uint32_t process, uint64_t load_addr,
			struct sn_resolved *out)
{
	const struct sn_jit_symbol *symbol = jit_symbol_at(s, process, load_addr);

	if (!symbol)
		return false;
	out->function_link_addr = 0; /* compiled again elsewhere it is still one function */
	out->scope_count = 1;
	out->loop_count = 0;
	out->scopes[0] = (struct sn_resolved_scope){ .name = symbol->name,
						     .decl_file = symbol->file,
						     .decl_line = symbol->line,
						     .file = symbol->file,
						     .line = symbol->line };
	return true;
}

/* ---- the kernel ---- */

/* Those that samples met, as record wrote them. */
static void kernel_list_read(struct sn_structures *s)
{
	struct sn_text path = { 0 };
	struct sn_error err;

	s->has_looked_for_kernel = true;
	sn_text_addf(&path, "%s/kernel.symbols", s->experiment->path);
	if (sn_jit_read(path.chars, &s->kernel, &err) != SN_OK)
		s->kernel = NULL;
	sn_text_free(&path);
}

static bool kernel_resolve(const struct sn_structures *s, uint64_t link_addr,
			   struct sn_resolved *out)
{
	const struct sn_jit_symbol *symbol =
		s->kernel ? sn_jit_symbol_at(s->kernel, link_addr, 0) : NULL;

	if (!symbol)
		return false;
	out->function_link_addr = symbol->load_addr;
	out->scope_count = 1;
	out->loop_count = 0;
	out->scopes[0] = (struct sn_resolved_scope){ .name = symbol->name };
	return true;
}

static void prepare(void *context, uint32_t module, const uint64_t *link_addrs, size_t count)
{
	struct sn_structures *s = context;
	struct sn_structure *structure;

	if (sn_module_is_generated(&s->experiment->modules.items[module]) &&
	    !s->has_looked_for_jits)
		jit_lists_find(s);
	if (sn_module_is_generated(&s->experiment->modules.items[module]) && !s->jits.count)
		s->warnings[module] = unlisted_warning(s);
	if (s->experiment->modules.items[module].kind == SN_MODULE_KERNEL &&
	    !s->has_looked_for_kernel)
		kernel_list_read(s);
	if (!s->of_module[module])
		s->of_module[module] = structure_open(s, module, link_addrs, count);
	structure = s->of_module[module];
	if (!structure)
		return;
	sn_structure_prepare(structure, link_addrs, count, SN_PREPARE_ALL);
	if (!s->warnings[module] && sn_structure_warning(structure))
		s->warnings[module] = sn_structure_warning(structure);
}

/* ---- one address ---- */

static void scopes_fill(const struct sn_location *location, struct sn_resolved *out)
{
	uint32_t count = location->frame_count;

	if (count > SN_RESOLVED_SCOPES)
		count = SN_RESOLVED_SCOPES;
	out->scope_count = count;
	for (uint32_t i = 0; i < count; i++) {
		const struct sn_source_frame *frame =
			&location->frames[location->frame_count - 1 - i];

		out->scopes[i] = (struct sn_resolved_scope){ frame->name,      frame->linkage_name,
							     frame->decl_file, frame->decl_line,
							     frame->file,      frame->line };
	}
}

/* The scope, counted from the concrete function, of the inlined subroutine `wanted` or of the
 * nearest one around it that is on the path of `innermost`. */
static uint32_t scope_of_inline(const struct sn_function *function, int32_t innermost,
				int32_t wanted)
{
	for (; wanted >= 0; wanted = function->inlines[wanted].parent) {
		uint32_t depth = 0;
		bool found = false;

		for (int32_t i = innermost; i >= 0; i = function->inlines[i].parent) {
			found |= i == wanted;
			depth += found;
		}
		if (found)
			return depth;
	}
	return 0;
}

static void loops_fill(const struct sn_structure *structure, const struct sn_location *location,
		       uint64_t link_addr, struct sn_resolved *out)
{
	const struct sn_function *function = location->function;
	const struct sn_line *line = sn_function_line_at(function, link_addr);
	const struct sn_loop *chain[SN_RESOLVED_LOOPS];
	uint32_t count = 0;

	for (const struct sn_loop *loop = location->loop; loop && count < SN_RESOLVED_LOOPS;
	     loop = loop->parent >= 0 ? &function->loops[loop->parent] : NULL)
		chain[count++] = loop;
	out->loop_count = count;
	for (uint32_t i = 0; i < count; i++) {
		const struct sn_loop *loop = chain[count - 1 - i];

		out->loops[i] = (struct sn_resolved_loop){
			.code = loop,
			.scope = scope_of_inline(function, line ? line->inline_index : -1,
						 loop->inline_index),
			.busy_waits = sn_loop_busy_waits(structure, loop),
		};
	}
}

static bool resolve(void *context, uint32_t process, uint32_t module, uint64_t link_addr,
		    struct sn_resolved *out)
{
	struct sn_structures *s = context;
	struct sn_structure *structure = sn_structures_of(s, module);

	if (sn_module_is_generated(&s->experiment->modules.items[module]))
		return jit_resolve(s, process, link_addr, out);
	if (s->experiment->modules.items[module].kind == SN_MODULE_KERNEL)
		return kernel_resolve(s, link_addr, out);
	if (!structure || !sn_structure_locate(structure, link_addr, &s->location))
		return false;
	out->function_link_addr = s->location.function->link_addr;
	scopes_fill(&s->location, out);
	loops_fill(structure, &s->location, link_addr, out);
	sn_outlined_scopes(structure, link_addr, out);
	return true;
}

struct sn_resolver sn_structures_resolver(struct sn_structures *structures)
{
	return (struct sn_resolver){ structures, prepare, resolve };
}

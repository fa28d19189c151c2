/*
 * Looks up every address that occurs in a stack, and makes functions, loops and lines unique
 * across modules and inlined copies.
 */
#include "profile/program.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/intern.h"
#include "base/text.h"

const char *sn_program_module_name(const struct sn_program *program, uint32_t module)
{
	const struct sn_module *m;

	if (module >= program->experiment->modules.count)
		return "[none]";
	m = &program->experiment->modules.items[module];
	return m->name ? m->name : sn_base_name(m->path);
}

/* ---- making things unique ---- */

struct scope_cache_entry {
	const char *linkage_name, *decl_file;
	uint64_t link_addr;
	uint32_t module, function;
};
enum { SCOPE_CACHE = 4096 };

struct builder {
	struct sn_program *program;
	struct sn_interner functions, source_loops, files;
	struct sn_map file_of_pointer, function_files, lines;
	struct scope_cache_entry *cache; /* texts of a resolver are mostly unique pointers */
	struct sn_map *places_of_module;
	struct sn_text key;
};

/* Without a source file to tell two local functions of one name apart, their addresses do. */
static uint32_t function_intern(struct builder *b, uint32_t module, uint64_t link_addr,
				const struct sn_resolved_scope *scope)
{
	struct sn_program *program = b->program;
	const char *linkage = scope->linkage_name ? scope->linkage_name : scope->name;
	struct scope_cache_entry *cached =
		&b->cache[sn_hash_u64((uintptr_t)linkage ^ module) % SCOPE_CACHE];
	uint32_t number;

	if (scope->decl_file)
		link_addr = 0;
	if (cached->linkage_name == linkage && cached->decl_file == scope->decl_file &&
	    cached->module == module && cached->link_addr == link_addr)
		return cached->function;
	sn_text_clear(&b->key);
	sn_text_addf(&b->key, "%u\n%llx\n", module, (unsigned long long)link_addr);
	sn_text_add(&b->key, linkage);
	sn_text_add(&b->key, "\n");
	sn_text_add(&b->key, scope->decl_file ? scope->decl_file : "");
	number = sn_intern(&b->functions, b->key.chars, b->key.length);
	if (number == program->functions.count) {
		struct sn_program_function function = {
			.name = scope->name,
			.linkage_name = linkage,
			.file = scope->decl_file,
			.line = scope->decl_line,
			.module = module,
			.is_named = scope->name[0] != '<' && scope->name[0] != '[',
		};

		sn_vec_push(&program->functions, function);
	}
	*cached =
		(struct scope_cache_entry){ linkage, scope->decl_file, link_addr, module, number };
	return number;
}

static uint32_t file_intern(struct builder *b, const char *file)
{
	bool is_new;
	uint64_t *number = sn_map_put(&b->file_of_pointer, (uintptr_t)file, &is_new);

	if (is_new)
		*number = sn_intern_string(&b->files, file ? file : "");
	return (uint32_t)*number;
}

static uint32_t line_intern(struct builder *b, uint32_t function, const char *file, uint32_t line)
{
	struct sn_program *program = b->program;
	bool is_new;
	uint64_t *slot;
	uint64_t function_file = (uint64_t)function << 32 | file_intern(b, file);

	if (!file)
		line = 0;
	slot = sn_map_put(&b->function_files, function_file, &is_new);
	if (is_new)
		*slot = b->function_files.count - 1;
	slot = sn_map_put(&b->lines, *slot << 32 | line, &is_new);
	if (is_new) {
		struct sn_program_line entry = { function, file, line };

		*slot = program->lines.count;
		sn_vec_push(&program->lines, entry);
	}
	return (uint32_t)*slot;
}

/* The source loop is known by the lines of its main loop, so that inlined copies of one loop are
 * one; else by where it is. */
static uint32_t source_loop_intern(struct builder *b, uint32_t module, uint32_t function,
				   const struct sn_loop *loop)
{
	const struct sn_loop *main_loop = sn_loop_main(loop);

	sn_text_clear(&b->key);
	if (loop->file && main_loop->line_first)
		sn_text_addf(&b->key, "%u\n%u\n%s\n%u\n%u", function, loop->depth, loop->file,
			     main_loop->line_first, main_loop->line_last);
	else
		sn_text_addf(&b->key, "%u\n%llx\n%llx", module,
			     (unsigned long long)loop->function->link_addr,
			     (unsigned long long)main_loop->header_link_addr);
	return sn_intern(&b->source_loops, b->key.chars, b->key.length);
}

static uint32_t loop_intern(struct builder *b, uint32_t module, uint32_t function, uint32_t parent,
			    const struct sn_resolved_loop *loop)
{
	struct sn_program *program = b->program;
	bool is_new;
	uint64_t *number = sn_map_put(&program->loop_of_code, (uintptr_t)loop->code, &is_new);

	if (is_new) {
		struct sn_program_loop entry = {
			.code = loop->code,
			.module = module,
			.function = function,
			.parent = parent,
			.source_loop = source_loop_intern(b, module, function, loop->code),
			.busy_waits = loop->busy_waits,
		};

		*number = program->loops.count;
		sn_vec_push(&program->loops, entry);
	}
	return (uint32_t)*number;
}

/* ---- places ---- */

static void place_add_step(struct builder *b, struct sn_program_place *place, uint32_t kind,
			   uint32_t index, uint32_t line)
{
	struct sn_step step = { kind, index, line };

	sn_vec_push(&b->program->steps, step);
	place->step_count++;
}

static void place_fill(struct builder *b, struct sn_program_place *place,
		       const struct sn_resolved *resolved)
{
	uint32_t loop = 0;

	place->first_step = (uint32_t)b->program->steps.count;
	for (uint32_t s = 0; s < resolved->scope_count; s++) {
		const struct sn_resolved_scope *scope = &resolved->scopes[s];
		bool is_last = s + 1 == resolved->scope_count;

		place->function =
			function_intern(b, place->module, resolved->function_link_addr, scope);
		place->line = line_intern(b, place->function, scope->file, scope->line);
		if (!s)
			b->program->functions.items[place->function].link_addr =
				resolved->function_link_addr;
		place_add_step(b, place, SN_STEP_FUNCTION, place->function, place->line);
		while (loop < resolved->loop_count &&
		       (is_last || resolved->loops[loop].scope <= s)) {
			place->loop = loop_intern(b, place->module, place->function, place->loop,
						  &resolved->loops[loop]);
			place_add_step(b, place, SN_STEP_LOOP, place->loop, place->line);
			loop++;
		}
	}
}

static void place_fill_unknown(struct builder *b, struct sn_program_place *place)
{
	struct sn_program *program = b->program;
	struct sn_resolved resolved = { .scope_count = 1 };
	const struct sn_experiment *e = program->experiment;

	resolved.scopes[0].name = "[no stack]";
	if (place->module < e->modules.count) {
		const char *name = sn_program_module_name(program, place->module);

		resolved.scopes[0].name =
			name[0] == '[' ? name : sn_arena_printf(&program->arena, "[%s]", name);
		if (e->modules.items[place->module].kind == SN_MODULE_SONDE)
			resolved.scopes[0].name = "sonde"; /* its name, and known */
	}
	place_fill(b, place, &resolved);
}

/* Code made at run time has no address but that in its process. */
static uint64_t place_key(const struct sn_experiment *e, uint32_t process, uint32_t module,
			  uint64_t link_addr)
{
	enum sn_module_kind kind =
		module == SN_NONE ? SN_MODULE_FILE : e->modules.items[module].kind;

	/* user addresses have 47 bits */
	return kind == SN_MODULE_JIT || kind == SN_MODULE_UNKNOWN
		       ? link_addr ^ (uint64_t)process << 48
		       : link_addr;
}

static uint32_t place_of(struct builder *b, uint32_t process, uint32_t module, uint64_t link_addr)
{
	struct sn_program *program = b->program;
	bool is_new;
	uint64_t *slot;

	if (module >= program->experiment->modules.count) {
		module = SN_NONE;
		link_addr = 0;
	} else if (program->experiment->modules.items[module].kind == SN_MODULE_SONDE) {
		link_addr = 0; /* one row for all of it */
	}
	slot = sn_map_put(
		&b->places_of_module[module == SN_NONE ? program->experiment->modules.count
						       : module],
		place_key(program->experiment, process, module, link_addr), &is_new);
	if (is_new) {
		struct sn_program_place place = { .module = module,
						  .process = process,
						  .link_addr = link_addr,
						  .loop = SN_NONE };

		*slot = program->places.count;
		sn_vec_push(&program->places, place);
	}
	return (uint32_t)*slot;
}

/* Return addresses are looked up one byte before: the call may be a function's last instruction. */
static void stacks_find_places(struct builder *b)
{
	struct sn_program *program = b->program;
	const struct sn_experiment *e = program->experiment;
	size_t frames = 0;

	program->stack_count = (uint32_t)e->stacks.count;
	program->first_frame = sn_alloc_zeroed(e->stacks.count + 2, sizeof(size_t));
	for (size_t s = 0; s <= e->stacks.count; s++) {
		uint32_t depth = s < e->stacks.count ? e->stacks.items[s].depth : 0;

		program->first_frame[s] = frames;
		frames += depth ? depth : 1;
	}
	program->first_frame[e->stacks.count + 1] = frames;
	program->frame_places = sn_alloc_zeroed(frames, sizeof(uint32_t));
	for (size_t s = 0; s <= e->stacks.count; s++) {
		const struct sn_stack *stack = s < e->stacks.count ? &e->stacks.items[s] : NULL;
		uint32_t *places = program->frame_places + program->first_frame[s];

		if (!stack || !stack->depth) {
			places[0] = place_of(b, 0, SN_NONE, 0);
			continue;
		}
		for (uint32_t i = 0; i < stack->depth; i++)
			places[i] = place_of(b, stack->process, stack->frames[i].module,
					     stack->frames[i].link_addr - (i > 0));
	}
}

static void places_prepare(struct builder *b, const struct sn_resolver *resolver)
{
	const struct sn_program *program = b->program;
	SN_VEC(uint64_t) *addrs =
		sn_alloc_zeroed(program->experiment->modules.count + 1, sizeof(*addrs));

	for (size_t i = 0; i < program->places.count; i++)
		if (program->places.items[i].module != SN_NONE)
			sn_vec_push(&addrs[program->places.items[i].module],
				    program->places.items[i].link_addr);
	for (size_t m = 0; m < program->experiment->modules.count; m++) {
		if (addrs[m].count)
			resolver->prepare(resolver->context, (uint32_t)m, addrs[m].items,
					  addrs[m].count);
		sn_vec_free(&addrs[m]);
	}
	free(addrs);
}

static void places_resolve(struct builder *b, const struct sn_resolver *resolver)
{
	struct sn_program *program = b->program;
	struct sn_resolved *resolved = sn_alloc(sizeof(*resolved));

	if (resolver && resolver->prepare)
		places_prepare(b, resolver);
	for (size_t i = 0; i < program->places.count; i++) {
		struct sn_program_place *place = &program->places.items[i];

		if (resolver && place->module != SN_NONE &&
		    resolver->resolve(resolver->context, place->process, place->module,
				      place->link_addr, resolved) &&
		    resolved->scope_count)
			place_fill(b, place, resolved);
		else
			place_fill_unknown(b, place);
	}
	free(resolved);
}

/* ---- classes ---- */

/* In a static program the C library's functions are in the program's own file. They have no source
 * there, and names that the implementation reserves; stubs ("malloc@plt") count as what they lead
 * to. */
static bool is_library_within(const struct sn_program_function *function)
{
	return function->is_named && !function->file &&
	       (function->linkage_name[0] == '_' || sn_ends_with(function->linkage_name, "@plt")) &&
	       sn_category_of_function(function->linkage_name) != SN_CATEGORIES;
}

static bool leaf_busy_waits(const struct sn_program *program, uint32_t stack)
{
	uint32_t loop = sn_program_leaf(program, stack)->loop;

	return loop != SN_NONE && program->loops.items[loop].busy_waits;
}

static void stacks_classify(struct sn_program *program)
{
	const struct sn_experiment *e = program->experiment;
	SN_VEC(struct sn_class_frame) frames = { 0 };

	program->module_classes = sn_alloc_zeroed(e->modules.count + 1, sizeof(int));
	for (size_t m = 0; m < e->modules.count; m++)
		program->module_classes[m] = sn_module_class_of(&e->modules.items[m]);
	program->module_classes[e->modules.count] = SN_MODULE_CLASS_OTHER;
	program->classes = sn_alloc_zeroed(program->stack_count + 1, sizeof(*program->classes));
	for (uint32_t s = 0; s <= program->stack_count; s++) {
		frames.count = 0;
		for (size_t i = program->first_frame[s]; i < program->first_frame[s + 1]; i++) {
			const struct sn_program_place *place =
				&program->places.items[program->frame_places[i]];
			const struct sn_program_function *function =
				&program->functions
					 .items[program->steps.items[place->first_step].index];
			struct sn_class_frame frame = {
				program->module_classes[place->module == SN_NONE ? e->modules.count
										 : place->module],
				function->is_named ? function->linkage_name : "",
			};

			if (function->is_named && place->module != SN_NONE &&
			    e->modules.items[place->module].kind == SN_MODULE_UNKNOWN)
				frame.module_class = SN_MODULE_CLASS_BINARY; /* generated */
			if (frame.module_class == SN_MODULE_CLASS_BINARY && function->is_named)
				frame.module_class =
					sn_class_of_static_function(function->linkage_name);
			if (frame.module_class == SN_MODULE_CLASS_BINARY &&
			    is_library_within(function))
				frame.module_class = SN_MODULE_CLASS_LIBC;
			sn_vec_push(&frames, frame);
			if (frame.module_class == SN_MODULE_CLASS_BINARY)
				break; /* no rule looks further */
		}
		program->classes[s] = sn_class_of_stack(frames.items, (uint32_t)frames.count);
		program->classes[s].is_spin |= leaf_busy_waits(program, s);
	}
	sn_vec_free(&frames);
}

struct sn_program *sn_program_new(const struct sn_experiment *experiment,
				  const struct sn_resolver *resolver)
{
	struct sn_program *program = sn_alloc_zeroed(1, sizeof(*program));
	struct builder b = { .program = program };

	program->experiment = experiment;
	b.cache = sn_alloc_zeroed(SCOPE_CACHE, sizeof(*b.cache));
	b.places_of_module = sn_alloc_zeroed(experiment->modules.count + 1, sizeof(struct sn_map));
	stacks_find_places(&b);
	places_resolve(&b, resolver);
	program->no_stack_function = sn_program_leaf(program, program->stack_count)->function;
	program->source_loop_count = (uint32_t)b.source_loops.strings.count;
	stacks_classify(program);
	for (size_t m = 0; m <= experiment->modules.count; m++)
		sn_map_free(&b.places_of_module[m]);
	free(b.places_of_module);
	free(b.cache);
	sn_map_free(&b.file_of_pointer);
	sn_map_free(&b.function_files);
	sn_map_free(&b.lines);
	sn_interner_free(&b.functions);
	sn_interner_free(&b.source_loops);
	sn_interner_free(&b.files);
	sn_text_free(&b.key);
	return program;
}

void sn_program_free(struct sn_program *program)
{
	if (!program)
		return;
	sn_vec_free(&program->functions);
	sn_vec_free(&program->loops);
	sn_vec_free(&program->lines);
	sn_vec_free(&program->places);
	sn_vec_free(&program->steps);
	sn_map_free(&program->loop_of_code);
	free(program->first_frame);
	free(program->frame_places);
	free(program->classes);
	free(program->module_classes);
	sn_arena_free(&program->arena);
	free(program);
}

uint32_t sn_program_loop_of(const struct sn_program *program, const struct sn_loop *code)
{
	const uint64_t *number = sn_map_get(&program->loop_of_code, (uintptr_t)code);

	return number ? (uint32_t)*number : SN_NONE;
}

uint32_t sn_program_loop_with_id(const struct sn_program *program, const char *id)
{
	for (uint32_t l = 0; l < program->loops.count; l++)
		if (!strcmp(program->loops.items[l].code->id, id))
			return l;
	return SN_NONE;
}

/* Functions at which Go's own tracebacks stop: the threads' first, and those that go to the
 * scheduler's stack for good. */
static bool is_first_of_go(const char *name)
{
	static const char *const names[] = { "goexit", "mstart", "mcall",
					     "rt0_go", "clone",	 "morestack" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t length = strlen(names[i]);

		if (sn_starts_with(name, "runtime.") && !strncmp(name + 8, names[i], length) &&
		    (!name[8 + length] || !strcmp(name + 8 + length, ".abi0")))
			return true;
	}
	return false;
}

bool sn_program_stack_is_whole(const struct sn_program *program, uint32_t stack)
{
	const struct sn_program_place *outermost;

	if (stack >= program->stack_count)
		return false;
	if (program->experiment->stacks.items[stack].flags & SN_STACK_COMPLETE)
		return true;
	outermost =
		&program->places.items[program->frame_places[program->first_frame[stack + 1] - 1]];
	return is_first_of_go(program->functions.items[outermost->function].linkage_name);
}

void sn_program_stack_steps(const struct sn_program *program, uint32_t stack,
			    struct sn_step_vec *steps)
{
	steps->count = 0;
	for (size_t i = program->first_frame[stack + 1]; i-- > program->first_frame[stack];) {
		const struct sn_program_place *place =
			&program->places.items[program->frame_places[i]];

		sn_vec_reserve(steps, steps->count + place->step_count);
		memcpy(steps->items + steps->count, program->steps.items + place->first_step,
		       place->step_count * sizeof(*steps->items));
		steps->count += place->step_count;
	}
}

/* Groups waits by what was called and by the nearest function of the application that called it. */
#include "profile/wait.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

const char *sn_wait_kind_name(enum sn_wait_kind kind)
{
	static const char *const names[] = {
		[SN_WAIT_LOCK] = "lock",   [SN_WAIT_CONDITION] = "condition",
		[SN_WAIT_IO] = "io",	   [SN_WAIT_POLL] = "poll",
		[SN_WAIT_SLEEP] = "sleep", [SN_WAIT_CHILD] = "child",
		[SN_WAIT_OTHER] = "other", [SN_WAIT_JOIN] = "join",
	};
	_Static_assert(sizeof(names) / sizeof(*names) == SN_WAIT_KINDS, "each kind has its name");

	return kind < SN_WAIT_KINDS ? names[kind] : "other";
}

static bool place_is(const struct sn_program *program, const struct sn_program_place *place,
		     enum sn_module_class class)
{
	return place->module != SN_NONE && program->module_classes[place->module] == class;
}

/* The caller is the nearest function of the program's own files; of a thread that a library began,
 * the library's. */
static enum sn_module_class caller_class(const struct sn_program *program, uint32_t stack)
{
	for (size_t i = program->first_frame[stack]; i < program->first_frame[stack + 1]; i++)
		if (place_is(program, &program->places.items[program->frame_places[i]],
			     SN_MODULE_CLASS_BINARY))
			return SN_MODULE_CLASS_BINARY;
	return SN_MODULE_CLASS_LIBRARY;
}

struct sn_call_site sn_call_site_of(const struct sn_program *program, uint32_t stack)
{
	struct sn_call_site site = { sn_program_leaf(program, stack)->function, SN_NONE, SN_NONE };
	enum sn_module_class own = caller_class(program, stack);
	uint32_t called = site.function;

	for (size_t i = program->first_frame[stack]; i < program->first_frame[stack + 1]; i++) {
		const struct sn_program_place *place =
			&program->places.items[program->frame_places[i]];

		if (place_is(program, place, own)) {
			site.function = called;
			if (i > program->first_frame[stack]) {
				site.caller = place->function;
				site.line = place->line;
			}
			return site;
		}
		called = program->steps.items[place->first_step].index;
	}
	return site; /* no function of the program on the path: the call itself */
}

struct builder {
	const struct sn_profile *profile;
	struct sn_wait_groups *groups;
	struct sn_map of_site; /* (stack's site number, kind) to group */
	struct sn_map sites;   /* (function, caller) then line to site number */
	struct sn_map site_lines;
	uint32_t *site_of_stack;	  /* number + 1 */
	struct sn_call_site *stack_sites; /* by stack */
	uint64_t *stack_ns;		  /* by stack and kind */
	SN_VEC(uint32_t) last_thread;	  /* by group: thread + 1 */
};

static uint32_t site_number(struct builder *b, uint32_t stack)
{
	struct sn_call_site *site = &b->stack_sites[stack];
	bool is_new;
	uint64_t *slot;

	if (b->site_of_stack[stack])
		return b->site_of_stack[stack] - 1;
	*site = sn_call_site_of(b->profile->program, stack);
	slot = sn_map_put(&b->sites, (uint64_t)site->function << 32 | site->caller, &is_new);
	if (is_new)
		*slot = b->sites.count - 1;
	slot = sn_map_put(&b->site_lines, *slot << 32 | site->line, &is_new);
	if (is_new)
		*slot = b->site_lines.count - 1;
	b->site_of_stack[stack] = (uint32_t)*slot + 1;
	return (uint32_t)*slot;
}

static struct sn_wait_group *group_of(struct builder *b, uint32_t stack, uint32_t kind)
{
	bool is_new;
	uint64_t *slot = sn_map_put(
		&b->of_site, (uint64_t)site_number(b, stack) * SN_WAIT_KINDS + kind, &is_new);

	if (is_new) {
		const struct sn_call_site *site = &b->stack_sites[stack];
		struct sn_wait_group group = { .kind = kind,
					       .function = site->function,
					       .caller = site->caller,
					       .line = site->line,
					       .stack = stack };

		*slot = b->groups->items.count;
		sn_vec_push(&b->groups->items, group);
		sn_vec_push(&b->last_thread, 0);
	}
	return &b->groups->items.items[*slot];
}

static void wait_add(struct builder *b, const struct sn_wait *wait)
{
	uint64_t ns = sn_profile_wait_ns(b->profile, wait), *stack_ns;
	uint32_t stack = wait->stack < b->profile->program->stack_count
				 ? wait->stack
				 : b->profile->program->stack_count;
	uint32_t kind = wait->kind < SN_WAIT_KINDS ? wait->kind : (uint32_t)SN_WAIT_OTHER;
	struct sn_wait_group *group;
	size_t number;

	if (!ns)
		return;
	group = group_of(b, stack, kind);
	number = (size_t)(group - b->groups->items.items);
	group->waits++;
	group->blocked_ns += ns;
	if (ns > group->max_ns)
		group->max_ns = ns;
	if (b->last_thread.items[number] != wait->thread + 1) {
		b->last_thread.items[number] = wait->thread + 1;
		group->threads++;
	}
	stack_ns = &b->stack_ns[(size_t)stack * SN_WAIT_KINDS + kind];
	*stack_ns += ns;
	if (*stack_ns > group->stack_ns) {
		group->stack_ns = *stack_ns;
		group->stack = stack;
	}
}

static int groups_compare(const void *left, const void *right)
{
	const struct sn_wait_group *x = left, *y = right;

	if (x->blocked_ns != y->blocked_ns)
		return x->blocked_ns > y->blocked_ns ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

void sn_wait_groups_find(const struct sn_profile *profile, const uint8_t *threads,
			 struct sn_wait_groups *out)
{
	uint32_t stacks = profile->program->stack_count + 1;
	struct builder b = { .profile = profile, .groups = out };

	memset(out, 0, sizeof(*out));
	b.site_of_stack = sn_alloc_zeroed(stacks, sizeof(uint32_t));
	b.stack_sites = sn_alloc_zeroed(stacks, sizeof(struct sn_call_site));
	b.stack_ns = sn_alloc_zeroed((size_t)stacks * SN_WAIT_KINDS, sizeof(uint64_t));
	for (size_t i = 0; i < profile->experiment->waits.count; i++) {
		const struct sn_wait *wait = &profile->experiment->waits.items[i];

		if (!threads ||
		    (wait->thread < profile->experiment->threads.count && threads[wait->thread]))
			wait_add(&b, wait);
	}
	if (out->items.count)
		qsort(out->items.items, out->items.count, sizeof(*out->items.items),
		      groups_compare);
	sn_map_free(&b.of_site);
	sn_map_free(&b.sites);
	sn_map_free(&b.site_lines);
	free(b.site_of_stack);
	free(b.stack_sites);
	free(b.stack_ns);
	sn_vec_free(&b.last_thread);
}

void sn_wait_groups_free(struct sn_wait_groups *groups)
{
	sn_vec_free(&groups->items);
}

/* System time by system call and page fault. The handler sees no more than the registers: the
 * kernel does not give back the call's number, but the code before the instruction loads it. */
#include "profile/system_call.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "code/constants.h"
#include "profile/wait.h"

enum {
	SYSCALL_BYTES = 2,   /* 0f 05 */
	WRAPPER_BYTES = 128, /* libc's functions make their call within so many */
};

const char *sn_system_kind_name(enum sn_system_kind kind)
{
	static const char *const names[] = { "call", "fault", "unseen", "sonde", "unknown" };

	return names[kind];
}

static bool is_system_call(const struct sn_structure *structure, uint64_t link_addr)
{
	size_t available;
	const uint8_t *bytes = sn_structure_bytes(structure, link_addr, &available);

	return bytes && available >= SYSCALL_BYTES && bytes[0] == 0x0f && bytes[1] == 0x05;
}

/* libc's syscall() takes the number from its caller. */
static bool is_generic(const struct sn_program *program, const struct sn_program_place *place)
{
	return !strcmp(program->functions.items[place->function].linkage_name, "syscall");
}

static int64_t number_from_caller(const struct sn_program *program,
				  struct sn_structures *structures, uint32_t stack)
{
	size_t caller = program->first_frame[stack] + 1;
	const struct sn_program_place *place;
	const struct sn_structure *structure;
	uint64_t call_link_addr, number;

	if (caller >= program->first_frame[stack + 1])
		return -1;
	place = &program->places.items[program->frame_places[caller]];
	structure = place->module == SN_NONE ? NULL : sn_structures_of(structures, place->module);
	/* places of callers lie one byte before the return address */
	return structure &&
			       sn_instruction_ends_at(structure, place->link_addr + 1,
						      &call_link_addr) &&
			       sn_constant_before(structure, call_link_addr, SN_GPR_RDI, &number)
		       ? (int64_t)(uint32_t)number
		       : -1;
}

/* A call that was timed as a whole (docs/method/sampling.md) stands at the entry of the function
 * that makes it: the first instruction of that kind ahead, or UINT64_MAX. */
static uint64_t call_ahead(const struct sn_structure *structure,
			   const struct sn_program_function *function, uint64_t pc)
{
	if (pc != function->link_addr)
		return UINT64_MAX;
	for (uint64_t ahead = 0; ahead < WRAPPER_BYTES; ahead++)
		if (is_system_call(structure, pc + ahead))
			return pc + ahead;
	return UINT64_MAX;
}

/* The kind of the leaf of a stack in the kernel. The pc is behind the system call's instruction, or
 * at it when the call is to be made again. */
static void classify(const struct sn_program *program, struct sn_structures *structures,
		     uint32_t stack, struct sn_system_group *group)
{
	const struct sn_program_place *leaf = sn_program_leaf(program, stack);
	const struct sn_structure *structure = leaf->module == SN_NONE || !structures
						       ? NULL
						       : sn_structures_of(structures, leaf->module);
	uint64_t pc = leaf->link_addr, number, ahead;
	size_t available;

	group->number = -1;
	group->kind = SN_SYSTEM_UNKNOWN;
	if (leaf->module != SN_NONE &&
	    program->module_classes[leaf->module] == SN_MODULE_CLASS_SONDE)
		group->kind = SN_SYSTEM_SONDE;
	if (!structure)
		return;
	ahead = call_ahead(structure, &program->functions.items[leaf->function], pc);
	if (ahead == UINT64_MAX && !sn_structure_bytes(structure, pc - SYSCALL_BYTES, &available))
		return;
	group->kind = SN_SYSTEM_CALL;
	if (ahead != UINT64_MAX)
		pc = ahead;
	else if (is_system_call(structure, pc - SYSCALL_BYTES))
		pc -= SYSCALL_BYTES;
	else if (!is_system_call(structure, pc))
		group->kind = SN_SYSTEM_FAULT;
	if (group->kind == SN_SYSTEM_FAULT) {
		if (group->caller == SN_NONE) { /* the program's own code met it */
			group->caller = leaf->function;
			group->line = leaf->line;
		}
		return;
	}
	if (sn_constant_before(structure, pc, SN_GPR_RAX, &number))
		group->number = (int64_t)(uint32_t)number;
	else if (is_generic(program, leaf))
		group->number = number_from_caller(program, structures, stack);
}

enum sn_system_kind sn_system_kind_of(const struct sn_program *program,
				      struct sn_structures *structures, uint32_t stack)
{
	struct sn_system_group group = { .caller = SN_NONE };

	classify(program, structures, stack, &group);
	return group.kind;
}

static int compare_keys(const void *left, const void *right)
{
	const struct sn_system_group *a = left, *b = right;
	const int64_t keys[][2] = { { a->kind, b->kind },
				    { a->number, b->number },
				    { a->function, b->function },
				    { a->caller, b->caller },
				    { a->line, b->line } };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	return 0;
}

static int compare_times(const void *left, const void *right)
{
	const struct sn_system_group *a = left, *b = right;

	if (a->system_ns != b->system_ns)
		return a->system_ns > b->system_ns ? -1 : 1;
	return compare_keys(left, right);
}

/* Sums equal neighbours. */
static void merge(struct sn_system_groups *groups)
{
	size_t kept = 0;

	qsort(groups->items.items, groups->items.count, sizeof(*groups->items.items), compare_keys);
	for (size_t i = 1; i < groups->items.count; i++) {
		struct sn_system_group *last = &groups->items.items[kept];
		const struct sn_system_group *next = &groups->items.items[i];

		if (compare_keys(last, next)) {
			groups->items.items[++kept] = *next;
		} else {
			last->system_ns += next->system_ns;
			last->samples += next->samples;
		}
	}
	groups->items.count = kept + 1;
}

struct sums {
	uint64_t seen_ns, unseen_ns, samples;
};

static void group_push(struct sn_system_groups *out, const struct sn_profile *profile,
		       struct sn_structures *structures, uint32_t stack, const struct sums *sums)
{
	struct sn_call_site site = sn_call_site_of(profile->program, stack);
	struct sn_system_group group = { .function = site.function,
					 .caller = site.caller,
					 .line = site.line,
					 .system_ns = sums->seen_ns,
					 .samples = sums->samples };

	if (sums->samples) {
		classify(profile->program, structures, stack, &group);
		sn_vec_push(&out->items, group);
	}
	if (sums->unseen_ns)
		sn_vec_push(&out->items,
			    ((struct sn_system_group){ .kind = SN_SYSTEM_UNSEEN,
						       .number = -1,
						       .function = SN_NONE,
						       .caller = SN_NONE,
						       .line = SN_NONE,
						       .system_ns = sums->unseen_ns }));
}

void sn_system_groups_find(const struct sn_profile *profile, struct sn_structures *structures,
			   struct sn_system_groups *out)
{
	const struct sn_experiment *e = profile->experiment;
	uint32_t stacks = profile->program->stack_count;
	struct sums *sums = sn_alloc_zeroed(stacks + 1, sizeof(*sums));

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < e->samples.count; i++) {
		const struct sn_sample *sample = &e->samples.items[i];
		struct sums *of = &sums[sample->stack < stacks ? sample->stack : stacks];

		if (!(sample->flags & SN_SAMPLE_SYSTEM) || !sn_profile_has_sample(profile, sample))
			continue;
		if (sample->flags & SN_SAMPLE_REMAINDER) {
			of->unseen_ns += sample->cpu_ns;
		} else {
			of->seen_ns += sample->cpu_ns;
			of->samples++;
		}
	}
	for (uint32_t s = 0; s <= stacks; s++)
		if (sums[s].samples || sums[s].unseen_ns)
			group_push(out, profile, structures, s, &sums[s]);
	free(sums);
	if (!out->items.count)
		return;
	merge(out);
	qsort(out->items.items, out->items.count, sizeof(*out->items.items), compare_times);
}

void sn_system_groups_free(struct sn_system_groups *groups)
{
	sn_vec_free(&groups->items);
}

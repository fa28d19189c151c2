/* Sums what a replay found, for one loop. */
#include "views/loop_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "base/text.h"
#include "profile/companions.h"

void sn_loop_replay_new(const struct sn_view_input *input, struct sn_loop_replay *out)
{
	const struct sn_profile *traced = sn_profile_with_accesses(input->profile, NULL);
	struct sn_sim_config native;

	*out = (struct sn_loop_replay){ 0 };
	if (!traced->experiment->windows.count)
		return;
	out->is_own = !input->replay;
	out->replay = input->replay ? *input->replay : NULL;
	if (!out->replay) {
		sn_sim_config_native(&native);
		out->replay = sn_replay_new(traced, &native, SN_REPLAY_ACCESSES_MOST);
	}
	if (input->replay)
		*input->replay = out->replay;
	out->number_of = sn_loops_map(input->profile->program, traced->program);
}

void sn_loop_replay_free(struct sn_loop_replay *replay)
{
	if (replay->is_own)
		sn_replay_free(replay->replay);
	free(replay->number_of);
	*replay = (struct sn_loop_replay){ 0 };
}

/* Most misses first, then most accesses. */
static bool is_before(const struct sn_loop_object *a, const struct sn_loop_object *b)
{
	uint64_t of_a = sn_sim_stage_misses(&a->last), of_b = sn_sim_stage_misses(&b->last);

	return of_a != of_b ? of_a > of_b : a->last.accesses > b->last.accesses;
}

static void object_insert(struct sn_loop_memory *memory, const struct sn_loop_object *object)
{
	unsigned at = memory->object_count;

	while (at && is_before(object, &memory->objects[at - 1]))
		at--;
	if (at == SN_LOOP_OBJECTS)
		return;
	if (memory->object_count < SN_LOOP_OBJECTS)
		memory->object_count++;
	memmove(&memory->objects[at + 1], &memory->objects[at],
		(memory->object_count - at - 1) * sizeof(*object));
	memory->objects[at] = *object;
}

bool sn_loop_memory_of(const struct sn_loop_replay *of, uint32_t loop, struct sn_loop_memory *out)
{
	const struct sn_replay *replay = of->replay;
	uint32_t number = replay ? of->number_of[loop] : SN_NONE;
	struct sn_sim_stage *by_object;

	*out = (struct sn_loop_memory){ .seen_share = NAN };
	if (number == SN_NONE)
		return false;
	by_object = sn_alloc_zeroed(replay->objects.count + 1, sizeof(*by_object));
	out->level_count = replay->config.level_count;
	for (size_t i = 0; i < replay->cells.count; i++) {
		const struct sn_replay_cell *cell = &replay->cells.items[i];

		if (replay->sites.items[cell->site].loop != number)
			continue;
		for (int s = 0; s < SN_SIM_STAGES; s++)
			sn_sim_stage_add(&out->stages[s], &cell->stages[s]);
		sn_sim_stage_add(&by_object[cell->object], &cell->stages[out->level_count - 1]);
	}
	for (size_t o = 0; o < replay->objects.count; o++)
		if (sn_sim_stage_misses(&by_object[o]))
			object_insert(out, &(struct sn_loop_object){ &replay->objects.items[o],
								     by_object[o] });
	free(by_object);
	out->seen_share = sn_replay_seen_share(replay, number, SN_NONE);
	return out->stages[0].accesses;
}

static const char *const level_names[SN_SIM_STAGES] = { "L1", "L2", "L3", "TLB" };

static bool is_shown(const struct sn_loop_memory *memory, unsigned stage)
{
	return stage < memory->level_count || stage == SN_SIM_TLB;
}

/* From all open misses as hits to all of them as misses; of the loop's accesses, not of those that reach the level. */
static void share_add(const struct sn_loop_memory *memory, unsigned s, struct sn_text *out)
{
	const struct sn_sim_stage *stage = &memory->stages[s];
	uint64_t misses = sn_sim_stage_misses(stage), all = memory->stages[0].accesses;
	double high = 100 * sn_share(misses, all), low = 100 * sn_share(misses - stage->open, all);

	if (high - low >= 0.05)
		sn_text_addf(out, "%.1f-%.1f", low, high);
	else
		sn_text_addf(out, "%.1f", high);
	sn_text_addf(out, " %% miss %s%s", s == SN_SIM_TLB ? "the " : "", level_names[s]);
}

void sn_loop_memory_add(const struct sn_loop_memory *memory, struct sn_text *out)
{
	uint64_t misses = sn_sim_stage_misses(&memory->stages[memory->level_count - 1]);

	sn_text_addf(out, "simulated, of %llu accesses ",
		     (unsigned long long)memory->stages[0].accesses);
	for (unsigned s = 0; s < SN_SIM_STAGES; s++)
		if (is_shown(memory, s)) {
			sn_text_add(out, s ? ", " : "");
			share_add(memory, s, out);
		}
	for (unsigned o = 0; o < memory->object_count; o++)
		sn_text_addf(out, "%s%s %.0f %%", o ? ", " : "; what misses the last cache is of ",
			     memory->objects[o].object->name,
			     100 * sn_share(sn_sim_stage_misses(&memory->objects[o].last), misses));
	if (!isnan(memory->seen_share) && memory->seen_share < 0.995)
		sn_text_addf(out, "; %.2g %% of its accesses were recorded",
			     100 * memory->seen_share);
}

void sn_loop_memory_write(const struct sn_loop_memory *memory, struct sn_json *json)
{
	const struct sn_sim_stage *last = &memory->stages[memory->level_count - 1];

	sn_json_member_uint(json, "accesses", memory->stages[0].accesses);
	sn_json_member_double(json, "seen_share", memory->seen_share);
	sn_json_key(json, "levels");
	sn_json_array(json);
	for (unsigned s = 0; s < SN_SIM_STAGES; s++) {
		const struct sn_sim_stage *stage = &memory->stages[s];
		uint64_t misses = sn_sim_stage_misses(stage);

		if (!is_shown(memory, s))
			continue;
		sn_json_object(json);
		sn_json_member_string(json, "level", level_names[s]);
		sn_json_member_uint(json, "accesses", stage->accesses);
		sn_json_member_uint(json, "misses", misses);
		sn_json_member_double(json, "miss_share", sn_share(misses, stage->accesses));
		sn_json_member_double(json, "miss_share_low",
				      sn_share(misses - stage->open, stage->accesses));
		sn_json_close(json);
	}
	sn_json_close(json);
	sn_json_key(json, "objects");
	sn_json_array(json);
	for (unsigned o = 0; o < memory->object_count; o++) {
		const struct sn_loop_object *object = &memory->objects[o];
		uint64_t misses = sn_sim_stage_misses(&object->last);

		sn_json_object(json);
		sn_json_member_string(json, "object", object->object->name);
		sn_json_member_string(json, "object_kind", object->object->kind);
		sn_json_member_uint(json, "misses", misses);
		sn_json_member_double(json, "share", sn_share(misses, sn_sim_stage_misses(last)));
		sn_json_close(json);
	}
	sn_json_close(json);
}

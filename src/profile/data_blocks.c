/* Blocks of the heap by the variable that holds them and the site that allocated them. */
#include "profile/data_blocks.h"

#include <string.h>

#include "base/text.h"
#include "profile/site.h"

/* A function that returns the block is a wrapper of the allocator: its callers hold it. */
enum { WRAPPERS_MOST = 4 };

static const char *holder_of(struct sn_data_objects *objects, const struct sn_program *program,
			     uint32_t stack, struct sn_arena *arena)
{
	size_t site = sn_site_frame(program, stack), end = program->first_frame[stack + 1];
	const char *name = NULL;

	for (size_t f = site; f < end && f <= site + WRAPPERS_MOST; f++) {
		const struct sn_program_place *place =
			&program->places.items[program->frame_places[f]];
		struct sn_held held = { 0 };

		if (place->module != SN_NONE)
			held = sn_data_held(objects, place->module, place->link_addr + 1, arena);
		name = held.name ? held.name : name;
		if (!held.is_returned)
			break;
	}
	return name;
}

const char *sn_data_block_name(struct sn_data_objects *objects, const struct sn_program *program,
			       uint32_t stack, struct sn_arena *arena)
{
	struct sn_site site = sn_site_of(program, stack);
	struct sn_text place = { 0 }, text = { 0 };
	const char *holder = NULL, *inside, *name;

	sn_site_add_name(program, site, &place);
	if (site.function != SN_NONE)
		holder = holder_of(objects, program, stack, arena);
	inside = strstr(place.chars, " (");
	if (holder && inside)
		sn_text_addf(&text, "%s (%.*s, %s", holder, (int)(inside - place.chars),
			     place.chars, inside + 2);
	else if (holder)
		sn_text_addf(&text, "%s (%s)", holder, place.chars);
	else
		sn_text_add(&text, place.chars);
	name = sn_arena_strdup(arena, text.chars);
	sn_text_free(&place);
	sn_text_free(&text);
	return name;
}

/* A place that is passed less often than another one, and more than once: by loops, and by who calls what. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "code/decode.h"
#include "code/image.h"
#include "code/structure.h"
#include "search/online/phase.h"

enum { CALLERS_MOST = 8 }; /* up the calls */

struct site {
	uint64_t target_link_addr;
	const struct sn_function *function;
	const struct sn_loop *loop; /* around the call; NULL: none */
};

struct sites {
	SN_VEC(struct site) items;
};

static void block_sites(const struct sn_structure *structure, const struct sn_function *f,
			const struct sn_block *block, struct sites *out)
{
	size_t left;
	const uint8_t *bytes = sn_structure_bytes(structure, block->link_addr, &left);
	uint32_t size = block->size_bytes < left ? block->size_bytes : (uint32_t)left;
	struct sn_instruction i;

	for (uint32_t at = 0; bytes && at < size; at += i.length) {
		if (!sn_instruction_decode(bytes + at, size - at, block->link_addr + at, &i))
			return;
		if (i.flow == SN_FLOW_CALL ||
		    (i.flow == SN_FLOW_JUMP && block->flags & SN_BLOCK_LEAVES))
			sn_vec_push(
				&out->items,
				(struct site){ i.target_link_addr, f,
					       block->loop < 0 ? NULL : &f->loops[block->loop] });
	}
}

static void sites_find(const struct sn_structure *structure, struct sites *out)
{
	for (size_t k = 0; k < sn_structure_function_count(structure); k++) {
		const struct sn_function *f = sn_structure_function(structure, k);

		for (uint32_t b = 0; b < f->block_count; b++)
			if (f->blocks[b].flags & (SN_BLOCK_CALLS | SN_BLOCK_LEAVES))
				block_sites(structure, f, &f->blocks[b], out);
	}
}

/* Whether some call of it stands in a loop, or in what is called in one. */
static bool is_repeated(const struct sites *sites, const struct sn_function *f, int depth)
{
	bool is = false;

	for (size_t i = 0; !is && depth < CALLERS_MOST && i < sites->items.count; i++) {
		const struct site *site = &sites->items.items[i];

		if (site->target_link_addr == f->link_addr && site->function != f)
			is = site->loop || is_repeated(sites, site->function, depth + 1);
	}
	return is;
}

static void outer_add(const struct sites *sites, const struct sn_function *f,
		      const struct sn_loop *loop, int depth, struct sn_text *out)
{
	const struct sn_loop *parent = loop && loop->parent >= 0 ? &f->loops[loop->parent] : NULL;

	if (parent && parent->file && parent->line_first)
		sn_text_addf(out, "%s:%u", sn_base_name(parent->file), parent->line_first);
	else if (parent)
		sn_text_add(out, parent->label);
	else if (loop && is_repeated(sites, f, 0))
		sn_text_add(out, f->name);
	for (size_t i = 0; !loop && !out->length && depth < CALLERS_MOST && i < sites->items.count;
	     i++) {
		const struct site *site = &sites->items.items[i];

		if (site->target_link_addr == f->link_addr && site->function != f)
			outer_add(sites, site->function, site->loop, depth + 1, out);
	}
}

static void place_outer_add(struct sn_structure *structure, uint64_t link_addr, struct sn_text *out)
{
	const struct sn_function *f = sn_structure_function_at(structure, link_addr);
	struct sites sites = { 0 };

	sn_structure_prepare_all(structure, SN_PREPARE_ALL);
	sites_find(structure, &sites);
	if (f)
		outer_add(&sites, f, sn_function_loop_at(f, link_addr), 0, out);
	sn_vec_free(&sites.items);
}

void sn_phase_often_add(const struct sn_phase *phase, struct sn_text *out)
{
	struct sn_structure *structure = NULL;
	struct sn_image *image = NULL;
	struct sn_text outer = { 0 };

	if (phase->boundary.kind == SN_MONITOR_BOUNDARY_ADDRESS &&
	    sn_image_open(phase->boundary.module, NULL, &image, NULL) == SN_OK &&
	    sn_structure_open(image, &structure, NULL) == SN_OK)
		place_outer_add(structure, phase->boundary.link_addrs[0], &outer);
	sn_text_addf(out, "'%.60s' is passed over %d times a second, too often to be watched; ",
		     phase->name.chars, phase->plan_bytes.length ? 50000000 : 400);
	if (outer.length)
		sn_text_addf(
			out,
			"name a place that is passed less often, as what is around its loop: --phase %.80s",
			outer.chars);
	else
		sn_text_add(out, "name a place that is passed less often, or leave --phase away");
	sn_text_free(&outer);
	sn_structure_free(structure);
	sn_image_free(image);
}

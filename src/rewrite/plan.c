/* A module's loops as a plan: nests are copied one after the other, then all is laid out. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "rewrite/rewrite_parts.h"

static void add_bytes(struct sn_text *out, const void *bytes, size_t count)
{
	sn_text_add_bytes(out, bytes, count);
}

static void add_patches(const struct rw_plan *plan, struct sn_text *out,
			struct sn_plan_header *header)
{
	for (size_t i = 0; i < plan->patches.patches.count; i++) {
		struct rw_patch patch = plan->patches.patches.items[i];

		if (patch.label >= 0)
			patch.patch.target = rw_label_offset(&plan->pieces, patch.label);
		add_bytes(out, &patch.patch, sizeof(patch.patch));
		header->patch_count++;
	}
}

static void add_relocations(const struct rw_plan *plan, struct sn_text *out,
			    struct sn_plan_header *header)
{
	for (size_t i = 0; i < plan->pieces.items.count; i++) {
		const struct rw_piece *piece = &plan->pieces.items.items[i];
		struct sn_plan_relocation relocation = { piece->offset + piece->field_at,
							 piece->relocation, piece->addend };

		if (piece->kind != RW_FIELD || piece->relocation == SN_PLAN_RELOCATION_KINDS)
			continue;
		add_bytes(out, &relocation, sizeof(relocation));
		header->relocation_count++;
	}
}

static void add_map(const struct rw_plan *plan, struct sn_text *out, struct sn_plan_header *header)
{
	for (size_t i = 0; i < plan->pieces.items.count; i++) {
		const struct rw_piece *piece = &plan->pieces.items.items[i];
		struct sn_plan_map entry = { piece->offset, piece->below, piece->map_flags,
					     piece->link_addr };

		if (i + 1 < plan->pieces.items.count &&
		    plan->pieces.items.items[i + 1].offset == piece->offset)
			continue; /* nothing of it is there */
		add_bytes(out, &entry, sizeof(entry));
		header->map_count++;
	}
}

static uint8_t hex_digit(char c)
{
	return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static void set_id(struct sn_plan_header *header, const char *id)
{
	for (; id[0] && id[1] && header->id_bytes < SN_PLAN_ID_MAX; id += 2)
		header->id[header->id_bytes++] =
			(uint8_t)(hex_digit(id[0]) << 4 | hex_digit(id[1]));
}

void rw_plan_write(struct rw_plan *plan, const struct sn_rewriter *rewriter, struct sn_text *out)
{
	struct sn_plan_header header = { .magic = SN_PLAN_MAGIC,
					 .version = SN_PLAN_VERSION,
					 .header_bytes = sizeof(header),
					 .loop_count = (uint32_t)plan->loops.count };
	uint32_t size = rw_pieces_lay_out(&plan->pieces);
	uint8_t *code = sn_alloc_zeroed(size + 1u, 1);
	struct sn_text body = { 0 };

	set_id(&header, sn_image_id(rewriter->image));
	rw_pieces_write(&plan->pieces, code);
	for (size_t i = 0; i < plan->loops.count; i++)
		if (plan->loops.items[i].recorder)
			plan->loops.items[i].recorder = rw_label_offset(
				&plan->pieces, (int32_t)plan->loops.items[i].recorder - 1);
	for (size_t i = 0; i < plan->loops.count; i++)
		for (int v = 0; v < SN_VARIANT_CODES; v++)
			if (plan->loops.items[i].code[v])
				plan->loops.items[i].code[v] = rw_label_offset(
					&plan->pieces, (int32_t)plan->loops.items[i].code[v] - 1);
	add_bytes(&body, plan->loops.items, plan->loops.count * sizeof(*plan->loops.items));
	add_patches(plan, &body, &header);
	add_relocations(plan, &body, &header);
	add_map(plan, &body, &header);
	header.table_bytes = (uint32_t)plan->tables.length;
	add_bytes(&body, plan->tables.chars, plan->tables.length);
	header.code_bytes = size;
	add_bytes(&body, code, size);
	for (int c = 0; c < SN_PLAN_CALLS; c++)
		header.calls[c] = rw_label_offset(&plan->pieces, plan->thunks.address[c]);
	header.file_bytes = sizeof(header) + body.length;
	header.hash = sn_plan_hash((const uint8_t *)body.chars, body.length);
	add_bytes(out, &header, sizeof(header));
	add_bytes(out, body.chars, body.length);
	sn_text_free(&body);
	free(code);
}

/* Tries a loop with those of its nest that are wanted; if that is refused, the ones within have a
 * chance of their own. */
static size_t add_function(struct rw_plan *plan, struct sn_rewriter *rewriter,
			   const struct sn_function *function, const bool *is_selected,
			   const char **why_not)
{
	bool *is_in = sn_alloc_zeroed(function->loop_count + 1u, sizeof(*is_in));
	size_t added = 0;

	for (uint32_t l = 0; l < function->loop_count; l++) {
		if (!is_selected[l] || is_in[l])
			continue;
		const char *why =
			rw_plan_add(plan, rewriter, &function->loops[l], is_selected, why_not);
		if (why)
			why_not[l] = why;
		for (uint32_t inner = l; !why && inner < function->loop_count; inner++)
			if (is_selected[inner] &&
			    rw_loop_holds(function, (int32_t)l, (int32_t)inner)) {
				is_in[inner] = true;
				added += why_not[inner] == NULL;
			}
	}
	free(is_in);
	return added;
}

/* A loop that was asked for, and its place among them. */
struct asked {
	const struct sn_loop *loop;
	size_t at;
};

static int by_function(const void *a, const void *b)
{
	const struct asked *x = a, *y = b;

	if (x->loop->function != y->loop->function)
		return x->loop->function->index < y->loop->function->index ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Those of one function. */
static size_t add_asked(struct rw_plan *plan, struct sn_rewriter *rewriter,
			const struct asked *asked, size_t count, const char **refusals)
{
	const struct sn_function *function = asked->loop->function;
	bool *is_selected = sn_alloc_zeroed(function->loop_count + 1u, sizeof(*is_selected));
	const char **why_not = sn_alloc_zeroed(function->loop_count + 1u, sizeof(*why_not));
	size_t added;

	for (size_t i = 0; i < count; i++)
		is_selected[asked[i].loop->index] = true;
	added = add_function(plan, rewriter, function, is_selected, why_not);
	for (size_t i = 0; refusals && i < count; i++)
		refusals[asked[i].at] = why_not[asked[i].loop->index];
	free(is_selected);
	free(why_not);
	return added;
}

size_t sn_rewriter_plan(struct sn_rewriter *rewriter, const struct sn_loop *const *loops,
			size_t count, uint32_t variants, const char **refusals, struct sn_text *out)
{
	struct asked *asked = sn_alloc_zeroed(count + 1, sizeof(*asked));
	struct rw_plan plan;
	size_t added = 0;

	for (size_t i = 0; i < count; i++)
		asked[i] = (struct asked){ loops[i], i };
	qsort(asked, count, sizeof(*asked), by_function);
	rw_plan_begin(&plan);
	plan.variants = variants;
	for (size_t first = 0, end; first < count; first = end) {
		for (end = first + 1;
		     end < count && asked[end].loop->function == asked[first].loop->function;)
			end++;
		added += add_asked(&plan, rewriter, &asked[first], end - first, refusals);
	}
	if (added)
		rw_plan_write(&plan, rewriter, out);
	rw_plan_end(&plan);
	free(asked);
	return added;
}

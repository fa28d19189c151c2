/*
 * Machine code being laid out. Branches begin short where the original's were, and become long
 * where their target turns out to be too far, until nothing changes.
 */
#include "rewrite/rewrite_parts.h"

#include <string.h>

enum { LINE_BYTES = 64 };

void rw_pieces_free(struct rw_pieces *pieces)
{
	sn_vec_free(&pieces->items);
	sn_vec_free(&pieces->labels);
	sn_vec_free(&pieces->asides);
}

int32_t rw_label_new(struct rw_pieces *pieces)
{
	sn_vec_push(&pieces->labels, -1);
	return (int32_t)pieces->labels.count - 1;
}

void rw_label_place(struct rw_pieces *pieces, int32_t label)
{
	pieces->labels.items[label] = (int32_t)pieces->items.count;
}

static struct rw_piece *add(struct rw_pieces *pieces, enum rw_piece_kind kind, const uint8_t *bytes,
			    size_t length)
{
	struct rw_piece piece = { .kind = (uint8_t)kind,
				  .length = (uint8_t)length,
				  .below = pieces->below,
				  .map_flags = pieces->map_flags,
				  .label = -1,
				  .link_addr = pieces->link_addr };

	memcpy(piece.bytes, bytes, length);
	sn_vec_push(&pieces->items, piece);
	return &sn_vec_last(&pieces->items);
}

void rw_put(struct rw_pieces *pieces, const uint8_t *bytes, size_t length)
{
	add(pieces, RW_BYTES, bytes, length);
}

void rw_put_field(struct rw_pieces *pieces, const uint8_t *bytes, size_t length, size_t field_at,
		  enum sn_plan_relocation_kind kind, int64_t addend)
{
	struct rw_piece *piece = add(pieces, RW_FIELD, bytes, length);

	piece->field_at = (uint8_t)field_at;
	piece->relocation = (uint8_t)kind;
	piece->addend = addend;
	memset(piece->bytes + field_at, 0, 4);
}

void rw_put_original(struct rw_pieces *pieces, const struct rw_insn *insn)
{
	int32_t displacement;

	if (!insn->rip_at) {
		rw_put(pieces, insn->bytes, insn->length);
		return;
	}
	memcpy(&displacement, insn->bytes + insn->rip_at, sizeof(displacement));
	/* what it points to, from the field: the instruction goes on behind it */
	rw_put_field(pieces, insn->bytes, insn->length, insn->rip_at, SN_PLAN_PC,
		     (int64_t)insn->link_addr + insn->length + displacement -
			     (insn->length - insn->rip_at));
}

void rw_put_jump(struct rw_pieces *pieces, uint8_t condition, int32_t label, bool may_be_short)
{
	static const uint8_t none[1];
	struct rw_piece *piece = add(pieces, RW_JUMP, none, 0);

	piece->condition = condition;
	piece->label = label;
	piece->may_be_short = piece->is_short = may_be_short;
}

void rw_put_jump_out(struct rw_pieces *pieces, uint64_t link_addr)
{
	static const uint8_t jump[5] = { 0xe9 };

	/* from the end of the field */
	rw_put_field(pieces, jump, sizeof(jump), 1, SN_PLAN_PC, (int64_t)link_addr - 4);
}

void rw_put_jump_by(struct rw_pieces *pieces, int32_t label)
{
	static const uint8_t jump[] = { 0xff, 0x25, 0, 0, 0, 0 };

	rw_put_field(pieces, jump, sizeof(jump), 2, SN_PLAN_RELOCATION_KINDS, 0);
	sn_vec_last(&pieces->items).label = label;
}

void rw_put_call_by(struct rw_pieces *pieces, int32_t label)
{
	static const uint8_t call[] = { 0xff, 0x15, 0, 0, 0, 0 };

	rw_put_field(pieces, call, sizeof(call), 2, SN_PLAN_RELOCATION_KINDS, 0);
	sn_vec_last(&pieces->items).label = label;
}

void rw_put_counted(struct rw_pieces *pieces, const uint8_t *bytes, size_t length, int32_t label)
{
	struct rw_piece *piece = add(pieces, RW_COUNTED, bytes, length);

	piece->label = label;
	piece->may_be_short = piece->is_short = true;
}

void rw_put_call(struct rw_pieces *pieces, int32_t label)
{
	rw_put_jump(pieces, 0xe8, label, false);
}

void rw_put_align(struct rw_pieces *pieces, uint64_t link_addr)
{
	static const uint8_t none[1];

	add(pieces, RW_ALIGN, none, 0)->addend = (int64_t)(link_addr % LINE_BYTES);
	sn_vec_last(&pieces->items).link_addr = 0;
}

static uint32_t length_of(const struct rw_piece *piece, uint32_t offset)
{
	switch (piece->kind) {
	case RW_JUMP:
		return piece->is_short					     ? 2
		       : piece->condition >= 0x70 && piece->condition < 0x80 ? 6
									     : 5;
	case RW_COUNTED: /* over a jump, to one that goes there */
		return piece->length + (piece->is_short ? 0 : 7u);
	case RW_ALIGN:
		return ((uint32_t)piece->addend - offset) % LINE_BYTES;
	default:
		return piece->length;
	}
}

uint32_t rw_label_offset(const struct rw_pieces *pieces, int32_t label)
{
	return pieces->items.items[pieces->labels.items[label]].offset;
}

static int64_t distance(const struct rw_pieces *pieces, const struct rw_piece *piece, uint32_t end)
{
	return (int64_t)rw_label_offset(pieces, piece->label) - (int64_t)end;
}

uint32_t rw_pieces_lay_out(struct rw_pieces *pieces)
{
	bool has_changed = true;
	uint32_t size = 0;

	while (has_changed) {
		has_changed = false;
		size = 0;
		for (size_t i = 0; i < pieces->items.count; i++) {
			pieces->items.items[i].offset = size;
			size += length_of(&pieces->items.items[i], size);
		}
		for (size_t i = 0; i < pieces->items.count; i++) {
			struct rw_piece *piece = &pieces->items.items[i];
			int64_t far;

			if (!piece->is_short)
				continue;
			far = distance(pieces, piece,
				       piece->offset + length_of(piece, piece->offset));
			if (far < -128 || far > 127) {
				piece->is_short = false;
				has_changed = true;
			}
		}
	}
	return size;
}

static void put_u32(uint8_t *at, int64_t value)
{
	uint32_t low = (uint32_t)value;

	memcpy(at, &low, sizeof(low));
}

static void write_jump(const struct rw_pieces *pieces, const struct rw_piece *piece, uint8_t *at)
{
	uint32_t length = length_of(piece, piece->offset);
	int64_t far = distance(pieces, piece, piece->offset + length);
	bool is_conditional = piece->condition >= 0x70 && piece->condition < 0x80;

	if (piece->is_short) {
		at[0] = is_conditional ? piece->condition : 0xeb;
		at[1] = (uint8_t)far;
	} else if (is_conditional) {
		at[0] = 0x0f;
		at[1] = (uint8_t)(piece->condition + 0x10);
		put_u32(at + 2, far);
	} else {
		at[0] = piece->condition ? piece->condition : 0xe9;
		put_u32(at + 1, far);
	}
}

static void write_counted(const struct rw_pieces *pieces, const struct rw_piece *piece, uint8_t *at)
{
	uint32_t length = length_of(piece, piece->offset);
	int64_t far = distance(pieces, piece, piece->offset + length);

	memcpy(at, piece->bytes, piece->length);
	at += piece->length;
	if (piece->is_short) {
		at[-1] = (uint8_t)far;
		return;
	}
	at[-1] = 2;
	at[0] = 0xeb;
	at[1] = 5;
	at[2] = 0xe9;
	put_u32(at + 3, far);
}

void rw_pieces_write(const struct rw_pieces *pieces, uint8_t *out)
{
	for (size_t i = 0; i < pieces->items.count; i++) {
		const struct rw_piece *piece = &pieces->items.items[i];
		uint8_t *at = out + piece->offset;

		if (piece->kind == RW_JUMP)
			write_jump(pieces, piece, at);
		else if (piece->kind == RW_COUNTED)
			write_counted(pieces, piece, at);
		else if (piece->kind == RW_ALIGN)
			memset(at, 0xcc, length_of(piece, piece->offset));
		else if (piece->relocation == SN_PLAN_RELOCATION_KINDS) /* within the code */
			memcpy(at, piece->bytes, piece->length),
				put_u32(at + piece->field_at,
					distance(pieces, piece, piece->offset + piece->length));
		else
			memcpy(at, piece->bytes, piece->length);
	}
}

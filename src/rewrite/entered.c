/*
 * Jumps from one function into the middle of another, as hand-written code has them.
 *
 * To decode all code of a module takes seconds where the module is large, and questions are asked of a few bytes
 * around hot loops. So all bytes are looked through for what could be the opcode of a relative jump; where one of
 * these would lead into the bytes in question, the function that has it is decoded.
 */
#include <string.h>

#include "rewrite/rewrite_parts.h"

static bool lies_in(struct sn_range range, uint64_t link_addr)
{
	return link_addr - range.first_link_addr < range.end_link_addr - range.first_link_addr;
}

static bool holds(const struct sn_function *function, uint64_t link_addr)
{
	for (uint32_t i = 0; i < function->range_count; i++)
		if (lies_in(function->ranges[i], link_addr))
			return true;
	return false;
}

/* ---- what could be a jump ---- */

/* Bytes of a displacement that would end the instruction, if this is the last byte of an opcode; 0: of none. */
static unsigned displacement_bytes(const uint8_t *bytes, size_t i)
{
	uint8_t opcode = bytes[i], before = i ? bytes[i - 1] : 0;

	switch (opcode >> 4) {
	case 0x7: /* jcc */
		return 1;
	case 0x8: /* 0f 8x: jcc */
		return before == 0x0f ? 4 : 0;
	case 0xe: /* loop, jrcxz; call, jmp; jmp */
		return opcode <= 0xe3 || opcode == 0xeb	  ? 1
		       : opcode == 0xe8 || opcode == 0xe9 ? 4
							  : 0;
	case 0xf: /* c7 f8: xbegin */
		return opcode == 0xf8 && before == 0xc7 ? 4 : 0;
	default:
		return 0;
	}
}

static uint64_t displaced(uint64_t next_link_addr, const uint8_t *bytes, unsigned count)
{
	int32_t far;

	if (count == 1)
		return next_link_addr + (uint64_t)(int64_t)(int8_t)bytes[0];
	memcpy(&far, bytes, sizeof(far));
	return next_link_addr + (uint64_t)(int64_t)far;
}

/* The bytes of a range from `link_addr` on; NULL: there are none. */
static const uint8_t *bytes_of(const struct sn_structure *structure, struct sn_range range,
			       uint64_t link_addr, size_t *count)
{
	const uint8_t *bytes = sn_structure_bytes(structure, link_addr, count);

	if (bytes && *count > range.end_link_addr - link_addr)
		*count = range.end_link_addr - link_addr;
	return bytes && *count ? bytes : NULL;
}

static void look_through(const struct sn_structure *structure, uint32_t index,
			 struct sn_range range, struct rw_entered *out)
{
	const struct sn_function *function = sn_structure_function(structure, index);
	uint64_t addr = range.first_link_addr;
	size_t count;
	const uint8_t *bytes;

	for (; addr < range.end_link_addr && (bytes = bytes_of(structure, range, addr, &count));
	     addr += count)
		for (size_t i = 0; i < count; i++) {
			unsigned size = displacement_bytes(bytes, i);
			struct rw_entry entry = { .function = index };

			if (!size || size >= count - i)
				continue;
			entry.link_addr = displaced(addr + i + 1 + size, bytes + i + 1, size);
			if (lies_in(out->code, entry.link_addr) &&
			    !holds(function, entry.link_addr))
				sn_vec_push(out, entry);
		}
}

void rw_entered_find(const struct sn_structure *structure, struct rw_entered *out)
{
	size_t count = sn_structure_function_count(structure);

	out->structure = structure;
	out->code = (struct sn_range){ UINT64_MAX, 0 };
	for (size_t f = 0; f < count; f++) {
		const struct sn_function *function = sn_structure_function(structure, f);

		for (uint32_t r = 0; r < function->range_count; r++) {
			struct sn_range range = function->ranges[r];

			if (range.first_link_addr < out->code.first_link_addr)
				out->code.first_link_addr = range.first_link_addr;
			if (range.end_link_addr > out->code.end_link_addr)
				out->code.end_link_addr = range.end_link_addr;
		}
	}
	for (size_t f = 0; f < count; f++) {
		const struct sn_function *function = sn_structure_function(structure, f);

		for (uint32_t r = 0; r < function->range_count; r++)
			look_through(structure, (uint32_t)f, function->ranges[r], out);
	}
}

/* ---- what is one ---- */

/* Straight on over all bytes: what is no code gives targets that are none, which only forbid. */
static bool jumps_into(const struct sn_structure *structure, const struct sn_function *function,
		       struct sn_range range, struct sn_range wanted)
{
	uint64_t addr = range.first_link_addr;

	while (addr < range.end_link_addr) {
		struct sn_instruction insn;
		size_t available;
		const uint8_t *bytes = bytes_of(structure, range, addr, &available);

		if (!bytes)
			return false;
		if (!sn_instruction_decode(bytes, available, addr, &insn)) {
			addr++;
			continue;
		}
		if (insn.target_link_addr && lies_in(wanted, insn.target_link_addr) &&
		    !holds(function, insn.target_link_addr))
			return true;
		addr += insn.length;
	}
	return false;
}

bool rw_is_entered(const struct rw_entered *entered, uint64_t first, uint64_t end)
{
	struct sn_range wanted = { first, end };
	uint32_t last = UINT32_MAX; /* of the same function there are several in a row */

	for (size_t i = 0; i < entered->count; i++) {
		const struct rw_entry *entry = &entered->items[i];
		const struct sn_function *function;

		if (!lies_in(wanted, entry->link_addr) || entry->function == last)
			continue;
		last = entry->function;
		function = sn_structure_function(entered->structure, last);
		for (uint32_t r = 0; r < function->range_count; r++)
			if (jumps_into(entered->structure, function, function->ranges[r], wanted))
				return true;
	}
	return false;
}

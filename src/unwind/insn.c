/* Tables of opcodes, and the reader of prefixes, opcode, operands and displacements over them. */
#include "unwind/insn.h"

/* What follows an opcode. */
enum {
	M = 1,	   /* ModRM */
	I1 = 2,	   /* one byte */
	I2 = 4,	   /* two bytes */
	IZ = 8,	   /* two or four, by the operand size */
	IV = 16,   /* two, four or eight */
	REL4 = 32, /* four, whatever the prefixes */
	BAD = 64,
	OFFSET = 128, /* eight, or four with 67 */
};

/* clang-format off */
static const uint8_t one_byte[256] = {
	/* 00 */ M, M, M, M, I1, IZ, BAD, BAD, M, M, M, M, I1, IZ, BAD, BAD,
	/* 10 */ M, M, M, M, I1, IZ, BAD, BAD, M, M, M, M, I1, IZ, BAD, BAD,
	/* 20 */ M, M, M, M, I1, IZ, BAD, BAD, M, M, M, M, I1, IZ, BAD, BAD,
	/* 30 */ M, M, M, M, I1, IZ, BAD, BAD, M, M, M, M, I1, IZ, BAD, BAD,
	/* 40 */ BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD,
	/* 50 */ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	/* 60 */ BAD, BAD, BAD, M, BAD, BAD, BAD, BAD, IZ, M | IZ, I1, M | I1, 0, 0, 0, 0,
	/* 70 */ I1, I1, I1, I1, I1, I1, I1, I1, I1, I1, I1, I1, I1, I1, I1, I1,
	/* 80 */ M | I1, M | IZ, BAD, M | I1, M, M, M, M, M, M, M, M, M, M, M, M,
	/* 90 */ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, BAD, 0, 0, 0, 0, 0,
	/* A0 */ OFFSET, OFFSET, OFFSET, OFFSET, 0, 0, 0, 0, I1, IZ, 0, 0, 0, 0, 0, 0,
	/* B0 */ I1, I1, I1, I1, I1, I1, I1, I1, IV, IV, IV, IV, IV, IV, IV, IV,
	/* C0 */ M | I1, M | I1, I2, 0, BAD, BAD, M | I1, M | IZ, I2 | I1, 0, I2, 0, 0, I1, BAD, 0,
	/* D0 */ M, M, M, M, BAD, BAD, BAD, 0, M, M, M, M, M, M, M, M,
	/* E0 */ I1, I1, I1, I1, I1, I1, I1, I1, REL4, REL4, BAD, I1, 0, 0, 0, 0,
	/* F0 */ BAD, 0, BAD, BAD, 0, 0, M, M, 0, 0, 0, 0, 0, 0, M, M,
};

static const uint8_t two_byte[256] = {
	/* 00 */ M, M, M, M, BAD, 0, 0, 0, 0, 0, BAD, 0, BAD, M, 0, M | I1,
	/* 10 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
	/* 20 */ M, M, M, M, BAD, BAD, BAD, BAD, M, M, M, M, M, M, M, M,
	/* 30 */ 0, 0, 0, 0, 0, 0, BAD, 0, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD,
	/* 40 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
	/* 50 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
	/* 60 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
	/* 70 */ M | I1, M | I1, M | I1, M | I1, M, M, M, 0, M, M, BAD, BAD, M, M, M, M,
	/* 80 */ REL4, REL4, REL4, REL4, REL4, REL4, REL4, REL4, REL4, REL4, REL4, REL4, REL4, REL4, REL4, REL4,
	/* 90 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
	/* A0 */ 0, 0, 0, M, M | I1, M, BAD, BAD, 0, 0, 0, M, M | I1, M, M, M,
	/* B0 */ M, M, M, M, M, M, M, M, M, M, M | I1, M, M, M, M, M,
	/* C0 */ M, M, M | I1, M, M | I1, M | I1, M | I1, M, 0, 0, 0, 0, 0, 0, 0, 0,
	/* D0 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
	/* E0 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
	/* F0 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
};
/* clang-format on */

struct reader {
	const uint8_t *bytes;
	uint64_t available;
	unsigned at;
	bool failed;
	bool has_66, has_67;
};

static uint8_t next(struct reader *r)
{
	if (r->at >= r->available || r->at >= 15) {
		r->failed = true;
		return 0;
	}
	return r->bytes[r->at++];
}

static int64_t number(struct reader *r, unsigned width)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < width; i++)
		value |= (uint64_t)next(r) << (8 * i);
	return (int64_t)(value << (64 - 8 * width)) >> (64 - 8 * width);
}

static void read_sib(struct reader *r, struct sn_unwind_insn *out)
{
	uint8_t sib = next(r);

	out->has_sib = true;
	out->base = (uint8_t)((sib & 7) | (out->rex & 1) << 3);
	out->index = (uint8_t)((sib >> 3 & 7) | (out->rex & 2) << 2);
	if (out->index == 4)
		out->index = 16;
	if ((sib & 7) == 5 && out->mod == 0) {
		out->base = 16;
		out->displacement = (int32_t)number(r, 4);
	}
}

static void read_modrm(struct reader *r, struct sn_unwind_insn *out)
{
	uint8_t modrm = next(r);

	out->has_modrm = true;
	out->mod = modrm >> 6;
	out->reg = (uint8_t)((modrm >> 3 & 7) | (out->rex & 4) << 1);
	out->rm = (uint8_t)((modrm & 7) | (out->rex & 1) << 3);
	if (out->map == SN_UNWIND_MAP_TWO && (out->opcode & 0xfc) == 0x20)
		return; /* control and debug registers: never memory */
	if (out->mod != 3 && (modrm & 7) == 4)
		read_sib(r, out);
	else if (out->mod == 0 && (modrm & 7) == 5)
		out->displacement = (int32_t)number(r, 4);
	if (out->mod == 1)
		out->displacement = (int32_t)number(r, 1);
	else if (out->mod == 2)
		out->displacement = (int32_t)number(r, 4);
}

static void read_immediate(struct reader *r, struct sn_unwind_insn *out, uint8_t what)
{
	bool is_wide = out->rex & 8;
	unsigned by_size = r->has_66 && !is_wide ? 2 : 4;

	if (what & OFFSET)
		out->immediate = number(r, r->has_67 ? 4 : 8);
	if (what & REL4)
		out->immediate = number(r, 4);
	if (what & IZ)
		out->immediate = number(r, by_size);
	if (what & IV)
		out->immediate = number(r, is_wide ? 8 : by_size);
	if (what & I2)
		out->immediate = number(r, 2);
	if (what & I1)
		out->immediate = number(r, 1);
}

/* Prefixes, in any order; a REX counts only directly before the opcode. Gives the byte after. */
static uint8_t skip_prefixes(struct reader *r, struct sn_unwind_insn *out)
{
	for (;;) {
		uint8_t byte = next(r);

		if (byte >= 0x40 && byte <= 0x4f && !r->failed) {
			out->rex = byte;
			continue;
		}
		switch (byte) {
		case 0x66:
			r->has_66 = true;
			out->prefix = out->prefix ? out->prefix : byte;
			break;
		case 0xf2:
		case 0xf3:
			out->prefix = byte;
			break;
		case 0x67:
			r->has_67 = true;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64:
		case 0x65:
		case 0xf0:
			break;
		default:
			return byte;
		}
		if (r->failed)
			return byte;
		out->rex = 0;
	}
}

/* VEX (2 or 3 bytes), XOP and EVEX: `map` has the number of the opcode map. */
static uint8_t read_vector(struct reader *r, struct sn_unwind_insn *out, uint8_t first)
{
	static const uint8_t prefixes[] = { 0, 0x66, 0xf3, 0xf2 };
	uint8_t a = next(r), map = 1;

	out->map = SN_UNWIND_MAP_VECTOR;
	out->prefix = prefixes[a & 3];
	out->rex = (uint8_t)((~a >> 5 & 4) | 0x40);
	if (first != 0xc5) {
		uint8_t b = next(r);

		out->rex = (uint8_t)((~a >> 5 & 7) | (b >> 7) << 3 | 0x40);
		out->prefix = prefixes[b & 3];
		map = first == 0x62 ? a & 7 : a & 0x1f;
	}
	if (first == 0x62)
		next(r);
	out->vector_map = first == 0x8f ? 8 : map;
	out->opcode = next(r);
	if (first == 0x8f)
		return map == 8 ? M | I1 : map == 9 ? M : map == 10 ? M | REL4 : BAD;
	if (map == 1 && out->opcode == 0x77)
		return 0;
	if (map == 1)
		return two_byte[out->opcode] & I1 && out->opcode != 0x0f ? M | I1 : M;
	if (map == 2 || (first == 0x62 && (map == 5 || map == 6)))
		return M;
	return map == 3 ? M | I1 : BAD;
}

static uint8_t read_0f(struct reader *r, struct sn_unwind_insn *out)
{
	uint8_t opcode = next(r);

	out->map = SN_UNWIND_MAP_TWO;
	out->opcode = opcode;
	if (opcode == 0x38 || opcode == 0x3a) {
		out->map = SN_UNWIND_MAP_OTHER;
		out->opcode = next(r);
		return opcode == 0x38 ? M : M | I1;
	}
	if (opcode == 0x0f)
		out->map = SN_UNWIND_MAP_OTHER;
	if (opcode == 0x78 && out->prefix == 0xf2) /* insertq */
		return M | I2;
	if (opcode == 0x78 && out->prefix == 0x66) /* extrq */
		return M | I2;
	return two_byte[opcode];
}

/* Only a ModRM byte tells pop from XOP; all other forms of 8f are neither. */
static bool is_xop(const struct reader *r)
{
	return r->at < r->available && (r->bytes[r->at] & 0x1f) >= 8;
}

bool sn_unwind_insn_decode(const uint8_t *bytes, uint64_t available, struct sn_unwind_insn *out)
{
	struct reader r = { bytes, available, 0, false, false, false };
	uint8_t byte, what;

	out->length = out->vector_map = out->rex = out->prefix = out->mod = out->reg = out->rm = 0;
	out->has_modrm = out->has_sib = false;
	out->displacement = 0;
	out->immediate = 0;
	out->map = SN_UNWIND_MAP_ONE;
	out->base = out->index = 16;
	byte = skip_prefixes(&r, out);
	out->opcode = byte;
	if (byte == 0xc4 || byte == 0xc5 || byte == 0x62 || (byte == 0x8f && is_xop(&r)))
		what = read_vector(&r, out, byte);
	else
		what = byte == 0x0f ? read_0f(&r, out) : one_byte[byte];
	if (what == BAD || r.failed)
		return false;
	if (what & M)
		read_modrm(&r, out);
	if (out->map == SN_UNWIND_MAP_ONE && (byte | 1) == 0xf7 && (out->reg & 7) < 2)
		what |= byte == 0xf6 ? I1 : IZ;
	read_immediate(&r, out, what);
	if (r.failed)
		return false;
	out->length = (uint8_t)r.at;
	return true;
}

static enum sn_unwind_insn_flow flow_of_0f(const struct sn_unwind_insn *insn)
{
	if ((insn->opcode & 0xf0) == 0x80)
		return SN_UNWIND_FLOW_BRANCH;
	if (insn->opcode == 0x0b || insn->opcode == 0xb9 || insn->opcode == 0xff)
		return SN_UNWIND_FLOW_STOP;
	return insn->opcode == 0x07 ? SN_UNWIND_FLOW_RETURN : SN_UNWIND_FLOW_NEXT;
}

enum sn_unwind_insn_flow sn_unwind_insn_flow(const struct sn_unwind_insn *insn)
{
	uint8_t opcode = insn->opcode;

	if (insn->map == SN_UNWIND_MAP_TWO)
		return flow_of_0f(insn);
	if (insn->map != SN_UNWIND_MAP_ONE)
		return SN_UNWIND_FLOW_NEXT;
	if ((opcode & 0xf0) == 0x70 || (opcode & 0xfc) == 0xe0)
		return SN_UNWIND_FLOW_BRANCH;
	switch (opcode) {
	case 0xe9:
	case 0xeb:
		return SN_UNWIND_FLOW_JUMP;
	case 0xe8:
		return SN_UNWIND_FLOW_CALL;
	case 0xc2:
	case 0xc3:
	case 0xca:
	case 0xcb:
	case 0xcf:
		return SN_UNWIND_FLOW_RETURN;
	case 0xcc:
	case 0xf4:
		return SN_UNWIND_FLOW_STOP;
	case 0xc7: /* xbegin */
		return insn->mod == 3 && (insn->reg & 7) == 7 ? SN_UNWIND_FLOW_BRANCH
							      : SN_UNWIND_FLOW_NEXT;
	case 0xff:
		if ((insn->reg & 7) == 2 || (insn->reg & 7) == 3)
			return SN_UNWIND_FLOW_CALL;
		return (insn->reg & 7) == 4 || (insn->reg & 7) == 5 ? SN_UNWIND_FLOW_STOP
								    : SN_UNWIND_FLOW_NEXT;
	default:
		return SN_UNWIND_FLOW_NEXT;
	}
}

/* One-byte opcodes without ModRM that access neither: arithmetic and tests with an immediate, moves of one, exchanges with the
 * accumulator, nop, conversions, jumps. */
static bool is_register_only(uint8_t opcode)
{
	return (opcode < 0x40 && (opcode & 7) >= 4 && (opcode & 7) <= 5) ||
	       (opcode & 0xf0) == 0x70 || (opcode & 0xf0) == 0xb0 ||
	       (opcode >= 0x90 && opcode <= 0x99) || (opcode & 0xfe) == 0xa8 ||
	       (opcode & 0xfc) == 0xe0 || opcode == 0xe9 || opcode == 0xeb;
}

bool sn_unwind_insn_may_access(const struct sn_unwind_insn *insn)
{
	enum { LEA = 0x8d, GROUP_5 = 0xff, NOPS = 0x1f };
	uint8_t reg = insn->reg & 7;

	if (!insn->has_modrm)
		return insn->map == SN_UNWIND_MAP_ONE	? !is_register_only(insn->opcode)
		       : insn->map == SN_UNWIND_MAP_TWO ? (insn->opcode & 0xf0) != 0x80
							: true;
	if (insn->mod != 3)
		return !((insn->map == SN_UNWIND_MAP_ONE && insn->opcode == LEA) ||
			 (insn->map == SN_UNWIND_MAP_TWO && insn->opcode == NOPS));
	/* push and pop, calls and jumps by a register; maskmovq and maskmovdqu go by rdi */
	if (insn->map == SN_UNWIND_MAP_ONE)
		return insn->opcode == 0x8f || (insn->opcode == GROUP_5 && reg >= 2);
	return insn->opcode == 0xf7 || (insn->map == SN_UNWIND_MAP_TWO && insn->opcode < 0x10);
}

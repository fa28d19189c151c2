/*
 * Turns a decoded instruction into its form (the key of a model's tables), and forms into text and
 * back.
 */
#include "machine/form.h"

#include <stdio.h>
#include <string.h>

#include "base/map.h"

static const struct {
	const char *text;
	uint8_t bytes;
} kinds[SN_KIND_COUNT] = {
	[SN_KIND_NONE] = { "", 0 },	  [SN_KIND_R8] = { "r8", 1 },
	[SN_KIND_R16] = { "r16", 2 },	  [SN_KIND_R32] = { "r32", 4 },
	[SN_KIND_R64] = { "r64", 8 },	  [SN_KIND_X] = { "x", 16 },
	[SN_KIND_Y] = { "y", 32 },	  [SN_KIND_Z] = { "z", 64 },
	[SN_KIND_MM] = { "mm", 8 },	  [SN_KIND_K] = { "k", 8 },
	[SN_KIND_ST] = { "st", 10 },	  [SN_KIND_IMM] = { "i", 0 },
	[SN_KIND_M8] = { "m8", 1 },	  [SN_KIND_M16] = { "m16", 2 },
	[SN_KIND_M32] = { "m32", 4 },	  [SN_KIND_M64] = { "m64", 8 },
	[SN_KIND_M80] = { "m80", 10 },	  [SN_KIND_M128] = { "m128", 16 },
	[SN_KIND_M256] = { "m256", 32 },  [SN_KIND_M512] = { "m512", 64 },
	[SN_KIND_MEM_OTHER] = { "m", 0 }, [SN_KIND_B16] = { "b16", 2 },
	[SN_KIND_B32] = { "b32", 4 },	  [SN_KIND_B64] = { "b64", 8 },
	[SN_KIND_VX] = { "vx", 0 },	  [SN_KIND_VY] = { "vy", 0 },
	[SN_KIND_VZ] = { "vz", 0 },	  [SN_KIND_A1] = { "a1", 0 },
	[SN_KIND_A2] = { "a2", 0 },	  [SN_KIND_A3] = { "a3", 0 },
	[SN_KIND_OTHER] = { "s", 0 },
};

unsigned sn_kind_bytes(enum sn_form_kind kind)
{
	return kind < SN_KIND_COUNT ? kinds[kind].bytes : 0;
}

static enum sn_form_kind register_kind(ZydisRegister reg)
{
	switch (ZydisRegisterGetClass(reg)) {
	case ZYDIS_REGCLASS_GPR8:
		return SN_KIND_R8;
	case ZYDIS_REGCLASS_GPR16:
		return SN_KIND_R16;
	case ZYDIS_REGCLASS_GPR32:
		return SN_KIND_R32;
	case ZYDIS_REGCLASS_GPR64:
		return SN_KIND_R64;
	case ZYDIS_REGCLASS_XMM:
		return SN_KIND_X;
	case ZYDIS_REGCLASS_YMM:
		return SN_KIND_Y;
	case ZYDIS_REGCLASS_ZMM:
		return SN_KIND_Z;
	case ZYDIS_REGCLASS_MMX:
		return SN_KIND_MM;
	case ZYDIS_REGCLASS_MASK:
		return SN_KIND_K;
	case ZYDIS_REGCLASS_X87:
		return SN_KIND_ST;
	default:
		return SN_KIND_OTHER;
	}
}

static enum sn_form_kind address_kind(const ZydisDecodedOperand *operand)
{
	unsigned terms = (operand->mem.base != ZYDIS_REGISTER_NONE) +
			 (operand->mem.index != ZYDIS_REGISTER_NONE) +
			 (operand->mem.disp.has_displacement != 0);

	/* On Intel an address with all three terms, or relative to rip, takes the slow unit. */
	if (operand->mem.base == ZYDIS_REGISTER_RIP)
		return SN_KIND_A3;
	return terms >= 3 ? SN_KIND_A3 : terms == 2 ? SN_KIND_A2 : SN_KIND_A1;
}

static enum sn_form_kind memory_kind(const ZydisDecodedInstruction *insn,
				     const ZydisDecodedOperand *operand)
{
	switch (ZydisRegisterGetClass(operand->mem.index)) {
	case ZYDIS_REGCLASS_XMM:
		return SN_KIND_VX;
	case ZYDIS_REGCLASS_YMM:
		return SN_KIND_VY;
	case ZYDIS_REGCLASS_ZMM:
		return SN_KIND_VZ;
	default:
		break;
	}
	if (operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
		return address_kind(operand);
	if (insn->avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID &&
	    !insn->avx.broadcast.is_static)
		return operand->element_size == 64   ? SN_KIND_B64
		       : operand->element_size == 16 ? SN_KIND_B16
						     : SN_KIND_B32;
	for (unsigned kind = SN_KIND_M8; kind <= SN_KIND_M512; kind++)
		if (kinds[kind].bytes * 8u == operand->size)
			return (enum sn_form_kind)kind;
	return SN_KIND_MEM_OTHER;
}

static enum sn_form_kind operand_kind(const ZydisDecodedInstruction *insn,
				      const ZydisDecodedOperand *operand)
{
	switch (operand->type) {
	case ZYDIS_OPERAND_TYPE_REGISTER:
		return register_kind(operand->reg.value);
	case ZYDIS_OPERAND_TYPE_MEMORY:
		return memory_kind(insn, operand);
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		return SN_KIND_IMM;
	default:
		return SN_KIND_OTHER;
	}
}

static enum sn_form_mask mask_mode(const ZydisDecodedInstruction *insn)
{
	if (insn->avx.mask.reg == ZYDIS_REGISTER_NONE || insn->avx.mask.reg == ZYDIS_REGISTER_K0)
		return SN_MASK_NONE;
	return insn->avx.mask.mode == ZYDIS_MASK_MODE_ZEROING ||
			       insn->avx.mask.mode == ZYDIS_MASK_MODE_CONTROL_ZEROING
		       ? SN_MASK_ZERO
		       : SN_MASK_MERGE;
}

sn_form sn_form_of(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands)
{
	sn_form form = (sn_form)insn->mnemonic & 0xfff;
	unsigned used = 0;

	for (unsigned i = 0; i < insn->operand_count_visible && used < SN_FORM_OPERANDS_MAX; i++) {
		if (operands[i].encoding == ZYDIS_OPERAND_ENCODING_MASK)
			continue;
		form |= (sn_form)operand_kind(insn, &operands[i]) << (12 + 6 * used++);
	}
	form |= (sn_form)mask_mode(insn) << 42;
	if (insn->attributes & ZYDIS_ATTRIB_HAS_LOCK)
		form |= (sn_form)1 << 44;
	if (insn->attributes &
	    (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
		form |= (sn_form)1 << 45;
	return form;
}

char *sn_form_print(sn_form form, char buffer[SN_FORM_TEXT_MAX])
{
	static const char *const masks[] = { "", " {k}", " {z}", "" };
	size_t used = (size_t)snprintf(buffer, SN_FORM_TEXT_MAX, "%s%s%s",
				       form >> 44 & 1 ? "lock " : "", form >> 45 & 1 ? "rep " : "",
				       ZydisMnemonicGetString(sn_form_mnemonic(form)));

	for (unsigned i = 0; i < SN_FORM_OPERANDS_MAX; i++) {
		enum sn_form_kind kind = sn_form_operand(form, i);

		if (kind == SN_KIND_NONE || kind >= SN_KIND_COUNT)
			break;
		used += (size_t)snprintf(buffer + used, SN_FORM_TEXT_MAX - used, "%c%s",
					 i ? ',' : ' ', kinds[kind].text);
	}
	snprintf(buffer + used, SN_FORM_TEXT_MAX - used, "%s", masks[sn_form_mask_mode(form)]);
	return buffer;
}

/* Mnemonics by the hash of their names, built once. */
static bool mnemonic_find(const char *chars, size_t length, ZydisMnemonic *out)
{
	static struct sn_map names;
	uint64_t *found;

	if (!names.count)
		for (int m = 1; m <= ZYDIS_MNEMONIC_MAX_VALUE; m++) {
			const char *name = ZydisMnemonicGetString((ZydisMnemonic)m);

			if (name)
				*sn_map_put(&names, sn_hash_bytes(name, strlen(name)), NULL) =
					(uint64_t)m;
		}
	found = sn_map_get(&names, sn_hash_bytes(chars, length));
	if (!found)
		return false;
	*out = (ZydisMnemonic)*found;
	return true;
}

static bool take_word(const char **next, const char *end, const char *word)
{
	size_t length = strlen(word);

	if ((size_t)(end - *next) < length || memcmp(*next, word, length) != 0)
		return false;
	*next += length;
	return true;
}

static bool parse_kinds(const char *next, const char *end, sn_form *form)
{
	for (unsigned i = 0; next < end; i++) {
		const char *comma = memchr(next, ',', (size_t)(end - next));
		const char *stop = comma ? comma : end;
		unsigned kind = 1;

		while (kind < SN_KIND_COUNT &&
		       (strlen(kinds[kind].text) != (size_t)(stop - next) ||
			memcmp(kinds[kind].text, next, (size_t)(stop - next)) != 0))
			kind++;
		if (kind == SN_KIND_COUNT || i == SN_FORM_OPERANDS_MAX)
			return false;
		*form |= (sn_form)kind << (12 + 6 * i);
		next = comma ? comma + 1 : end;
	}
	return true;
}

bool sn_form_parse(const char *chars, size_t length, sn_form *out)
{
	const char *next = chars, *end = chars + length, *space;
	sn_form form = 0;
	ZydisMnemonic mnemonic;

	if (length > 4 && memcmp(end - 4, " {k}", 4) == 0)
		form |= (sn_form)SN_MASK_MERGE << 42, end -= 4;
	else if (length > 4 && memcmp(end - 4, " {z}", 4) == 0)
		form |= (sn_form)SN_MASK_ZERO << 42, end -= 4;
	if (take_word(&next, end, "lock "))
		form |= (sn_form)1 << 44;
	if (take_word(&next, end, "rep "))
		form |= (sn_form)1 << 45;
	space = memchr(next, ' ', (size_t)(end - next));
	if (!mnemonic_find(next, (size_t)((space ? space : end) - next), &mnemonic))
		return false;
	form |= (sn_form)mnemonic;
	if (space && !parse_kinds(space + 1, end, &form))
		return false;
	*out = form;
	return true;
}

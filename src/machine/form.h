/**
 * The key under which a machine model knows an instruction: mnemonic, kinds and widths of its
 * visible operands, mask and lock/rep prefixes. Registers and values are no part of it.
 *
 * As text: "vaddpd y,y,m256", "vaddpd z,z,m512 {z}", "lock add m64,r64", "lea r64,a3". Letters:
 * r8..r64 general, x y z vector, mm, k mask register, st x87, i immediate, m8..m512 memory by size,
 * b16/b32/b64 memory broadcast, vx vy vz vector-indexed memory, aN an address computed only (N
 * terms: base, index, displacement), s anything else. A mask operand is no operand: {k} merges, {z}
 * zeroes.
 */
#ifndef SN_MACHINE_FORM_H
#define SN_MACHINE_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <Zydis/Zydis.h>

enum sn_form_kind {
	SN_KIND_NONE,
	SN_KIND_R8,
	SN_KIND_R16,
	SN_KIND_R32,
	SN_KIND_R64,
	SN_KIND_X,
	SN_KIND_Y,
	SN_KIND_Z,
	SN_KIND_MM,
	SN_KIND_K,
	SN_KIND_ST,
	SN_KIND_IMM,
	SN_KIND_M8,
	SN_KIND_M16,
	SN_KIND_M32,
	SN_KIND_M64,
	SN_KIND_M80,
	SN_KIND_M128,
	SN_KIND_M256,
	SN_KIND_M512,
	SN_KIND_MEM_OTHER,
	SN_KIND_B16,
	SN_KIND_B32,
	SN_KIND_B64,
	SN_KIND_VX,
	SN_KIND_VY,
	SN_KIND_VZ,
	SN_KIND_A1,
	SN_KIND_A2,
	SN_KIND_A3,
	SN_KIND_OTHER,
	SN_KIND_COUNT
};

enum { SN_FORM_OPERANDS_MAX = 5 };

/** Bits: 0-11 mnemonic, 12+6i the kind of operand i, 42-43 mask, 44 lock, 45 rep. */
typedef uint64_t sn_form;

enum sn_form_mask { SN_MASK_NONE, SN_MASK_MERGE, SN_MASK_ZERO };

sn_form sn_form_of(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands);

static inline ZydisMnemonic sn_form_mnemonic(sn_form form)
{
	return (ZydisMnemonic)(form & 0xfff);
}

static inline enum sn_form_kind sn_form_operand(sn_form form, unsigned index)
{
	return (enum sn_form_kind)((form >> (12 + 6 * index)) & 63);
}

static inline sn_form sn_form_with_operand(sn_form form, unsigned index, enum sn_form_kind kind)
{
	unsigned shift = 12 + 6 * index;

	return (form & ~((uint64_t)63 << shift)) | (uint64_t)kind << shift;
}

static inline enum sn_form_mask sn_form_mask_mode(sn_form form)
{
	return (enum sn_form_mask)((form >> 42) & 3);
}

static inline sn_form sn_form_without_mask(sn_form form)
{
	return form & ~((uint64_t)3 << 42);
}

/** True for memory that is read or written (not an address computed only). */
static inline bool sn_kind_is_memory(enum sn_form_kind kind)
{
	return kind >= SN_KIND_M8 && kind <= SN_KIND_VZ;
}

/** Bytes of a register or memory kind; 0 if it has no fixed size. */
unsigned sn_kind_bytes(enum sn_form_kind kind);

enum { SN_FORM_TEXT_MAX = 96 };

/** Writes the text form; returns `buffer`. */
char *sn_form_print(sn_form form, char buffer[SN_FORM_TEXT_MAX]);

/** Reads a text form of `length` chars; false if it is none that this version of Zydis knows. */
bool sn_form_parse(const char *chars, size_t length, sn_form *out);

#endif

/* Instructions that a machine does not have: code may be judged for another one than it was
 * compiled for. */
#include "cqa/block/extensions.h"

#include <string.h>

#define BEFORE_ICE_LAKE "haswell skylake skylake-avx512 cascadelake "
#define EVERY		BEFORE_ICE_LAKE "icelake-server sapphirerapids zen2 zen3 zen4 zen5"

/* Each by the beginning of Zydis's name of the instruction's set, the first that fits; and those of
 * our machines that lack it (LLVM, X86.td). What all of them have (up to AVX2, FMA and BMI2) is not
 * here. */
static const struct {
	const char *prefix, *title, *lacking;
} extensions[] = {
	{ "AVX512_FP16", "AVX512-FP16", BEFORE_ICE_LAKE "icelake-server zen2 zen3 zen4 zen5" },
	{ "AVX512_BF16", "AVX512-BF16", BEFORE_ICE_LAKE "icelake-server zen2 zen3" },
	{ "AVX512_VP2INTERSECT", "AVX512-VP2INTERSECT",
	  BEFORE_ICE_LAKE "icelake-server sapphirerapids zen2 zen3 zen4" },
	{ "AVX512_VNNI", "AVX512-VNNI", "haswell skylake skylake-avx512 zen2 zen3" },
	{ "AVX512_VBMI", "AVX512-VBMI", BEFORE_ICE_LAKE "zen2 zen3" },
	{ "AVX512_IFMA", "AVX512-IFMA", BEFORE_ICE_LAKE "zen2 zen3" },
	{ "AVX512_BITALG", "AVX512-BITALG", BEFORE_ICE_LAKE "zen2 zen3" },
	{ "AVX512_VPOPCNTDQ", "AVX512-VPOPCNTDQ", BEFORE_ICE_LAKE "zen2 zen3" },
	{ "AVX512_GFNI", "AVX512-GFNI", BEFORE_ICE_LAKE "zen2 zen3" },
	{ "AVX512_VAES", "AVX512-VAES", BEFORE_ICE_LAKE "zen2 zen3" },
	{ "AVX512_VPCLMULQDQ", "AVX512-VPCLMULQDQ", BEFORE_ICE_LAKE "zen2 zen3" },
	{ "AVX512ER", "AVX512-ER", EVERY },
	{ "AVX512PF", "AVX512-PF", EVERY },
	{ "AVX512_4", "AVX512 of Knights Mill", EVERY },
	{ "AVX512", "AVX-512", "haswell skylake zen2 zen3" },
	{ "AVX_VNNI", "AVX-VNNI", BEFORE_ICE_LAKE "icelake-server zen2 zen3 zen4" },
	{ "AVX_GFNI", "GFNI", BEFORE_ICE_LAKE "zen2 zen3" },
	{ "GFNI", "GFNI", BEFORE_ICE_LAKE "zen2 zen3" },
	{ "VAES", "VAES", BEFORE_ICE_LAKE "zen2" },
	{ "VPCLMULQDQ", "VPCLMULQDQ", BEFORE_ICE_LAKE "zen2" },
	{ "SHA", "SHA", BEFORE_ICE_LAKE },
	{ "ADOX_ADCX", "ADX", "haswell" },
	{ "RDSEED", "RDSEED", "haswell" },
	{ "AMX_", "AMX", BEFORE_ICE_LAKE "icelake-server zen2 zen3 zen4 zen5" },
	{ "FMA4", "FMA4", EVERY },
	{ "XOP", "XOP", EVERY },
	{ "TBM", "TBM", EVERY },
	{ "SSE4A", "SSE4a", BEFORE_ICE_LAKE "icelake-server sapphirerapids" },
	{ "AMD3DNOW", "3DNow!", EVERY },
};
enum { EXTENSIONS = sizeof(extensions) / sizeof(*extensions) };
_Static_assert(EXTENSIONS <= 32, "a bit each");

static bool holds_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = words; (at = strstr(at, word)); at += length)
		if ((at == words || at[-1] == ' ') && (!at[length] || at[length] == ' '))
			return true;
	return false;
}

/* Most instructions are of these: no names are compared for them. */
static bool is_everywhere(ZydisISAExt ext)
{
	return ext == ZYDIS_ISA_EXT_BASE || ext == ZYDIS_ISA_EXT_LONGMODE ||
	       ext == ZYDIS_ISA_EXT_SSE || ext == ZYDIS_ISA_EXT_SSE2 || ext == ZYDIS_ISA_EXT_AVX ||
	       ext == ZYDIS_ISA_EXT_AVX2 || ext == ZYDIS_ISA_EXT_FMA || ext == ZYDIS_ISA_EXT_X87;
}

unsigned sn_cqa_lacked_by(const struct sn_machine *machine, const ZydisDecodedInstruction *insn)
{
	const char *set;

	if (is_everywhere(insn->meta.isa_ext))
		return 0;
	set = ZydisISASetGetString(insn->meta.isa_set);
	for (unsigned i = 0; set && i < EXTENSIONS; i++)
		if (strncmp(set, extensions[i].prefix, strlen(extensions[i].prefix)) == 0)
			return holds_word(extensions[i].lacking, machine->name) ? 1U << i : 0;
	return 0;
}

void sn_cqa_lacked_names(unsigned lacked, struct sn_text *out)
{
	unsigned named = 0;

	/* the same name may stand in two rows */
	for (unsigned i = 0; i < EXTENSIONS; i++) {
		bool is_named = !(lacked & 1U << i);

		for (unsigned k = 0; k < i && !is_named; k++)
			is_named = named & 1U << k &&
				   strcmp(extensions[k].title, extensions[i].title) == 0;
		if (is_named)
			continue;
		sn_text_addf(out, "%s%s", named ? ", " : "", extensions[i].title);
		named |= 1U << i;
	}
}

/* Instructions that a machine lacks. Code may be judged for another machine than it was compiled
 * for. */
#include "cqa/block/extensions.h"

#include <string.h>

/* Each by the beginning of Zydis's name of the instruction's set, the first that fits. Which of them
 * a machine lacks is its rule `lacks`. What all have (up to AVX2, FMA and BMI2) is not here. */
static const struct {
	const char *prefix, *title;
} extensions[SN_EXTENSIONS] = {
	[SN_EXTENSION_AVX512_FP16] = { "AVX512_FP16", "AVX512-FP16" },
	[SN_EXTENSION_AVX512_BF16] = { "AVX512_BF16", "AVX512-BF16" },
	[SN_EXTENSION_AVX512_VP2INTERSECT] = { "AVX512_VP2INTERSECT", "AVX512-VP2INTERSECT" },
	[SN_EXTENSION_AVX512_VNNI] = { "AVX512_VNNI", "AVX512-VNNI" },
	[SN_EXTENSION_AVX512_VBMI] = { "AVX512_VBMI", "AVX512-VBMI" },
	[SN_EXTENSION_AVX512_IFMA] = { "AVX512_IFMA", "AVX512-IFMA" },
	[SN_EXTENSION_AVX512_BITALG] = { "AVX512_BITALG", "AVX512-BITALG" },
	[SN_EXTENSION_AVX512_VPOPCNTDQ] = { "AVX512_VPOPCNTDQ", "AVX512-VPOPCNTDQ" },
	[SN_EXTENSION_AVX512_GFNI] = { "AVX512_GFNI", "AVX512-GFNI" },
	[SN_EXTENSION_AVX512_VAES] = { "AVX512_VAES", "AVX512-VAES" },
	[SN_EXTENSION_AVX512_VPCLMULQDQ] = { "AVX512_VPCLMULQDQ", "AVX512-VPCLMULQDQ" },
	[SN_EXTENSION_AVX512ER] = { "AVX512ER", "AVX512-ER" },
	[SN_EXTENSION_AVX512PF] = { "AVX512PF", "AVX512-PF" },
	[SN_EXTENSION_AVX512_4] = { "AVX512_4", "AVX512 of Knights Mill" },
	[SN_EXTENSION_AVX512] = { "AVX512", "AVX-512" },
	[SN_EXTENSION_AVX_VNNI] = { "AVX_VNNI", "AVX-VNNI" },
	[SN_EXTENSION_AVX_GFNI] = { "AVX_GFNI", "GFNI" },
	[SN_EXTENSION_GFNI] = { "GFNI", "GFNI" },
	[SN_EXTENSION_VAES] = { "VAES", "VAES" },
	[SN_EXTENSION_VPCLMULQDQ] = { "VPCLMULQDQ", "VPCLMULQDQ" },
	[SN_EXTENSION_SHA] = { "SHA", "SHA" },
	[SN_EXTENSION_ADOX_ADCX] = { "ADOX_ADCX", "ADX" },
	[SN_EXTENSION_RDSEED] = { "RDSEED", "RDSEED" },
	[SN_EXTENSION_AMX] = { "AMX_", "AMX" },
	[SN_EXTENSION_FMA4] = { "FMA4", "FMA4" },
	[SN_EXTENSION_XOP] = { "XOP", "XOP" },
	[SN_EXTENSION_TBM] = { "TBM", "TBM" },
	[SN_EXTENSION_SSE4A] = { "SSE4A", "SSE4a" },
	[SN_EXTENSION_AMD3DNOW] = { "AMD3DNOW", "3DNow!" },
};
_Static_assert(SN_EXTENSIONS <= 32, "a bit each");

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
	for (unsigned i = 0; set && i < SN_EXTENSIONS; i++)
		if (strncmp(set, extensions[i].prefix, strlen(extensions[i].prefix)) == 0)
			return machine->rules.lacks & 1U << i;
	return 0;
}

void sn_cqa_lacked_names(unsigned lacked, struct sn_text *out)
{
	unsigned named = 0;

	/* the same name may stand in two rows */
	for (unsigned i = 0; i < SN_EXTENSIONS; i++) {
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

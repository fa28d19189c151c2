/* What variants, their states and classes are called. */
#include "whatif/variants.h"

const char *const sn_loop_variant_names[SN_VARIANTS] = { "orig", "ls",	"fp", "arith",
							 "dl1",	 "fes", "pf" };

const char *sn_variant_safety(enum sn_decan_variant variant)
{
	switch (variant) {
	case SN_VARIANT_ORIG:
	case SN_VARIANT_PF:
		return "same";
	case SN_VARIANT_LS:
		return "silent";
	default:
		return "none";
	}
}

const char *sn_variant_state_name(const struct sn_variant_figure *figure)
{
	static const char *const names[] = { "measured", "weak", "warm" };

	return figure->state <= SN_VARIANT_WARMED ? names[figure->state] : figure->reason;
}

const char *sn_loop_class_name(enum sn_loop_class class)
{
	static const char *const names[] = { "unknown", "data",	   "compute",
					     "both",	"neither", "front_end" };

	return names[class];
}

/** What standard headers of C define that phases may use: constants and names of types. */
#ifndef SN_PANDORE_COMPILER_HEADERS_H
#define SN_PANDORE_COMPILER_HEADERS_H

struct sn_pnd_standard_macro {
	const char *header, *name, *value;
};

/** All of them; the last one has no name. Values are those of Linux on x86-64, as C text. */
extern const struct sn_pnd_standard_macro sn_pnd_standard_macros[];

#endif

/**
 * Where the program made a call that a collector traced: a site, and its callers outwards.
 *
 * A site is the innermost line on a call path that is not of the C or C++ library: the one that
 * somebody wrote for this program. Where a whole path is of these libraries, it is the innermost line.
 */
#ifndef SN_PROFILE_SITE_H
#define SN_PROFILE_SITE_H

#include "base/text.h"
#include "profile/program.h"

/** Both SN_NONE: no call path was taken. */
struct sn_site {
	uint32_t function, line; /* of the program; line SN_NONE: unknown */
};

struct sn_site_path {
	SN_VEC(struct sn_site) items; /* from the site outwards, at least one */
};

/** Into a vector that is cleared before; `is_site_only`: its first item, and perhaps some more. */
void sn_site_path_read(const struct sn_program *program, uint32_t stack, bool is_site_only,
		       struct sn_site_path *out);
/** The site alone. */
struct sn_site sn_site_of(const struct sn_program *program, uint32_t stack);

/** The frame of a stack that its site is in (an index in frame_places); the leaf's where all are of libraries. The stack has
 *  one. */
size_t sn_site_frame(const struct sn_program *program, uint32_t stack);

/** "function (file.c:12)", "function in module" where nothing is known of the line, "[no call path]". */
void sn_site_add_name(const struct sn_program *program, struct sn_site site, struct sn_text *text);

#endif

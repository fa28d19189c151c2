/**
 * Finding the subject of a view by the name that a user gives it.
 */
#ifndef SN_VIEWS_FIND_H
#define SN_VIEWS_FIND_H

#include "profile/profile.h"

/** The function meant by a name: the whole name, the linkage name, a unique part of it, else the
 *  hottest that the text is part of. SN_ERR_NOT_FOUND otherwise. */
sn_status sn_find_function(const struct sn_profile *profile, const char *name, uint32_t *out,
			   struct sn_error *err);
/** The loop meant by an id, a unique prefix of one, "file:line", a label, or "#N" (rank in the
 * loops table, from 1). SN_ERR_NOT_FOUND; SN_ERR_USAGE if it is not unique. */
sn_status sn_find_loop(const struct sn_profile *profile, const char *name, bool with_runtime_loops,
		       uint32_t *out, struct sn_error *err);
/** Whether a name is a loop's id, the begin of it, or its label; a line of its source, as "file:line". */
bool sn_find_loop_is_called(const struct sn_loop *code, const char *name);
bool sn_find_loop_has_line(const struct sn_loop *code, const char *name);

#endif

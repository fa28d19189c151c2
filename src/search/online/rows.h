/** Instructions of one line that bound its executions. */
#ifndef SN_SEARCH_ONLINE_ROWS_H
#define SN_SEARCH_ONLINE_ROWS_H

#include "code/structure.h"
#include "search/online/entries.h"

/** The addresses have the same line and are directly in this loop, no inner one (NULL: in none). An execution of the line is an
 *  iteration of the loop, or a call of the function, that passes any of them. Those are left of which each execution passes
 *  exactly one, once. False: no choice of them does so, and all are left. The function is to be prepared. */
bool sn_rows_bound(const struct sn_function *function, const struct sn_loop *loop,
		   sn_addresses *rows);

#endif

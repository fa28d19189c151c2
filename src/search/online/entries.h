/** Instructions of an inlined copy that each execution of the copy passes once. */
#ifndef SN_SEARCH_ONLINE_ENTRIES_H
#define SN_SEARCH_ONLINE_ENTRIES_H

#include "base/vec.h"
#include "code/structure.h"

typedef SN_VEC(uint64_t) sn_addresses;

/** Every execution of the copy (an index of the function's inlined subroutines) passes exactly one of these addresses, once:
 *  its first instruction, the first ones of alternatives, or the block before it. False: there are no such
 *  instructions. The function is to be prepared. The caller frees with sn_vec_free in any case. */
bool sn_copy_entries(const struct sn_function *function, int32_t copy, sn_addresses *out);

/** Whether a subroutine is another one, or inlined into it. */
bool sn_inline_is_within(const struct sn_function *function, int32_t inner, int32_t outer);

#endif

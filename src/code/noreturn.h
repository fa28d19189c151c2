/**
 * Functions that do not come back: known by name, or because every path through them ends so.
 */
#ifndef SN_CODE_NORETURN_H
#define SN_CODE_NORETURN_H

#include <stdbool.h>
#include <stdint.h>

struct sn_structure;

/** Does a call to this address never come back? False wherever that is not certain. The answer does
 * not depend on what was asked before. */
bool sn_never_returns(struct sn_structure *structure, uint64_t link_addr);

#endif

/**
 * Functions that do not return: known by name, or because no path through them returns.
 */
#ifndef SN_CODE_NORETURN_H
#define SN_CODE_NORETURN_H

#include <stdbool.h>
#include <stdint.h>

struct sn_structure;

/** Whether a call to this address never returns. False wherever that is not certain. The answer
 * does not depend on what was asked before. */
bool sn_never_returns(struct sn_structure *structure, uint64_t link_addr);

#endif

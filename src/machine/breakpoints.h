/** Whether this machine's hardware breakpoints work. */
#ifndef SN_MACHINE_BREAKPOINTS_H
#define SN_MACHINE_BREAKPOINTS_H

#include <stdbool.h>

/** False: breakpoints can be set here, and are never hit, as some hypervisors leave the debug registers out. True: they are
 *  hit, or none can be set to try, which whoever wants one is told by the kernel. */
bool sn_breakpoints_fire(void);

#endif

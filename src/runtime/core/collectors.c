/* The list of collectors (core/collectors.h) of the runtime that every measured program has. */
#include "runtime/core/collectors.h"

struct sn_collector *const sn_collectors[] = { SN_COLLECTORS(SN_COLLECTOR_LISTED) NULL };

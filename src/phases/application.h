/** Which processes of an experiment are the application that phases are looked for in. */
#ifndef SN_PHASES_APPLICATION_H
#define SN_PHASES_APPLICATION_H

#include <stdint.h>

#include "profile/profile.h"

/** By process: 1 if it counts. To be freed. docs/method/phases.md has the rule. */
uint8_t *sn_application_processes(const struct sn_profile *profile);

#endif

/** Which processes of an experiment are the application that phases are looked for in. */
#ifndef SN_PHASES_APPLICATION_H
#define SN_PHASES_APPLICATION_H

#include <stdint.h>

#include "profile/profile.h"

/** Which processes count, by index: 1 or 0. The caller frees. docs/method/phases.md has the rule. */
uint8_t *sn_application_processes(const struct sn_profile *profile);

#endif

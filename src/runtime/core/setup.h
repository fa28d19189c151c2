/**
 * Set-up: the constructor and what it calls. Runs before the target's own code, may use libc.
 */
#ifndef SN_RUNTIME_CORE_SETUP_H
#define SN_RUNTIME_CORE_SETUP_H

#include "runtime/core/runtime.h"

void sn_setup_vdso(void);
/** Takes our variables out of the environment; false if SONDE_RUNTIME was not there. */
bool sn_setup_environment(void);
/** Whether --follow lets this program be measured. */
bool sn_setup_is_followed(void);
/** Threads that began before us become ours (core/setup_adopt.c). */
void sn_setup_adopt(void);

#endif

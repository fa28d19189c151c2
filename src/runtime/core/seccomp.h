/** What must happen before and after a seccomp filter is installed, by prctl or syscall. */
#ifndef SN_RUNTIME_CORE_SECCOMP_H
#define SN_RUNTIME_CORE_SECCOMP_H

#include <linux/filter.h>
#include <stdbool.h>

/** Before: the last system calls of the runtime. The process counts as sealed from here on. */
void sn_seccomp_prepare(const struct sock_fprog *program);
/** After, where it was not sealed before: if the kernel refused the filter, everything goes on. */
void sn_seccomp_conclude(bool is_installed);

#endif

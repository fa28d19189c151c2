/* Finds the functions of core/real.h. */
#include "runtime/core/real.h"

#include <dlfcn.h>
#include <sys/prctl.h>

struct sn_real sn_real;
int (*sn_libc_sigaction)(int, const struct sigaction *, struct sigaction *);

#define RESOLVE(name) sn_real.real_##name = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);

void sn_real_resolve(void)
{
	SN_REAL_LIST(RESOLVE)
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	sn_libc_sigaction = libc ? (__typeof__(sn_libc_sigaction))dlsym(libc, "sigaction") : NULL;
	if (!sn_libc_sigaction)
		sn_libc_sigaction = sn_real.real_sigaction;
}

/* The constructor's part: the control page of the launch, and the functions that are interposed. */
#include "runtime/causal/causal.h"
#include "runtime/causal/streams.h"
#include "runtime/causal/wakes.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct sn_causal_real sn_causal_real;
struct sn_causal_streams sn_causal_streams;

void sn_causal_attach(void)
{
	static bool is_tried;
	char path[SN_SETTINGS_PATH_MAX + sizeof SN_CAUSAL_FILE + 1];
	struct stat about;

	if (is_tried || !sn_config.settings.is_causal)
		return;
	is_tried = true;
	snprintf(path, sizeof path, "%s/%s", sn_config.settings.dir, SN_CAUSAL_FILE);
	long fd = SYS(openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC), at = -1;
	if (fd < 0)
		return;
	if (SYS(newfstatat, fd, "", &about, AT_EMPTY_PATH) == 0 &&
	    about.st_size >= (off_t)sizeof(struct sn_causal_control))
		at = SYS(mmap, NULL, sizeof(struct sn_causal_control), PROT_READ | PROT_WRITE,
			 MAP_SHARED, fd, 0);
	SYS(close, fd);
	if (at < 0 && at > -4096)
		return;
	if (sn_causal_is_control((const void *)at, (uint64_t)about.st_size))
		sn_causal_control = (void *)at;
	else
		SYS(munmap, at, sizeof(struct sn_causal_control));
}

#define FIND(type, name, parameters, arguments)                                                    \
	sn_causal_real.name = (__typeof__(sn_causal_real.name))dlsym(RTLD_NEXT, #name);
#define FIND_STREAM(type, name, parameters, symbol)                                                \
	sn_causal_streams.name = (__typeof__(sn_causal_streams.name))dlsym(RTLD_NEXT, symbol);
#define FIND_IN_GOMP(type, name, parameters, arguments)                                            \
	sn_causal_real.name = (__typeof__(sn_causal_real.name))dlsym(gomp, #name);
/* Their oldest version differs from what programs mean. */
#define FIND_VERSION(name, version)                                                                \
	found = dlvsym(RTLD_NEXT, #name, version);                                                 \
	if (found)                                                                                 \
		sn_causal_real.name = (__typeof__(sn_causal_real.name))found;

void sn_causal_find_real(void)
{
	void *found;

	SN_CAUSAL_RELEASES(FIND)
	SN_CAUSAL_WAKES(FIND)
	SN_CAUSAL_TRIES(FIND)
	SN_CAUSAL_TEAM_WAITS(FIND)
	SN_CAUSAL_STREAMS(FIND_STREAM)
	/* a library of the program's that was loaded for itself alone has its own behind us */
	if (!sn_causal_real.GOMP_barrier) {
		void *gomp = dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD);
		if (gomp) {
			SN_CAUSAL_TEAM_WAITS(FIND_IN_GOMP)
		}
	}
	FIND_VERSION(pthread_cond_signal, "GLIBC_2.3.2")
	FIND_VERSION(pthread_cond_broadcast, "GLIBC_2.3.2")
}

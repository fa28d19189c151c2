#include "unit/unwind/here.h"

#include <link.h>
#include <pthread.h>
#include <stdlib.h>

#include "unwind/module.h"

static int add_image(struct dl_phdr_info *info, size_t size, void *context)
{
	struct here *here = context;

	(void)size;
	if (here->target.module_count < 64 &&
	    sn_unwind_module_of_process(&here->modules[here->target.module_count], info->dlpi_phdr,
					info->dlpi_phnum, info->dlpi_addr))
		here->target.module_count++;
	return 0;
}

static int by_start(const void *a, const void *b)
{
	uint64_t x = ((const struct sn_unwind_module *)a)->load_start;
	uint64_t y = ((const struct sn_unwind_module *)b)->load_start;

	return x < y ? -1 : x > y;
}

void here_fill(struct here *here)
{
	pthread_attr_t attr;
	void *stack;
	size_t size;

	here->target = (struct sn_unwind_target){
		.modules = here->modules, .stacks = here->stacks, .stack_count = 1, .generation = 1
	};
	dl_iterate_phdr(add_image, here);
	qsort(here->modules, here->target.module_count, sizeof(here->modules[0]), by_start);
	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &stack, &size);
	pthread_attr_destroy(&attr);
	here->stacks[0] = sn_unwind_window_here((uintptr_t)stack, (uintptr_t)stack + size);
}

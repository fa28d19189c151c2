/** The function of a name that the next library in line defines, for wrappers of libraries that a program may or may not have. */
#ifndef SN_RUNTIME_CORE_NEXT_H
#define SN_RUNTIME_CORE_NEXT_H

#include <dlfcn.h>
#include <stdatomic.h>

/** The next library's `name`, of the type that is declared for it; NULL where there is none. Looked up once for each place that
 *  asks. For all threads; not in signal handlers, as dlsym may take the loader's lock. */
#define SN_NEXT(name)                                                                              \
	({                                                                                         \
		static _Atomic(void *) next_found;                                                 \
		void *next_is = atomic_load_explicit(&next_found, memory_order_relaxed);           \
		if (!next_is) {                                                                    \
			next_is = dlsym(RTLD_NEXT, #name);                                         \
			atomic_store_explicit(&next_found, next_is, memory_order_relaxed);         \
		}                                                                                  \
		(__typeof__(&name))next_is;                                                        \
	})

#endif

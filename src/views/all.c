/* The registry: a view is a file and a line here. */
#include "views/view.h"

/* Keep in the order in which help shows them. */
#define SN_VIEWS(X)                                                                                \
	X(summary)                                                                                 \
	X(functions)                                                                               \
	X(loops)                                                                                   \
	X(loop)                                                                                    \
	X(global)                                                                                  \
	X(roofline)                                                                                \
	X(roofs)                                                                                   \
	X(whatif)                                                                                  \
	X(instances)                                                                               \
	X(counts)                                                                                  \
	X(causal)                                                                                  \
	X(variants)                                                                                \
	X(windows)                                                                                 \
	X(accesses)                                                                                \
	X(caches)                                                                                  \
	X(sharing)                                                                                 \
	X(calls)                                                                                   \
	X(tree)                                                                                    \
	X(callers)                                                                                 \
	X(lines)                                                                                   \
	X(source)                                                                                  \
	X(asm)                                                                                     \
	X(modules)                                                                                 \
	X(compile)                                                                                 \
	X(threads)                                                                                 \
	X(processes)                                                                               \
	X(cpus)                                                                                    \
	X(categories)                                                                              \
	X(states)                                                                                  \
	X(counters)                                                                                \
	X(faults)                                                                                  \
	X(dataspace)                                                                               \
	X(memory)                                                                                  \
	X(waits)                                                                                   \
	X(heap)                                                                                    \
	X(leaks)                                                                                   \
	X(peak)                                                                                    \
	X(mpi)                                                                                     \
	X(matrix)                                                                                  \
	X(messages)                                                                                \
	X(waitstates)                                                                              \
	X(critical)                                                                                \
	X(locks)                                                                                   \
	X(blame)                                                                                   \
	X(contention)                                                                              \
	X(chains)                                                                                  \
	X(deadlocks)                                                                               \
	X(io)                                                                                      \
	X(openmp)                                                                                  \
	X(constructs)                                                                              \
	X(teams)                                                                                   \
	X(system)                                                                                  \
	X(statistics)                                                                              \
	X(packets)                                                                                 \
	X(env)                                                                                     \
	X(samples)                                                                                 \
	X(scalability)                                                                             \
	X(phases)                                                                                  \
	X(comm)                                                                                    \
	X(properties)                                                                              \
	X(searched)

#define DECLARE(name) extern const struct sn_view sn_view_##name;
SN_VIEWS(DECLARE)

#define POINTER(name) &sn_view_##name,
const struct sn_view *const sn_views[] = { SN_VIEWS(POINTER) NULL };

/**
 * A small program whose truth is known: what stands at which address, and an experiment to push
 * samples into.
 *
 *	app    main      0x1000-0x10ff  outer loop 0x1010-0x10ef (app.c:10-20, depth 1)
 *	                                inner loop 0x1040-0x107f (app.c:12-15, depth 2, innermost)
 *	                                kernel, inlined at app.c:13, 0x1050-0x106f
 *	                                loop in kernel 0x1060-0x106f (kernel.h:3-5, depth 3)
 *	       kernel    0x1800-0x18ff  its own body; same loop 0x1820-0x182f
 *	       fib       0x2000-0x20ff  recursive
 *	       work._omp_fn.0 0x2800-0x28ff  the body of a parallel region
 *	       leaf      0x3000-0x30ff  main loop 0x3020-0x302f and its tail 0x3040-0x304f
 *(leaf.c:5-9) libm   sin       0x1000-0x1fff libc   malloc    0x1000-0x10ff, write 0x2000-0x20ff,
 *no name at 0x3000 libgomp GOMP_barrier 0x1000-0x10ff with a spinning loop 0x1010-0x101f
 */
#ifndef SN_TESTS_PROFILE_FIXTURE_H
#define SN_TESTS_PROFILE_FIXTURE_H

#include "experiment/experiment.h"
#include "profile/profile.h"

enum { APP, LIBM, LIBC, LIBGOMP, FIXTURE_MODULES, LIBMPI = FIXTURE_MODULES };

enum {
	MAIN = 0x1000,
	MAIN_OUTER = 0x1018,
	MAIN_INNER = 0x1044,
	MAIN_KERNEL = 0x1054,
	MAIN_KERNEL_LOOP = 0x1064,
	KERNEL = 0x1804,
	KERNEL_LOOP = 0x1824,
	FIB = 0x2010,
	OMP_BODY = 0x2804,
	LEAF = 0x3004,
	LEAF_MAIN_LOOP = 0x3024,
	LEAF_TAIL_LOOP = 0x3044,
	SIN = 0x1004,
	MALLOC = 0x1004,
	WRITE = 0x2004,
	UNNAMED = 0x3004,
	BARRIER = 0x1004,
	BARRIER_SPIN = 0x1014,
	MPI_INIT = 0x1004,
	MPI_SENDRECV = 0x2004,
	MPI_RECV = 0x3004,
	MPI_FINALIZE_TAIL = 0x4004
};

struct fixture {
	struct sn_experiment *experiment;
	struct sn_resolver resolver;
	struct sn_program *program; /* made by fixture_profile */
	struct sn_profile *profile;
};

/** Adds LIBMPI: PMPI_Init, PMPI_Sendrecv, PMPI_Recv, ompi_mpi_finalize. */
void fixture_add_mpi(struct fixture *f);
/** One process, one thread (tid 100). */
void fixture_begin(struct fixture *f);
uint32_t fixture_add_process(struct fixture *f, int32_t pid);
uint32_t fixture_add_thread(struct fixture *f, uint32_t process, int32_t tid, const char *name);
/** A stack of `depth` (module, address) pairs, leaf first; addresses of callers are moved one byte
 * on, as return addresses are. */
uint32_t fixture_stack(struct fixture *f, uint32_t process, uint32_t depth, ...);
/** `count` observations of `cpu_us` each, one every `cpu_us` from the thread's last. */
void fixture_samples(struct fixture *f, uint32_t thread, uint32_t stack, unsigned count,
		     unsigned cpu_us);
void fixture_wait(struct fixture *f, uint32_t thread, uint32_t stack, int64_t time_us,
		  uint64_t duration_us, enum sn_wait_kind kind);
/** Sorts, resolves and computes (a second time with another filter if called again). */
void fixture_profile(struct fixture *f, const struct sn_filter *filter);
/** By name; fails the test if there is none. */
uint32_t fixture_function(const struct fixture *f, const char *name);
uint32_t fixture_loop(const struct fixture *f, const char *label);
void fixture_end(struct fixture *f);

#endif

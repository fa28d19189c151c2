/*
 * Names that everybody uses, and libpfm4's. The library is looked for when it is needed, so that sonde runs
 * without it.
 */
#include "record/counter_names.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SN_HAVE_PFM
#include <perfmon/pfmlib_perf_event.h>
#endif

#define CACHE(cache, operation, result)                                                            \
	(PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_##operation << 8 |                   \
	 PERF_COUNT_HW_CACHE_RESULT_##result << 16)

/* Default periods are those of the manual's example where it has one. */
enum { CYCLES = 31599989, LOADS = 9999991, MISSES = 1000003, RARE = 100003 };

static const char *const loads_exact[] = { "MEM_INST_RETIRED:ALL_LOADS",
					   "MEM_UOPS_RETIRED:ALL_LOADS",
					   "MEM_UOP_RETIRED:ANY_LOADS", "IBS_OP", NULL };
static const char *const stores_exact[] = { "MEM_INST_RETIRED:ALL_STORES",
					    "MEM_UOPS_RETIRED:ALL_STORES",
					    "MEM_UOP_RETIRED:ANY_STORES", NULL };
static const char *const dcm_exact[] = { "MEM_LOAD_RETIRED:L1_MISS",
					 "MEM_LOAD_UOPS_RETIRED:L1_MISS", NULL };
static const char *const l2m[] = { "L2_RQSTS:MISS", "L2_CACHE_MISS",
				   "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C",
				   "L2_REQUESTS:MISS", NULL };
static const char *const l2m_exact[] = { "MEM_LOAD_RETIRED:L2_MISS",
					 "MEM_LOAD_UOPS_RETIRED:L2_MISS", NULL };
static const char *const l3m_exact[] = { "MEM_LOAD_RETIRED:L3_MISS",
					 "MEM_LOAD_UOPS_RETIRED:L3_MISS", NULL };
static const char *const tlbm_exact[] = { "MEM_INST_RETIRED:STLB_MISS_LOADS",
					  "MEM_UOPS_RETIRED:STLB_MISS_LOADS", NULL };
static const char *const fpops[] = { "FP_ARITH_INST_RETIRED:ANY", "FP_ARITH:SCALAR_DOUBLE",
				     "RETIRED_SSE_AVX_FLOPS:ANY", "FP_ARITH_INST_RETIRED:SCALAR",
				     "FP_COMP_OPS_EXE:X87",	  NULL };

#define SOFTWARE(name, title, config, period, flags)                                               \
	{                                                                                          \
		name, title, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##config, period, flags, false,     \
			NULL, NULL                                                                 \
	}
#define HARDWARE(name, title, config, period, flags, is_alias, exact)                              \
	{                                                                                          \
		name, title, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##config, period, flags, is_alias,  \
			NULL, exact                                                                \
	}
#define CACHES(name, title, config, period, flags, is_alias, exact)                                \
	{                                                                                          \
		name, title, PERF_TYPE_HW_CACHE, config, period, flags, is_alias, NULL, exact      \
	}

const struct sn_counter_name sn_counter_names[] = {
	HARDWARE("cycles", "CPU Cycles", CPU_CYCLES, CYCLES, SN_COUNTER_CYCLES, true, NULL),
	HARDWARE("insts", "Instructions Executed", INSTRUCTIONS, CYCLES, 0, true, NULL),
	CACHES("loads", "Load Instructions", CACHE(L1D, READ, ACCESS), LOADS, SN_COUNTER_ADDRESSES,
	       true, loads_exact),
	CACHES("stores", "Store Instructions", CACHE(L1D, WRITE, ACCESS), MISSES,
	       SN_COUNTER_ADDRESSES, true, stores_exact),
	CACHES("dcm", "L1 D-cache Misses", CACHE(L1D, READ, MISS), MISSES, SN_COUNTER_ADDRESSES,
	       true, dcm_exact),
	{ "l2m", "L2 Cache Misses", PERF_TYPE_RAW, 0, MISSES, SN_COUNTER_ADDRESSES, true, l2m,
	  l2m_exact },
	CACHES("l3m", "L3 Cache Misses", CACHE(LL, READ, MISS), RARE, SN_COUNTER_ADDRESSES, true,
	       l3m_exact),
	CACHES("tlbm", "D-TLB Misses", CACHE(DTLB, READ, MISS), RARE, SN_COUNTER_ADDRESSES, true,
	       tlbm_exact),
	HARDWARE("branches", "Branch Instructions", BRANCH_INSTRUCTIONS, LOADS, 0, true, NULL),
	HARDWARE("brmiss", "Branch Mispredictions", BRANCH_MISSES, MISSES, 0, true, NULL),
	{ "fpops", "Floating-point Operations", PERF_TYPE_RAW, 0, LOADS, 0, true, fpops, NULL },

	SOFTWARE("page-faults", "Page Faults", PAGE_FAULTS, 101, SN_COUNTER_ADDRESSES),
	SOFTWARE("faults", "Page Faults", PAGE_FAULTS, 101, SN_COUNTER_ADDRESSES),
	SOFTWARE("minor-faults", "Page Faults without I/O", PAGE_FAULTS_MIN, 101,
		 SN_COUNTER_ADDRESSES),
	SOFTWARE("major-faults", "Page Faults that Read a Disk", PAGE_FAULTS_MAJ, 1,
		 SN_COUNTER_ADDRESSES),
	SOFTWARE("context-switches", "Context Switches", CONTEXT_SWITCHES, 101, SN_COUNTER_KERNEL),
	SOFTWARE("cs", "Context Switches", CONTEXT_SWITCHES, 101, SN_COUNTER_KERNEL),
	SOFTWARE("cpu-migrations", "Moves to Another CPU", CPU_MIGRATIONS, 1, SN_COUNTER_KERNEL),
	SOFTWARE("migrations", "Moves to Another CPU", CPU_MIGRATIONS, 1, SN_COUNTER_KERNEL),
	SOFTWARE("alignment-faults", "Accesses the Kernel Mended", ALIGNMENT_FAULTS, 101,
		 SN_COUNTER_ADDRESSES),
	SOFTWARE("emulation-faults", "Instructions the Kernel Emulated", EMULATION_FAULTS, 101, 0),
	SOFTWARE("task-clock", "CPU Time in ns", TASK_CLOCK, 10000019, SN_COUNTER_CYCLES),
	SOFTWARE("cpu-clock", "CPU Time in ns", CPU_CLOCK, 10000019, SN_COUNTER_CYCLES),

	HARDWARE("instructions", "Instructions Executed", INSTRUCTIONS, CYCLES, 0, false, NULL),
	HARDWARE("cpu-cycles", "CPU Cycles", CPU_CYCLES, CYCLES, SN_COUNTER_CYCLES, false, NULL),
	HARDWARE("cache-references", "Last-level Cache References", CACHE_REFERENCES, MISSES, 0,
		 false, NULL),
	HARDWARE("cache-misses", "Last-level Cache Misses", CACHE_MISSES, RARE, 0, false, NULL),
	HARDWARE("branch-instructions", "Branch Instructions", BRANCH_INSTRUCTIONS, LOADS, 0, false,
		 NULL),
	HARDWARE("branch-misses", "Branch Mispredictions", BRANCH_MISSES, MISSES, 0, false, NULL),
	HARDWARE("bus-cycles", "Bus Cycles", BUS_CYCLES, MISSES, 0, false, NULL),
	HARDWARE("stalled-cycles-frontend", "Cycles without Instructions to Execute",
		 STALLED_CYCLES_FRONTEND, CYCLES, SN_COUNTER_CYCLES, false, NULL),
	HARDWARE("stalled-cycles-backend", "Cycles that Wait for Units or Memory",
		 STALLED_CYCLES_BACKEND, CYCLES, SN_COUNTER_CYCLES, false, NULL),
	HARDWARE("ref-cycles", "Cycles at the Nominal Rate", REF_CPU_CYCLES, CYCLES,
		 SN_COUNTER_CYCLES, false, NULL),
	CACHES("L1-dcache-loads", "Load Instructions", CACHE(L1D, READ, ACCESS), LOADS, 0, false,
	       NULL),
	CACHES("L1-dcache-load-misses", "L1 D-cache Misses", CACHE(L1D, READ, MISS), MISSES, 0,
	       false, NULL),
	CACHES("L1-icache-load-misses", "L1 I-cache Misses", CACHE(L1I, READ, MISS), MISSES, 0,
	       false, NULL),
	CACHES("LLC-loads", "Last-level Cache Loads", CACHE(LL, READ, ACCESS), MISSES, 0, false,
	       NULL),
	CACHES("LLC-load-misses", "Last-level Cache Misses", CACHE(LL, READ, MISS), RARE, 0, false,
	       NULL),
	CACHES("dTLB-load-misses", "D-TLB Misses", CACHE(DTLB, READ, MISS), RARE, 0, false, NULL),
	CACHES("iTLB-load-misses", "I-TLB Misses", CACHE(ITLB, READ, MISS), RARE, 0, false, NULL),
	{ 0 },
};

#ifdef SN_HAVE_PFM

static struct {
	pfm_err_t (*initialize)(void);
	const char *(*strerror)(int);
	pfm_err_t (*encode)(const char *, int, pfm_os_t, void *);
	pfm_err_t (*pmu_info)(pfm_pmu_t, pfm_pmu_info_t *);
	pfm_err_t (*event_info)(int, pfm_os_t, pfm_event_info_t *);
	pfm_err_t (*attr_info)(int, int, pfm_os_t, pfm_event_attr_info_t *);
	int (*event_next)(int);
} pfm;

/* Why it cannot be had; NULL: it is there. */
static const char *pfm_begin(void)
{
	static const char *why = "not tried";
	void *library;

	if (!why || strcmp(why, "not tried") != 0)
		return why;
	library = dlopen("libpfm.so.4", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return why = "libpfm4 is not installed, so the names of this processor's events are not known "
			     "(Debian: libpfm4)";
	*(void **)&pfm.initialize = dlsym(library, "pfm_initialize");
	*(void **)&pfm.strerror = dlsym(library, "pfm_strerror");
	*(void **)&pfm.encode = dlsym(library, "pfm_get_os_event_encoding");
	*(void **)&pfm.pmu_info = dlsym(library, "pfm_get_pmu_info");
	*(void **)&pfm.event_info = dlsym(library, "pfm_get_event_info");
	*(void **)&pfm.attr_info = dlsym(library, "pfm_get_event_attr_info");
	*(void **)&pfm.event_next = dlsym(library, "pfm_get_event_next");
	if (!pfm.initialize || !pfm.strerror || !pfm.encode || !pfm.pmu_info || !pfm.event_info ||
	    !pfm.attr_info || !pfm.event_next)
		return why = "the libpfm4 that is installed lacks functions of version 4.8";
	return why = pfm.initialize() == PFM_SUCCESS
			     ? NULL
			     : "libpfm4 does not know this processor, so it has no names of its events";
}

bool sn_pfm_encode(const char *name, struct sn_counter_spec *out, const char **why)
{
	struct perf_event_attr attr = { .size = sizeof attr };
	pfm_perf_encode_arg_t argument = { .attr = &attr, .size = sizeof argument };
	pfm_err_t status;

	*why = pfm_begin();
	if (*why)
		return false;
	status = pfm.encode(name, PFM_PLM3, PFM_OS_PERF_EVENT, &argument);
	if (status != PFM_SUCCESS) {
		*why = pfm.strerror(status);
		return false;
	}
	out->type = attr.type;
	out->config = attr.config;
	out->config1 = attr.config1;
	out->config2 = attr.config2;
	return true;
}

static void list_event(const pfm_event_info_t *event,
		       void (*take)(void *context, const char *name, const char *words),
		       void *context)
{
	unsigned umasks = 0;
	char name[256];

	for (int a = 0; a < event->nattrs; a++) {
		pfm_event_attr_info_t attr = { .size = sizeof attr };

		if (pfm.attr_info(event->idx, a, PFM_OS_PERF_EVENT, &attr) != PFM_SUCCESS ||
		    attr.type != PFM_ATTR_UMASK)
			continue;
		umasks++;
		snprintf(name, sizeof(name), "%s:%s", event->name, attr.name);
		take(context, name, attr.desc ? attr.desc : "");
	}
	if (!umasks)
		take(context, event->name, event->desc ? event->desc : "");
}

const char *sn_pfm_list(void (*take)(void *context, const char *name, const char *words),
			void *context)
{
	const char *why = pfm_begin();

	for (int p = 0; !why && p < PFM_PMU_MAX; p++) {
		pfm_pmu_info_t pmu = { .size = sizeof pmu };

		if (pfm.pmu_info((pfm_pmu_t)p, &pmu) != PFM_SUCCESS || !pmu.is_present ||
		    pmu.type != PFM_PMU_TYPE_CORE)
			continue;
		for (int i = pmu.first_event; i != -1; i = pfm.event_next(i)) {
			pfm_event_info_t event = { .size = sizeof event };

			if (pfm.event_info(i, PFM_OS_PERF_EVENT, &event) == PFM_SUCCESS)
				list_event(&event, take, context);
		}
	}
	return why;
}

#else

static const char NO_PFM[] =
	"this sonde was built without libpfm4, so the names of the processor's events are "
	"not known; rUUEE (umask and event in hex) is";

bool sn_pfm_encode(const char *name, struct sn_counter_spec *out, const char **why)
{
	(void)name, (void)out;
	*why = NO_PFM;
	return false;
}

const char *sn_pfm_list(void (*take)(void *context, const char *name, const char *words),
			void *context)
{
	(void)take, (void)context;
	return NO_PFM;
}

#endif

/**
 * How the launcher tells the runtime what to do: two variables in the target's environment.
 *
 *   LD_PRELOAD     our library first, then what the user had: "LIB" if the user had none,
 *                  "LIB:" if the user's was set but empty, "LIB:REST" otherwise. The path of LIB
 *                  has no space, colon or '$'.
 *   SONDE_RUNTIME  "key=value;key=value;...;dir=PATH": every key is optional but dir, which comes
 *                  last because it reaches to the end of the string. Values have no semicolon.
 *
 * The launcher appends both at the end of the environment (LD_PRELOAD in place if the user had
 * one), so the order of the others stays. The constructor takes both out again, and the wrappers of
 * exec and its kin put them back. Unknown keys are ignored.
 */
#ifndef SN_WIRE_SETTINGS_H
#define SN_WIRE_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include "wire/counters.h"

#define SN_SETTINGS_VARIABLE "SONDE_RUNTIME"

enum { SN_SETTINGS_PATH_MAX = 1024, SN_SETTINGS_PATTERN_MAX = 256 };

enum sn_follow {
	SN_FOLLOW_ALL,	/* forks and execs */
	SN_FOLLOW_FORK, /* forks, and no new program */
	SN_FOLLOW_EXEC, /* new programs, and no fork that stays in the same program */
	SN_FOLLOW_NONE, /* the first process image only */
	SN_FOLLOW_REGEX /* forks, and programs whose path matches */
};

/** Every event; sums by call path; a sample of blocks. Stored (wire/heap.h). */
enum sn_heap_mode { SN_HEAP_OFF, SN_HEAP_TRACE, SN_HEAP_AGGREGATE, SN_HEAP_SAMPLE };
/** SAMPLE: of a thread's calls that come fast some, drawn by chance. */
enum sn_io_mode { SN_IO_OFF, SN_IO_TRACE, SN_IO_SAMPLE };
/** CALIBRATED: the runtime finds the least wait itself. */
enum sn_sync_mode { SN_SYNC_OFF, SN_SYNC_TRACE, SN_SYNC_CALIBRATED };

struct sn_settings {
	uint64_t period_ns; /* period=: CPU time between samples; 0: no sampling; default 1000700 */
	/* later=, burst=: once a thread has used burst_ns, the time between samples is period_later_ns
	 * (record --clock auto); 0: it stays */
	uint64_t period_later_ns, burst_ns;
	/* wait=: shorter waits are not recorded; default 50000; 0: waits off */
	uint64_t wait_min_ns;
	uint64_t packets_ns;   /* packets=: from one sample packet to the next; default 1 s */
	uint64_t chunks_max;   /* chunks=: a file never grows beyond this; 0: no limit */
	uint32_t pause_signal; /* pause=: number of the signal that pauses and resumes; 0: none */
	uint32_t is_paused;    /* paused=1: start paused; the launcher says when it is over */
	/* mechanism=: enum sn_mechanism to begin the ladder with (tests) */
	uint32_t mechanism_first;
	uint32_t stack_max_frames; /* depth=: default 4096 */
	uint32_t is_again;	   /* again=1: put there by the runtime when the target execs */
	uint32_t is_blocked;	   /* blocked=1: likewise: the target had our signal blocked */
	uint64_t used_user_ns;	   /* user=, system=: likewise: CPU time used before the exec */
	uint64_t used_system_ns;
	uint32_t is_same_process;     /* user= was there: an image before this one was measured */
	uint32_t is_openmp_off;	      /* openmp=0 turns the stitching off */
	uint32_t heap;		      /* heap=: enum sn_heap_mode */
	uint64_t heap_interval_bytes; /* heapint=: with SN_HEAP_SAMPLE */
	uint32_t mpi;		      /* mpi=1: calls of MPI are traced */
	uint32_t sync;		      /* sync=: enum sn_sync_mode */
	uint64_t sync_min_ns; /* syncmin=: with SN_SYNC_TRACE, shorter waits count as none */
	uint32_t io;	      /* io=: enum sn_io_mode */
	uint32_t openmp;      /* omp=1: regions and constructs of OpenMP are traced */
	uint32_t
		planned_loops; /* plans=: loops of the plans in dir (wire/plan.h); 0: there are none */
	uint32_t plan_kinds; /* plankinds=: bits of enum sn_plan_kind, what they have copies for */
	uint32_t is_causal;  /* causal=1: dir has a control page (wire/causal.h) */
	uint32_t is_monitored; /* monitor=1: an agent says when sources are on (wire/monitor.h) */
	uint32_t every;	  /* every=: one in so many instances is timed; 0: found while running */
	uint32_t threads; /* threads=: enum sn_variant_threads, whose instances have variants */
	uint32_t budget;  /* budget=: percent of CPU time that variants of loops may take */
	uint32_t counter_count;
	struct sn_counter_spec counters[SN_COUNTERS_MAX]; /* counters=: as wire/counters.h says */
	enum sn_follow follow;				  /* follow=all|fork|exec|none|regex */
	char pattern[SN_SETTINGS_PATTERN_MAX];		  /* regex=: POSIX extended; no semicolon */
	char dir[SN_SETTINGS_PATH_MAX]; /* dir=: absolute; must exist and be writable */
};

static inline int sn_settings_key_is(const char *text, const char *key)
{
	while (*key != '\0' && *text == *key) {
		text++;
		key++;
	}
	return *key == '\0' && *text == '=';
}

static inline const char *sn_settings_number(const char *text, uint64_t *out)
{
	uint64_t value = 0;
	while (*text >= '0' && *text <= '9' && value < UINT64_MAX / 16)
		value = value * 10 + (uint64_t)(*text++ - '0');
	*out = value;
	return text;
}

static inline void sn_settings_copy(char *out, size_t out_bytes, const char *text, char end)
{
	size_t length = 0;
	while (text[length] != '\0' && text[length] != end && length + 1 < out_bytes) {
		out[length] = text[length];
		length++;
	}
	out[length] = '\0';
}

static inline enum sn_follow sn_settings_follow(const char *text)
{
	switch (text[0]) {
	case 'f':
		return SN_FOLLOW_FORK;
	case 'e':
		return SN_FOLLOW_EXEC;
	case 'n':
		return SN_FOLLOW_NONE;
	case 'r':
		return SN_FOLLOW_REGEX;
	default:
		return SN_FOLLOW_ALL;
	}
}

static inline void sn_settings_default(struct sn_settings *settings)
{
	*settings = (struct sn_settings){ .period_ns = 1000700,
					  .packets_ns = 1000000000,
					  .wait_min_ns = 50000,
					  .stack_max_frames = 4096 };
}

/** Reads the variable's value. Returns 0 if there is no dir, which makes the settings useless. */
static inline int sn_settings_parse(const char *text, struct sn_settings *settings)
{
	sn_settings_default(settings);
	while (*text != '\0') {
		const char *value = text;
		uint64_t number;

		if (*text == ';') {
			text++;
			continue;
		}
		while (*value != '\0' && *value != '=')
			value++;
		if (*value == '\0')
			break;
		value++;
		if (sn_settings_key_is(text, "dir")) {
			sn_settings_copy(settings->dir, sizeof settings->dir, value, '\0');
			break;
		}
		(void)sn_settings_number(value, &number);
		if (sn_settings_key_is(text, "period"))
			settings->period_ns = number;
		else if (sn_settings_key_is(text, "later"))
			settings->period_later_ns = number;
		else if (sn_settings_key_is(text, "burst"))
			settings->burst_ns = number;
		else if (sn_settings_key_is(text, "wait"))
			settings->wait_min_ns = number;
		else if (sn_settings_key_is(text, "chunks"))
			settings->chunks_max = number;
		else if (sn_settings_key_is(text, "pause"))
			settings->pause_signal = (uint32_t)number;
		else if (sn_settings_key_is(text, "paused"))
			settings->is_paused = (uint32_t)number;
		else if (sn_settings_key_is(text, "mechanism"))
			settings->mechanism_first = (uint32_t)number;
		else if (sn_settings_key_is(text, "again"))
			settings->is_again = (uint32_t)number;
		else if (sn_settings_key_is(text, "blocked"))
			settings->is_blocked = (uint32_t)number;
		else if (sn_settings_key_is(text, "user"))
			settings->used_user_ns = number, settings->is_same_process = 1;
		else if (sn_settings_key_is(text, "system"))
			settings->used_system_ns = number;
		else if (sn_settings_key_is(text, "depth"))
			settings->stack_max_frames = (uint32_t)number;
		else if (sn_settings_key_is(text, "openmp"))
			settings->is_openmp_off = number == 0;
		else if (sn_settings_key_is(text, "heap"))
			settings->heap = (uint32_t)number;
		else if (sn_settings_key_is(text, "heapint"))
			settings->heap_interval_bytes = number;
		else if (sn_settings_key_is(text, "mpi"))
			settings->mpi = number != 0;
		else if (sn_settings_key_is(text, "packets"))
			settings->packets_ns = number;
		else if (sn_settings_key_is(text, "sync"))
			settings->sync = (uint32_t)number;
		else if (sn_settings_key_is(text, "syncmin"))
			settings->sync_min_ns = number;
		else if (sn_settings_key_is(text, "io"))
			settings->io = (uint32_t)number;
		else if (sn_settings_key_is(text, "omp"))
			settings->openmp = number != 0;
		else if (sn_settings_key_is(text, "monitor"))
			settings->is_monitored = number != 0;
		else if (sn_settings_key_is(text, "plans"))
			settings->planned_loops =
				(uint32_t)(number < UINT32_MAX ? number : UINT32_MAX);
		else if (sn_settings_key_is(text, "plankinds"))
			settings->plan_kinds = (uint32_t)(number & 7);
		else if (sn_settings_key_is(text, "causal"))
			settings->is_causal = number != 0;
		else if (sn_settings_key_is(text, "every"))
			settings->every = (uint32_t)(number < UINT32_MAX ? number : UINT32_MAX);
		else if (sn_settings_key_is(text, "budget"))
			settings->budget = (uint32_t)(number < 1000 ? number : 1000);
		else if (sn_settings_key_is(text, "threads"))
			settings->threads = (uint32_t)(number < 3 ? number : 0);
		else if (sn_settings_key_is(text, "counters"))
			settings->counter_count = sn_counters_parse(value, settings->counters);
		else if (sn_settings_key_is(text, "follow"))
			settings->follow = sn_settings_follow(value);
		else if (sn_settings_key_is(text, "regex"))
			sn_settings_copy(settings->pattern, sizeof settings->pattern, value, ';');
		while (*value != '\0' && *value != ';')
			value++;
		text = *value == ';' ? value + 1 : value;
	}
	return settings->dir[0] != '\0';
}

#endif

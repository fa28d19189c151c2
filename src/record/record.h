/**
 * Recording. It starts the target with the runtime in it, looks after its data, and leaves a whole
 * experiment whatever happens to the target.
 */
#ifndef SN_RECORD_RECORD_H
#define SN_RECORD_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/text.h"
#include "record/counters.h"

struct sn_steer; /* record/steer.h */

/** A plan (wire/plan.h) for the module of this identity. */
struct sn_record_plan {
	const char *id;
	const char *bytes;
	size_t length;
};

struct sn_record_options {
	char *const
		*arguments; /* the target's words, ended by NULL; [0] is looked up as exec does */
	pid_t pid;	    /* not 0: a process that runs already; `arguments` is not used */
	/* the kernel on all CPUs is measured, while the target runs or (pid -1) until --duration is over or a signal
	 * says so; the target itself is not */
	bool kernel;
	bool kernel_with_user; /* user code of all processes, too, as one row */
	const char *output;    /* -o, or NULL */
	const char *
		named_after; /* the program that `output` NULL makes a name of; NULL: the first word */
	const char *key;   /* of the launch whose experiment this one is part of; NULL: found out */
	const char *label; /* or NULL */
	const char *clock; /* as given: "hi", "250", ...; for the launch file */
	double rate_hz;	   /* 0: no sampling */
	bool is_rate_auto; /* after a thread's beginning, the rate that costs little here */
	const char *follow;	    /* "all", "fork", "exec", "none" or "=REGEX" */
	double delay_s, duration_s; /* 0: from the start, to the end */
	uint64_t max_bytes;	    /* 0: no limit */
	bool is_scratch;   /* nothing of it is kept: live data lie in the experiment itself */
	bool has_accesses; /* copies of loops record accesses: much data, which lie on disk */
	bool without_heap; /* but no allocations, which name the blocks that were accessed */
	unsigned heap;	   /* --heap: enum sn_heap_mode (wire/settings.h) */
	uint64_t heap_interval_bytes; /* with SN_HEAP_SAMPLE */
	bool mpi;		      /* --mpi: calls of MPI are traced */
	double packets_s;	      /* from one sample packet to the next */
	bool has_sync;		      /* locks are traced ... */
	bool sync_is_calibrated;      /* ... waits that last six times as long as a lock takes */
	double sync_min_us;	      /* ... waits of at least so long; 0: all */
	bool has_io;		      /* input and output are traced ... */
	bool io_is_sampled;	      /* ... of calls that come fast, some */
	bool has_openmp;	      /* regions and constructs of OpenMP are traced */
	struct sn_counters counters;  /* -e, and those of --collect faults */
	bool has_faults;	      /* --collect faults, or all */
	bool has_all;		      /* --collect all */
	bool without_counters;	      /* -e could not be had, and --fallback clock was given */
	int pause_signal;	      /* sent to this command; 0: none */
	int packet_signal;	      /* likewise: a sample packet; 0: none */
	bool starts_paused;	      /* until pause_signal, or the program's sonde_resume */
	bool without_source;	      /* keep no source text in the experiment */
	const char *const *debug_folders;
	size_t debug_folder_count;
	bool ask_debuginfod;
	/* loops of these modules run as copies that count themselves */
	const struct sn_record_plan *plans;
	size_t plan_count;
	/* the target's standard output and error (each -1: as they are); NULL: they are this command's */
	const int *standard_fds;
	/* an agent says when the sources are on (wire/monitor.h) */
	bool is_monitored;
	/* called when the live folder is there and before the target starts; NULL: nothing to do */
	void (*prepared)(void *context, const char *live_folder, const char *experiment_path);
	void (*round)(
		void *context);	  /* called every few milliseconds while the target runs, or NULL */
	void *context;		  /* of both */
	bool is_first_of_several; /* a pass that a later one needs: not named by -o */
	struct sn_steer *steer;	  /* threads are held up as this says; NULL: not */
	/* a run of which nothing is kept: its folder, which the caller removes; NULL: an experiment */
	const char *scratch;
	uint32_t budget_percent;  /* that variants of loops may take; 0: no limit */
	uint32_t variant_threads; /* enum sn_variant_threads */
	uint32_t every;		  /* one in so many instances is timed; 0: found while running */
};

struct sn_record_result {
	int exit_code;	 /* the target's (128+n for a signal; ranks end by it), or 125, 126, 127 */
	int exit_signal; /* that ended the target; 0: none */
	/* this command got a signal that asks for an end (SIGINT, SIGTERM, SIGHUP, SIGQUIT); whatever the
	 * target made of it */
	bool was_told_to_end;
	struct sn_text experiment_path;
	uint64_t data_bytes;
	int64_t elapsed_ns;	  /* of the target */
	int32_t rank;		  /* of this record in an MPI launch; -1: none */
	bool is_joined;		  /* another record of the launch made the folder */
	uint32_t copied_loops;	  /* that ran as copies: the most of a process */
	bool have_accesses_ended; /* accesses were not recorded to the end, for want of space */
};

/** Runs the target to its end. A process that runs already is sampled until it ends, --duration is
 * over, or a signal says so (exit code 0). Not SN_OK: the target was not started (exit_code says
 * 125, 126 or 127). What went wrong after its start is in the experiment's warnings. */
sn_status sn_record_run(const struct sn_record_options *options, struct sn_record_result *result,
			struct sn_error *err);

/** Writes the extracts of every module that was sampled, so that the experiment stands alone.
 * Failures are warnings to standard error: the data are safe without it. */
void sn_record_extracts(const char *experiment_path, const struct sn_record_options *options);

/** Adds to the experiment's launch file what this command has used since sn_record_run wrote it: writing
 * extracts, and what else comes after the program's end. A launch of another command stays as it is. */
void sn_record_cost_add(const char *experiment_path);

#endif

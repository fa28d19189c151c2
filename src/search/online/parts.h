/** What the files of this folder share. */
#ifndef SN_SEARCH_ONLINE_PARTS_H
#define SN_SEARCH_ONLINE_PARTS_H

#include <signal.h>

#include "base/progress.h"
#include "search/online/again.h"
#include "search/online/online.h"
#include "search/online/phase.h"
#include "search/online/spool.h"

/** What measuring took, over the CPU time that was measured. */
double sn_online_overhead(const struct sn_analysis *analysis);

/** Executions that a step measures: half a second of them. */
uint32_t sn_executions_wanted(double mean_s);
/** As many as are to be measured instead of a window that has less than half of that; 0: it has enough. */
uint32_t sn_executions_lacking(const struct sn_mri_window *window);
/** How long the end of a step may stop a process. */
int64_t sn_suspend_ns(enum sn_suspend suspend);

/* ---- phases.c ---- */

typedef SN_VEC(struct sn_mri_window) sn_windows;

/** What a further start has measured, of the whole program. */
struct sn_executions_further {
	const struct sn_source *source;
	struct sn_analysis *analysis; /* owned, as is the next */
	struct sn_recorded *values;
};

/** A search over windows, those of one step at a time, wherever they come from. */
struct sn_executions {
	const struct sn_online_options *options;
	const struct sn_phase *phase; /* borrowed */
	const char *experiment_path;
	/** The next windows, one a host; false: there are no more. The callee's to free. */
	bool (*next)(struct sn_executions *phases, sn_windows *out);
	bool is_one_host_of_several; /* of the experiment only what the windows have is looked at */
	/** After each step; NULL: nobody wants to know. */
	void (*found)(struct sn_executions *phases, const struct sn_search *search);
	void *context;
	SN_VEC(struct sn_executions_part *) parts; /* of the steps so far, and in the end of all */
	SN_VEC(sn_windows) measured;		   /* by step that had any */
	uint32_t executions;
	double measured_s;
	uint32_t available; /* bit i: sn_sources[i] is traced where a step asks for it */
	uint32_t
		period_times; /* samples are so many times as far apart as the recording has them; 0: as it does */
	uint32_t asked;		/* those that steps have asked for: they stay on */
	uint32_t refused;	/* bit i: sn_sources[i] was traced and took more than the budget */
	struct sn_again *again; /* for what takes further starts; NULL: there are none */
	SN_VEC(struct sn_executions_further) further;
	uint32_t ended; /* executions of the program, measured or not; 0: not known */
};

/** Searches. SN_ERR_NO_DATA: there was no window. */
sn_status sn_executions_search(struct sn_executions *phases, struct sn_search **out,
			       struct sn_error *err);
void sn_executions_free(struct sn_executions *phases);

/* ---- words.c ---- */

/** Writes what `sonde search --resume` needs into a search's folder (online.h). */
sn_status sn_online_words_write(const char *folder, const struct sn_online_options *options,
				struct sn_error *err);

/* ---- agent.c ---- */

struct sn_agent_options {
	const struct sn_online_options *online;
	const struct sn_phase *phase;
	const char *live_folder; /* NULL: as the search's folder says */
	const char *experiment_path, *host;
	const char *node_name; /* of one of several hosts; NULL: there is one */
	bool is_local;	       /* all of them are this machine */
};

/** Starts the host's agent: a daemon of two processes, without open descriptors, in a session of its own.
 *  The one is the guardian of the other, and of the inner agents that the host has. It ends when the search or the program
 *  does. */
sn_status sn_agent_start(const struct sn_agent_options *options, struct sn_error *err);
/** The same as this process, until the search is over. */
void sn_agent_guard(const struct sn_agent_options *options);
/** Waits until an agent has beaten in a live folder. */
sn_status sn_agent_wait(const char *live_folder, const char *host, double most_s,
			struct sn_error *err);

/* ---- hosts.c, join.c ---- */
sn_status sn_online_hosts(const struct sn_online_options *options, struct sn_online *out,
			  struct sn_error *err);
void sn_hosts_free(struct sn_hosts *hosts);

/* ---- restart.c, phases.c ---- */
/** Gives the signals back that a recording has blocked (`mask`: those that were blocked before it), as another
 *  start may follow. What ended the program came to us too, and is dropped: true if there was such a one. */
bool sn_online_signals_restore(const sigset_t *mask);
sn_status sn_online_restart(const struct sn_online_options *options, struct sn_online *out,
			    struct sn_error *err);
/** The result of a search whose front was killed, of what its agent has left. */
sn_status sn_phases_again(const struct sn_online_options *options, const char *folder,
			  struct sn_online *out, struct sn_error *err);
/** That a program died of a signal is said, by its exit code as the shell has it. */
void sn_online_death_tell(const struct sn_online_options *options, int exit_code);
/** That values of a source are refused is said, with the budget that would take them; `path`: of which start, or NULL. */
void sn_online_refusal_tell(const char *source, const char *path, double share, double budget);
/** Whether a further start failed: it ended with a status other than 0 that the first one did not end with, or by a signal.
 *  Its values are left out then, which is said unless `is_quiet`. */
bool sn_online_start_failed(const struct sn_experiment *start, const struct sn_experiment *first,
			    const char *source, bool is_quiet);
/** The line that tells on a terminal which start runs, of what, and for how long; `first`: a start of the program that is
 *  over, or NULL. `words` keeps the text until the line ends. */
void sn_online_progress_begin(struct sn_progress *progress, struct sn_text *words, uint32_t start,
			      const char *what, const struct sn_experiment *first);
/** The same while a program runs whose phases an agent measures. */
void sn_online_phases_begin(struct sn_progress *progress, struct sn_text *words,
			    const struct sn_phase *phase);
/** Plans code for the phase. SN_ERR_UNSUPPORTED: it is a place where none can be, and this machine has no breakpoints that are hit. */
sn_status sn_online_phase_check(struct sn_phase *phase, struct sn_error *err);
void sn_online_front_free(struct sn_online_front *front);
sn_status sn_online_phases(const struct sn_online_options *options, struct sn_online *out,
			   struct sn_error *err);
/** With a phase that is known, which becomes the result's; it leaves an empty one. */
sn_status sn_online_phases_at(const struct sn_online_options *options, struct sn_phase *phase,
			      struct sn_online *out, struct sn_error *err);

#endif

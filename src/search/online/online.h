/**
 * A search of a program that it runs: it measures what its steps ask for.
 *
 * With a phase, an agent beside the program measures executions of it while it runs, anew for each step;
 * between them the sources are off. Without one the whole program is the phase: it is started once with
 * what costs little (samples, waits, the kernel's account), and again, with the same words and input,
 * for candidates that lack a source which a recording has to be told of.
 */
#ifndef SN_SEARCH_ONLINE_ONLINE_H
#define SN_SEARCH_ONLINE_ONLINE_H

#include "profile/analysis.h"
#include "record/record.h"
#include "search/engine/search.h"

/** Whether the program is stopped at the end of what a step measures. */
enum sn_suspend {
	SN_SUSPEND_BRIEF,  /* for 50 ms at most */
	SN_SUSPEND_ALWAYS, /* until the next step is known, as the paper's */
	SN_SUSPEND_NEVER,
};

/** What a first start shows to repeat is the phase of another one (found.h). */
#define SN_PHASE_AUTO "auto"

struct sn_online_options {
	struct sn_record_options record;     /* of the first start */
	struct sn_analysis_options analysis; /* may be all NULL */
	const struct sn_library *library;    /* borrowed */
	const struct sn_sim_config
		*caches; /* that traces are replayed through; NULL: this machine's */
	struct sn_search_options search; /* without what measures: that is filled in */
	const char *phase;   /* --phase; NULL: the whole program; SN_PHASE_AUTO: what repeats */
	const char *program; /* the one that has the phase, which a launcher may start */
	enum sn_suspend suspend;
	uint32_t restarts;	 /* starts after the first, at most */
	uint32_t phase_restarts; /* the same behind executions of a phase */
	double max_time_s;	 /* no start after so long; 0: no limit */
	double budget; /* what a further start's source may take of the CPU time, beside samples, else its values are refused */
	int output_fd; /* where the last start's standard output goes */
	bool is_quiet;
	/* An agent on each host of the program: how they are started (hosts.c). NULL: one, on this host. */
	const char *agents;
	uint32_t fanout; /* children of an inner agent (tree.h) */
	const char
		*hosts; /* file of those that are to take part (host_list.h); NULL: whoever comes */
	const char *const
		*passed; /* words of options but --phase that hosts need too, ended by NULL */
};

struct sn_online {
	struct sn_analysis *analysis; /* of the first start's experiment */
	struct sn_recorded *recorded;
	struct sn_search *search;
	struct sn_executions *phases; /* what a search with a phase stands on, else NULL */
	struct sn_online_front *front;
	struct sn_hosts *hosts; /* of a search with an agent on each host, else NULL */
	struct sn_text path;	/* of the experiment that it leaves */
	bool has_run;		/* the program was started */
	int exit_code;		/* of the program's last start; 125, 126, 127: none came about */
};

/** Not SN_OK: the program was not started (SN_EXIT_NOT_MEASURED and the like in `exit_code`), or
 *  what it left cannot be searched; then its exit code is there, too. Free in any case. */
sn_status sn_online_run(const struct sn_online_options *options, struct sn_online *out,
			struct sn_error *err);
void sn_online_free(struct sn_online *online);

/** Whether agents can be started so: auto, local, ssh, srun, or the words of a launcher, as a shell splits them, whose
 *  first is a program; {host} stands for a host. SN_ERR_USAGE: not. */
sn_status sn_hosts_agents_check(const char *agents, struct sn_error *err);

/** The words that a search with a phase has left in its folder: options that a result needs, then the program; false: there
 *  are none. The caller frees with sn_vec_free_owned in any case. */
bool sn_online_words_read(const char *folder, sn_strings *out);
/** The result of such a search (an absolute path) whose front was killed, of what is left of it. SN_ERR_USAGE: its front is
 *  still there. SN_ERR_NO_DATA: nothing was measured. Free in any case. */
sn_status sn_online_again(const struct sn_online_options *options, const char *folder,
			  struct sn_online *out, struct sn_error *err);

/** Takes part in the search of a folder (an absolute path). By `agents`: "auto", the program is run and recorded, and the
 *  first on its host starts the host's agent; "wait", the same, but somebody else does so; "alone", this process is
 *  the agent; SN_JOIN_RECORD, the program is run and recorded, and there are no agents. Returns the exit status. */
#define SN_JOIN_RECORD "record"
int sn_online_join(const struct sn_online_options *options, const char *folder);

#endif

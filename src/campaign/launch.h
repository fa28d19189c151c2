/**
 * Starting one command of a campaign, waiting for it, and stopping it: a build, or a run under its
 * launcher. Each is the leader of a process group of its own, has no input, and is told to end if we die.
 */
#ifndef SN_CAMPAIGN_LAUNCH_H
#define SN_CAMPAIGN_LAUNCH_H

#include <signal.h>

#include "base/words.h"
#include "campaign/campaign.h"

/** A command that is about to start: words, working directory, what it adds to the environment. */
struct sn_command_line {
	struct sn_words words;
	const char *directory;
	SN_VEC(struct sn_campaign_variable) environment;
};

/** The words that run a configuration into the experiment at `experiment` (absolute), with its launcher.
 * `sonde` is the path of the command itself. Texts live in the arena; the vectors are the caller's. */
sn_status sn_campaign_command(const struct sn_campaign_plan *plan,
			      const struct sn_campaign_configuration *configuration,
			      const char *build_folder, const char *sonde, const char *experiment,
			      struct sn_arena *arena, struct sn_command_line *out,
			      struct sn_error *err);
/** The words that add what the plan's level asks for to the experiment of a run, with the launcher behind them:
 * `sonde analyze --level N --from EXPERIMENT [--loops WHICH] [--exclude LOOPS] -- LAUNCHER PROGRAM ARGUMENTS`, or where the plan has
 * ranks `... --launcher LAUNCHER -- PROGRAM ARGUMENTS`. Else as above. */
sn_status sn_campaign_level_command(const struct sn_campaign_plan *plan,
				    const struct sn_campaign_configuration *configuration,
				    const char *build_folder, const char *sonde,
				    const char *experiment, struct sn_arena *arena,
				    struct sn_command_line *out, struct sn_error *err);
/** The words of its build. The plan's environment is that of runs: a build has `env NAME=VALUE` before it
 * if it needs some. */
sn_status sn_campaign_build_command(const struct sn_campaign_configuration *configuration,
				    const char *build_folder, struct sn_arena *arena,
				    struct sn_command_line *out, struct sn_error *err);
void sn_command_line_free(struct sn_command_line *line);

/** A child that stands before its exec until it is let go. */
struct sn_child {
	pid_t pid;
	int go_fd;
	uint64_t start;	  /* clock ticks since boot */
	sigset_t signals; /* that are waited for */
};

/** Signals that a campaign stops for, and SIGCHLD: blocked from now on. */
void sn_campaign_signals_block(sigset_t *signals);

/** Forks. Output and errors of the command go to the two files (both may be one). */
sn_status sn_child_start(const struct sn_command_line *line, const char *output, const char *errors,
			 const sigset_t *signals, struct sn_child *out, struct sn_error *err);
/** Lets it run, or not at all; then it has ended. */
void sn_child_go(struct sn_child *child, bool shall_run);

enum sn_child_end { SN_CHILD_ENDED, SN_CHILD_TIMED_OUT, SN_CHILD_STOPPED };
/** Waits until it ends, so many seconds are over (0: no limit), or one of the signals stops us. In the
 * two last cases its whole group is ended: SIGTERM, and SIGKILL after some seconds. `*status` is 128+n
 * for a signal. */
enum sn_child_end sn_child_wait(struct sn_child *child, double timeout_s, int *status);

/** Removes a folder with what is in it, if it is there. */
void sn_folder_clear(const char *path);

/** Ends what is left of a run whose campaign was killed: the group of `pid`, if it is still the process
 * that began at `start` on this boot. */
void sn_orphan_end(pid_t pid, uint64_t start, const char *boot);

/** The last line of a file that says something, at most 200 bytes of it, printable. Of what stands between two rules
 * of dashes the first paragraph; what a launcher says there of the program that failed is passed over. */
void sn_last_words(const char *path, struct sn_text *out);
/** The first line of a build's output that speaks of an error, as the lines behind it follow from that one; the last
 * words where none does. Likewise at most 200 bytes. */
void sn_first_error(const char *path, struct sn_text *out);

#endif

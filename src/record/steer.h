/**
 * Causal experiments while the target runs: the control page (wire/causal.h) in the data folder, and a
 * thread of the launcher's that says which experiment is on. What the experiments are is not known here.
 */
#ifndef SN_RECORD_STEER_H
#define SN_RECORD_STEER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"
#include "wire/causal.h"

struct sn_steer {
	/* the caller's: the page as it begins, and what runs in a thread until the target ends (soon
	 * after `is_over` it must return). NULL: nothing does. */
	const struct sn_causal_control *first;
	void (*steer)(struct sn_steer *steer);
	void *context;
	atomic_bool is_over;
	/* the page as all share it, while the target runs */
	struct sn_causal_control *shared;
	/* as the target left it; valid when the recording is over */
	struct sn_causal_control *last;
	/* the rest is steer.c's */
	struct sn_text path;
	pthread_t thread;
	bool has_thread;
};

sn_status sn_steer_open(struct sn_steer *steer, const char *folder, struct sn_error *err);
/** The launcher is there: every second at least, or processes take it for killed, and hold nobody up any more.
 *  `steer` may be NULL, or not open. */
void sn_steer_tick(struct sn_steer *steer);
void sn_steer_begin(struct sn_steer *steer);
/** The target has ended: waits for the thread, and takes a copy of the page. */
void sn_steer_end(struct sn_steer *steer);
/** Removes the page from the data folder. `steer` may be NULL, or not open. */
void sn_steer_close(struct sn_steer *steer);
/** Frees `last`. */
void sn_steer_free(struct sn_steer *steer);

#endif

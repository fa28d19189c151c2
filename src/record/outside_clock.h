/**
 * Which part of the counts of task-clock events is CPU time.
 *
 * An event counts while its thread is on a CPU. The kernel's account of CPU time leaves out what
 * the CPU gave to interrupts and, by some kernels' configuration, what a virtual machine's host
 * took of it (steal): up to a tenth on a busy host. The process's CPU clock has that account. Of a
 * thread that runs it knows only as much as at the last tick.
 *
 * Nor is in a count what the kernel takes to switch to the thread and away: of one that switches 100,000 times a second
 * three tenths of its CPU time (Linux 6.18, a virtual machine).
 *
 * Counts become CPU time with samples. So what was claimed too much is taken off the next samples.
 */
#ifndef SN_RECORD_OUTSIDE_CLOCK_H
#define SN_RECORD_OUTSIDE_CLOCK_H

#include <stdint.h>

struct sn_outside_clock {
	double part;	  /* of the next counts is CPU time */
	double part_most; /* 1; more where threads switch often: switching itself is in no count */
	uint64_t told_count_ns;	  /* counts of samples so far */
	uint64_t told_ns;	  /* the CPU time that they were told as */
	uint64_t looked_count_ns; /* counts in all at the last look */
};

void sn_outside_clock_begin(struct sn_outside_clock *clock);

/** `counted_ns`: counts in all, told or not; `used_ns`: CPU time by the process's clock, which may
 *  be short of the truth by `slack_ns`. */
void sn_outside_clock_look(struct sn_outside_clock *clock, uint64_t counted_ns, uint64_t used_ns,
			   uint64_t slack_ns);

/** The last look, when the process has ended and its clock is exact. The counts that are left make
 * up for all that was claimed too much, as far as they go. */
void sn_outside_clock_end(struct sn_outside_clock *clock, uint64_t counted_ns, uint64_t used_ns);

/** The CPU time that the counts of one sample stand for. */
uint64_t sn_outside_clock_tell(struct sn_outside_clock *clock, uint64_t count_ns);

#endif

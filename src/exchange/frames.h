/** What the exporters share: a stack as a path of named frames. */
#ifndef SN_EXCHANGE_FRAMES_H
#define SN_EXCHANGE_FRAMES_H

#include "exchange/export.h"

/* Frames have one number: functions first, then loops. */
static inline uint32_t sn_frame_count(const struct sn_program *program)
{
	return (uint32_t)(program->functions.count + program->loops.count);
}

static inline bool sn_frame_is_loop(const struct sn_program *program, uint32_t frame)
{
	return frame >= program->functions.count;
}

/** "main", "loop file.c:4-9" (written into `room` of 512 bytes). */
const char *sn_frame_name(const struct sn_program *program, uint32_t frame, char *room);

struct sn_frames {
	uint32_t *items; /* outermost first */
	size_t count, capacity;
	struct sn_step_vec steps;
};

/** The frames of a stack, into a vector that is cleared before. */
void sn_frames_of_stack(const struct sn_program *program, uint32_t stack, bool with_loops,
			struct sn_frames *out);
void sn_frames_free(struct sn_frames *frames);

/** The number that samples without a known stack have in `profile->stacks`. */
static inline uint32_t sn_stack_number(const struct sn_program *program, uint32_t stack)
{
	return stack < program->stack_count ? stack : program->stack_count;
}

sn_status sn_export_speedscope(const struct sn_profile *profile,
			       const struct sn_export_options *options, FILE *out,
			       struct sn_error *err);
sn_status sn_export_pprof(const struct sn_profile *profile, const struct sn_export_options *options,
			  FILE *out, struct sn_error *err);
sn_status sn_export_callgrind(const struct sn_profile *profile,
			      const struct sn_export_options *options, FILE *out,
			      struct sn_error *err);
sn_status sn_export_chrome(const struct sn_profile *profile,
			   const struct sn_export_options *options, FILE *out,
			   struct sn_error *err);
/** Needs libotf2: SN_ERR_UNSUPPORTED without it. */
sn_status sn_export_otf2(const struct sn_profile *profile, const struct sn_export_options *options,
			 const char *folder, struct sn_error *err);

#endif

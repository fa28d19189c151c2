/**
 * How far code goes that nothing measures: hand-written functions without a size, and what follows
 * them (of this folder only).
 *
 * Control flow is followed from an entry. Its code ends where what is reached has a hole, unless a
 * conditional branch leads behind it (loops are aligned, tables of jumps are read by nobody). What
 * only a jump leads to may be another function's, which is called last.
 */
#ifndef SN_CODE_FLOW_END_H
#define SN_CODE_FLOW_END_H

#include "code/image.h"

struct sn_flow_stretch;

/** Code from `start` to `end`, or as much of it as is told apart at once. NULL: too much was
 * decoded already; what is left stays whole. `used` counts instructions decoded for one image. */
struct sn_flow_stretch *sn_flow_stretch_new(const struct sn_image *image, uint64_t start,
					    uint64_t end, uint32_t *used);
void sn_flow_stretch_free(struct sn_flow_stretch *stretch);

/** The end of the code that begins at `entry`; `entry` itself if no instruction stands there, the
 * end of the stretch if the code goes on there. */
uint64_t sn_flow_end(struct sn_flow_stretch *stretch, uint64_t entry);
/** Whether the latest walk met instructions alone: constants among code rarely look like it. */
bool sn_flow_is_sound(const struct sn_flow_stretch *stretch);
/** Whether this is the end of the stretch. */
bool sn_flow_is_end(const struct sn_flow_stretch *stretch, uint64_t at);
/** Whether a stretch that begins at `at` would see more of what follows. */
bool sn_flow_is_near_end(const struct sn_flow_stretch *stretch, uint64_t at);
/** The first byte from `at` on that is no padding. */
uint64_t sn_flow_skip_padding(const struct sn_flow_stretch *stretch, uint64_t at);

#endif

/**
 * Where hand-written functions without a size end, and what follows them. Of this folder only.
 *
 * Control flow is followed from an entry. The function's code ends at the first hole in what is
 * reached, unless a conditional branch leads behind the hole. (Loops are aligned, and jump tables
 * are not read here.) What only a jump reaches may belong to another function, which is called
 * last.
 */
#ifndef SN_CODE_FLOW_END_H
#define SN_CODE_FLOW_END_H

#include "code/image.h"

enum {
	SN_FLOW_STRETCH_MAX = 1 << 18,	    /**< bytes told apart at once */
	SN_FLOW_INSTRUCTIONS_MAX = 1 << 22, /**< decoded for one image: 0.1 s, 16 MB of code */
};

struct sn_flow_stretch;

/** Code from `start` to `end`, or as much of it as is looked at together. NULL: too much was
 * decoded already, and the rest stays whole. `used` counts the instructions decoded for one image. */
struct sn_flow_stretch *sn_flow_stretch_new(const struct sn_image *image, uint64_t start,
					    uint64_t end, uint32_t *used);
void sn_flow_stretch_free(struct sn_flow_stretch *stretch);

/** The end of the code that begins at `entry`; `entry` itself if no instruction stands there, the
 * end of the stretch if the code goes on there. */
uint64_t sn_flow_end(struct sn_flow_stretch *stretch, uint64_t entry);
/** Whether the latest walk met nothing but instructions. Constants among code rarely look like
 * instructions. */
bool sn_flow_is_sound(const struct sn_flow_stretch *stretch);
/** Whether this is the end of the stretch. */
bool sn_flow_is_end(const struct sn_flow_stretch *stretch, uint64_t at);
/** Whether a stretch that begins at `at` would see more of what follows. */
bool sn_flow_is_near_end(const struct sn_flow_stretch *stretch, uint64_t at);
/** The first byte from `at` on that is no padding. */
uint64_t sn_flow_skip_padding(const struct sn_flow_stretch *stretch, uint64_t at);

#endif

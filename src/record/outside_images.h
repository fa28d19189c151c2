/**
 * The images mapped in another process, ready to unwind through and described in MAP records.
 */
#ifndef SN_RECORD_OUTSIDE_IMAGES_H
#define SN_RECORD_OUTSIDE_IMAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/file.h"
#include "base/vec.h"
#include "unwind/unwind.h"
#include "wire/build_id.h"

struct sn_outside_image {
	uint64_t load_start, load_end, file_offset, load_bias;
	char *path; /* as /proc says, less " (deleted)" */
	struct sn_file_view view;
	struct sn_unwind_module module; /* load_end 0: cannot be unwound through */
	struct sn_unwind_index_entry *index;
	uint8_t build_id[SN_BUILD_ID_MAX];
	uint8_t build_id_bytes;
	uint8_t flags; /* enum sn_record_map_flags */
	bool is_there; /* at the last look */
	bool is_told;  /* its MAP record is written */
	bool is_gone;  /* its UNMAP record is written */
};

struct sn_outside_images {
	SN_VEC(struct sn_outside_image *) list;
	SN_VEC(struct sn_unwind_module) modules; /* sorted, for struct sn_unwind_target */
	uint32_t generation;
};

/** Looks at /proc/PID/maps: opens new images and marks those that are gone. False if the process is
 * gone. */
bool sn_outside_images_look(struct sn_outside_images *images, pid_t pid);
void sn_outside_images_free(struct sn_outside_images *images);

#endif

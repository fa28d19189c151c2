/** Walks through the accesses of a window in the order in which the loop made them. */
#ifndef SN_EXPERIMENT_ACCESSES_H
#define SN_EXPERIMENT_ACCESSES_H

#include "experiment/experiment.h"

/** One access to memory. */
struct sn_access {
	uint64_t link_addr, address;
	uint32_t size_bytes;
	uint32_t kind; /* enum sn_access_kind */
};

/** Where a walk is; begin with { window } and zeros. It borrows the window. */
struct sn_access_cursor {
	const struct sn_access_window *window;
	uint32_t group;	    /* index of the group's first record */
	uint32_t record;    /* in the group: the next */
	uint32_t iteration; /* of the group */
	bool has_more;	    /* a record of the group goes on behind this iteration */
};

/** The next access. False: there is none. */
static inline bool sn_access_next(struct sn_access_cursor *cursor, struct sn_access *access)
{
	const struct sn_access_window *window = cursor->window;

	while (cursor->group < window->record_count) {
		const struct sn_access_record *first = &window->records[cursor->group];
		const struct sn_access_record *record = first + cursor->record;

		if (cursor->record == first->group_length) {
			if (cursor->has_more) {
				cursor->iteration++;
			} else {
				cursor->group += first->group_length;
				cursor->iteration = 0;
			}
			cursor->record = 0;
			cursor->has_more = false;
			continue;
		}
		cursor->record++;
		if (cursor->iteration >= record->count)
			continue;
		if (record->count - cursor->iteration > 1)
			cursor->has_more = true;
		*access = (struct sn_access){
			.link_addr = record->link_addr,
			.address = record->address +
				   (uint64_t)record->stride_bytes * cursor->iteration,
			.size_bytes = record->size_bytes,
			.kind = record->kind,
		};
		return true;
	}
	return false;
}

#endif

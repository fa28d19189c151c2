/* Call paths of traces: nodes become stacks where events refer to them. */
#include "experiment/decode_parts.h"

enum { PATHS_MAX = 1 << 24 };

void sn_decode_path(struct image *image, const struct owner *owner,
		    const struct sn_record_path *record)
{
	struct path_node *node;

	if (record->id == 0 || record->id > PATHS_MAX || record->parent > PATHS_MAX) {
		image->damaged++;
		return;
	}
	while (image->paths.count <= record->id)
		sn_vec_push(&image->paths, (struct path_node){ 0 });
	node = &image->paths.items[record->id];
	node->parent = record->parent;
	node->pc = record->pc;
	if (!node->is_known)
		node->time_ns = bounded(owner->base_ns);
	node->is_known = true;
	node->is_site |= record->header.flags & SN_RECORD_PATH_SITE;
}

/* All frames are return addresses. The leaf's becomes an address within the call, which is what a leaf
 * is everywhere else. */
static uint32_t stack_of_path(struct image *image, uint32_t id)
{
	int64_t time_ns = image->paths.items[id].time_ns;

	image->frames.count = 0;
	while (id && id < image->paths.count && image->paths.items[id].is_known &&
	       image->frames.count < FRAMES_MAX) {
		const struct path_node *node = &image->paths.items[id];
		bool is_leaf = image->frames.count == 0;

		sn_decode_frame_push(image, node->pc - is_leaf, is_leaf, time_ns);
		id = node->parent;
	}
	return sn_experiment_add_stack(image->decoder->experiment, image->process,
				       image->frames.items, (uint32_t)image->frames.count,
				       SN_STACK_COMPLETE);
}

void sn_decode_paths_take(struct image *image)
{
	struct sn_experiment *e = image->decoder->experiment;

	for (uint32_t id = 1; id < image->paths.count; id++) {
		struct path_node *node = &image->paths.items[id];

		if (!node->is_site)
			continue;
		node->stack = stack_of_path(image, id);
		sn_vec_push(&e->trace_paths,
			    (struct sn_trace_path){ image->process, id, node->stack });
	}
}

uint32_t sn_decode_path_stack(const struct image *image, uint32_t id)
{
	return id && id < image->paths.count && image->paths.items[id].is_site
		       ? image->paths.items[id].stack
		       : SN_NONE;
}

/*
 * What the parts of the decoder share: one process image being decoded. Two passes over its records
 * (decode_walk.c): what others refer to (decode_facts.c), then samples and waits
 * (decode_samples.c).
 */
#ifndef SN_EXPERIMENT_DECODE_PARTS_H
#define SN_EXPERIMENT_DECODE_PARTS_H

#include "base/map.h"
#include "base/vec.h"
#include "experiment/decode.h"
#include "wire/accesses.h"
#include "wire/counters.h"
#include "wire/data.h"
#include "wire/variants.h"

enum { FRAMES_MAX = 1 << 16, SEGMENTS_MAX = 1 << 12, SN_SIGNAL_MOST = 64 };

/* One stack segment of the file, and what became of it. */
struct segment {
	const struct sn_record_stack *record; /* NULL: no such id */
	uint32_t id, stack;		      /* index in the experiment, SN_NONE: not yet */
};

struct raw_mapping {
	uint64_t load_start, load_end, load_bias;
	int64_t map_ns, unmap_ns; /* CLOCK_MONOTONIC */
	uint32_t module;
};

/* What is known of a thread while its image is being decoded. */
struct thread_facts {
	bool has_end;
	int64_t seen_ns; /* latest look at it by the launcher; INT64_MIN: none */
	uint64_t sampled_user_ns, sampled_system_ns;
};

/* A call path of a trace; its id is its place. */
struct path_node {
	uint32_t parent;
	bool is_known, is_site;
	uint64_t pc;
	int64_t time_ns;
	uint32_t stack; /* after the first pass, of those that events refer to */
};

/* A loop's table, as its parts come. */
struct access_bytes {
	uint32_t loop, total, have;
	uint8_t *bytes;
};

/* The window of a thread that has begun. */
struct access_words {
	bool is_open, is_cut;
	uint32_t loop, stack;
	uint64_t number;
	int64_t begin_ns, end_ns;
	SN_VEC(uint64_t) words;
};

/* One process image being decoded. */
struct image {
	struct sn_decoder *decoder;
	const struct sn_data_header *header;
	const uint8_t *bytes;
	uint32_t chunk_count;
	uint32_t process; /* index */
	uint32_t first_thread;
	int64_t offset_ns;	     /* to be added to its times */
	struct sn_map segment_index; /* id -> index in segments + 1 */
	SN_VEC(struct segment) segments;
	SN_VEC(struct raw_mapping) mappings; /* by load_start, then map_ns */
	SN_VEC(const char *) arguments;
	bool has_title;					       /* in place of the arguments */
	SN_VEC(struct sn_frame) frames;			       /* scratch */
	SN_VEC(struct thread_facts) facts;		       /* by thread index */
	SN_VEC(const struct sn_record_thread_account *) tasks; /* the launcher's, by tid */
	SN_VEC(struct path_node) paths;
	SN_VEC(struct access_bytes) access_tables;
	SN_VEC(struct access_words) access_words; /* by thread index */
	SN_VEC(size_t) open_waits;		  /* in the experiment's waits */
	uint32_t events
		[SN_COUNTERS_MAX]; /* by a counter's index: number in the experiment + 1; 0: none */
	uint64_t damaged;
	int64_t last_ns; /* latest time seen, for files that did not end */
};

struct owner {
	uint32_t thread_index;
	int32_t tid;
	int64_t base_ns;
	uint64_t extra_cpu_ns;
	bool is_known;
};

typedef void (*record_fn)(struct image *image, const struct owner *owner, const void *record);

/* A time of a damaged file may be any number; within these bounds sums of three do not overflow. */
static inline int64_t bounded(int64_t ns)
{
	const int64_t most_ns = (int64_t)1 << 61; /* 73 years: CLOCK_REALTIME fits */

	return ns > most_ns ? most_ns : ns < -most_ns ? -most_ns : ns;
}

static inline struct sn_process *process_of(struct image *image)
{
	return &image->decoder->experiment->processes.items[image->process];
}

/** The text of a record whose fixed part is `fixed` bytes, cut to what the record holds. */
char *sn_decode_record_text(struct image *image, const void *record, const char *text,
			    uint32_t bytes);
/** Visits every record of the image, each thread's in the order of time. */
void sn_decode_walk(struct image *image, record_fn visit);
/** The number of the experiment's module of this path and build-id, made if new. */
uint32_t sn_decode_module_of(struct image *image, const char *path, const char *build_id,
			     enum sn_module_kind kind, bool is_main);
/** The thread of this index in the file, made if new; NULL if the index is damaged. */
struct sn_thread *sn_decode_thread_of(struct image *image, uint32_t thread_index);
struct thread_facts *sn_decode_facts_of(struct image *image, uint32_t thread_index);
/** Takes the launcher's accounts. They know a thread by its tid only, so they belong to the latest
 * thread with that tid that had begun. They count where the thread itself has written nothing
 * later. */
void sn_decode_tasks_take(struct image *image);
/** First pass: all that samples and stacks refer to. A record_fn. */
void sn_decode_facts(struct image *image, const struct owner *owner, const void *record);
/** Compares two mappings by load_start, then map_ns, for qsort. */
int sn_decode_mappings_compare(const void *a, const void *b);
/** First pass: a node of the call paths of traces. */
void sn_decode_path(struct image *image, const struct owner *owner,
		    const struct sn_record_path *record);
/** After the first pass: the stacks of the paths that events refer to. */
void sn_decode_paths_take(struct image *image);
/** After it: the stack of a path that events refer to, SN_NONE of others. */
uint32_t sn_decode_path_stack(const struct image *image, uint32_t id);
/** Adds the frame at a load address to image->frames. */
void sn_decode_frame_push(struct image *image, uint64_t pc, bool is_leaf, int64_t time_ns);
/** decode_instances.c: loops that ran as copies; records of these types, in the second pass. */
void sn_decode_variant(struct image *image, const struct owner *owner,
		       const struct sn_record_variant *record);
void sn_decode_blocks(struct image *image, const struct owner *owner,
		      const struct sn_record_blocks *record);
void sn_decode_instances(struct image *image, const struct owner *owner,
			 const struct sn_record_instances *record);
void sn_decode_caller(struct image *image, const struct owner *owner,
		      const struct sn_record_caller *record);
void sn_decode_bucket(struct image *image, const struct owner *owner,
		      const struct sn_record_bucket *record);
/** decode_accesses.c: a loop's table, in the first pass; a part of a window in the second; after it,
 *  windows that did not end. */
void sn_decode_access_table(struct image *image, const struct sn_record_access_table *record);
void sn_decode_accesses(struct image *image, const struct owner *owner,
			const struct sn_record_accesses *record);
void sn_decode_thread_pointer(struct image *image, const struct owner *owner,
			      const struct sn_record_thread_pointer *record);
void sn_decode_accesses_end(struct image *image);
/** decode_counts.c: a counter, in the first pass, and one of its overflows in the second. */
void sn_decode_counter(struct image *image, const struct sn_record_counter *record);
void sn_decode_count(struct image *image, const struct owner *owner,
		     const struct sn_record_count *record);
/** The experiment's number of a stack of the file; SN_NONE: none. */
uint32_t sn_decode_stack(struct image *image, uint32_t id, int64_t time_ns);
/** Second pass: samples and waits, with their stacks. A record_fn. */
void sn_decode_samples(struct image *image, const struct owner *owner, const void *record);

#endif

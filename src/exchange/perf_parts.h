/**
 * What perf_import.c and perf_records.c share. perf_import.c takes the events of a perf.data file,
 * perf_records.c writes the experiment's records.
 */
#ifndef SN_EXCHANGE_PERF_PARTS_H
#define SN_EXCHANGE_PERF_PARTS_H

#include "base/arena.h"
#include "base/file.h"
#include "base/map.h"
#include "base/vec.h"
#include "code/image.h"
#include "exchange/perf_data.h"
#include "unwind/module.h"
#include "wire/writer.h"

enum {
	SN_IMPORT_DEPTH_MAX = 512,
	SN_IMPORT_CHUNKS = 1 << 20, /* of a process: 8 GB of address space, used as it fills */
};

/* A file that some process had mapped. */
struct sn_import_file {
	const char *path;
	struct sn_image *image;	   /* NULL: not here any more */
	struct sn_file_view bytes; /* for unwinding */
	const uint8_t *build_id;   /* as recorded; NULL: not */
	uint8_t build_id_bytes;
};

struct sn_import_mapping {
	uint64_t load_start, load_end, load_bias, file_offset;
	uint32_t file;
};

struct sn_import_thread {
	struct sn_writer writer;
	int32_t tid;
	int64_t first_ns, last_ns;
	uint64_t user_ns, system_ns;
	char name[16];
};

struct sn_import_process {
	int32_t pid, parent_pid;
	struct sn_writer_file file;
	int64_t first_ns, last_ns;
	SN_VEC(struct sn_import_thread *) threads; /* their writers must not move */
	SN_VEC(struct sn_import_mapping) mappings;
	SN_VEC(struct sn_unwind_module)
	modules; /* of the mappings, sorted; rebuilt when they change */
	bool modules_are_current, program_is_due;
	uint32_t generation;
	struct sn_map stacks; /* hash of pcs and flags -> id */
	uint32_t stack_count;
	char name[16]; /* threads begin with their creator's */
};

struct sn_importer {
	struct sn_perf_data data;
	struct sn_perf_import_result *result;
	struct sn_arena arena;
	SN_VEC(struct sn_import_file) files;
	struct sn_map file_of; /* hash of the path -> file + 1 */
	SN_VEC(struct sn_import_process *) processes;
	struct sn_map process_of; /* pid -> process + 1 */
	struct sn_map thread_of;  /* pid, tid -> thread + 1 within its process */
	uint64_t lost, missing_files, changed_files;
	double ns_per_period;
	int64_t start_ns;
	uint64_t pcs[SN_IMPORT_DEPTH_MAX];
};

/** The process of this number, made if it is new; NULL if there are too many. */
struct sn_import_process *sn_import_process_of(struct sn_importer *im, int32_t pid, int64_t now_ns);
/** The thread of this number, made if it is new. */
struct sn_import_thread *sn_import_thread_of(struct sn_importer *im, struct sn_import_process *p,
					     int32_t tid, int64_t now_ns);

static inline struct sn_import_thread *sn_import_main_thread(struct sn_import_process *p)
{
	return p->threads.items[0];
}

void sn_import_write_mapping(struct sn_importer *im, struct sn_import_process *p,
			     const struct sn_import_mapping *m, int64_t time_ns);
void sn_import_write_unmap(struct sn_import_process *p, uint64_t start, uint64_t end,
			   int64_t time_ns);
/** The id of a stack, which is written when it is met first; 0 for none. */
uint32_t sn_import_stack_id(struct sn_import_process *p, const uint64_t *pcs, uint32_t depth,
			    uint8_t flags, int64_t now_ns);

#endif

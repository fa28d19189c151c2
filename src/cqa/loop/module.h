/**
 * The loops of a file: a program, a shared object, an object file, or an archive of object files.
 */
#ifndef SN_CQA_MODULE_H
#define SN_CQA_MODULE_H

#include "base/file.h"
#include "cqa/loop/loop.h"

struct sn_image;

/** One ELF image of the file. */
struct sn_cqa_unit {
	const char *member; /* of an archive, or NULL */
	struct sn_image *image;
	struct sn_structure *structure;
	uint8_t *linked; /* an object file laid out as an image; owned */
};

struct sn_cqa_module {
	struct sn_file_view view;
	struct sn_arena arena;
	SN_VEC(struct sn_cqa_unit) units;
	size_t skipped_members; /* of an archive: no x86-64 code */
	/* of a thin archive, whose members are files beside it */
	SN_VEC(struct sn_file_view) member_views;
	size_t lost_members;	/* not there */
	const char *first_lost; /* their first */
};

/** Opens a file, and the members of a thin archive. SN_ERR_UNSUPPORTED for ELF that is not x86-64,
 * SN_ERR_FORMAT for what is not ELF, SN_ERR_IO for what is no regular file (a pipe would never
 * end). */
sn_status sn_cqa_module_open(const char *path, struct sn_cqa_module *out, struct sn_error *err);
/** The same from bytes in memory, which must outlive the module. SN_ERR_UNSUPPORTED for a thin
 * archive. */
sn_status sn_cqa_module_open_memory(const uint8_t *bytes, size_t length, const char *name,
				    struct sn_cqa_module *out, struct sn_error *err);
void sn_cqa_module_close(struct sn_cqa_module *module);

/** An ET_REL file as an image: sections get addresses (their file offset plus a page), relocations
 *  of debug information are applied, and a program header is added. NULL if `bytes` is no valid
 *  x86-64 object file. The caller frees it. */
uint8_t *sn_object_lay_out(const uint8_t *bytes, size_t length, size_t *out_length);

#endif

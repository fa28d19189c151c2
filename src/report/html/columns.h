/** Columns of a chunk of the page from a vector of rows. */
#ifndef SN_REPORT_HTML_COLUMNS_H
#define SN_REPORT_HTML_COLUMNS_H

#include "base/alloc.h"
#include "report/html/page.h"

/* One column of the open chunk: `expr` of each `row` of a vector. */
#define COLUMN(kind, type, vec, name, expr)                                                        \
	do {                                                                                       \
		type *column_ = sn_realloc_array(NULL, (vec).count + 1, sizeof(type));             \
		for (size_t i_ = 0; i_ < (vec).count; i_++) {                                      \
			__typeof__((vec).items) row = &(vec).items[i_];                            \
			column_[i_] = (type)(expr);                                                \
		}                                                                                  \
		sn_page_add_##kind(page, name, column_);                                           \
		sn_vec_release(column_);                                                           \
	} while (0)
#define COLUMN_U8(vec, name, expr)  COLUMN(u8, uint8_t, vec, name, expr)
#define COLUMN_U32(vec, name, expr) COLUMN(u32, uint32_t, vec, name, expr)
#define COLUMN_D32(vec, name, expr) COLUMN(d32, uint32_t, vec, name, expr)
#define COLUMN_F64(vec, name, expr) COLUMN(f64, double, vec, name, expr)
#define COLUMN_TEXT(vec, name, expr)                                                               \
	do {                                                                                       \
		const char **column_ = sn_realloc_array(NULL, (vec).count + 1, sizeof(char *));    \
		for (size_t i_ = 0; i_ < (vec).count; i_++) {                                      \
			__typeof__((vec).items) row = &(vec).items[i_];                            \
			column_[i_] = (expr);                                                      \
		}                                                                                  \
		sn_page_add_text(page, name, column_, NULL);                                       \
		sn_vec_release(column_);                                                           \
	} while (0)

#endif

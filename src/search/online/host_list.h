/**
 * A file that names hosts, as launchers of MPI have it: a line each, whose first word is the name. What follows it
 * (`slots=4`, `:4`) and what stands before an `@` is left out, and so is what follows a `#`.
 */
#ifndef SN_SEARCH_ONLINE_HOST_LIST_H
#define SN_SEARCH_ONLINE_HOST_LIST_H

#include "base/error.h"
#include "base/vec.h"

/** Each host once, in the file's order. SN_ERR_IO: it cannot be read. SN_ERR_USAGE: it names no host, or too many. The caller
 *  frees with sn_vec_free_owned in any case. */
sn_status sn_host_list_read(const char *path, sn_strings *out, struct sn_error *err);
/** The same of bytes; `name` is the file's, for errors. */
sn_status sn_host_list_read_memory(const char *name, const char *chars, size_t length,
				   sn_strings *out, struct sn_error *err);

/** Whether two names are one host's: equal, or the one is the other without its domain. */
bool sn_host_is(const char *one, const char *other);

#endif

/**
 * A file that names hosts, as launchers of MPI have it: a line each, whose first word is the name. What follows it
 * (`slots=4`, `:4`) and what stands before an `@` is left out, and so is what follows a `#`.
 */
#ifndef SN_SEARCH_ONLINE_HOST_LIST_H
#define SN_SEARCH_ONLINE_HOST_LIST_H

#include "base/error.h"
#include "base/vec.h"

typedef SN_VEC(char *) sn_host_list;

/** Each host once, in the file's order. SN_ERR_IO: it cannot be read. SN_ERR_USAGE: it names no host, or too many. The caller
 *  frees with sn_host_list_free in any case. */
sn_status sn_host_list_read(const char *path, sn_host_list *out, struct sn_error *err);
/** The same of bytes; `name` is the file's, for errors. */
sn_status sn_host_list_read_memory(const char *name, const char *chars, size_t length,
				   sn_host_list *out, struct sn_error *err);
void sn_host_list_free(sn_host_list *list);

/** Whether two names are one host's: equal, or the one is the other without its domain. */
bool sn_host_is(const char *one, const char *other);

#endif

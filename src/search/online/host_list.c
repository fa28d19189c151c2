/* Lines to names. */
#include "search/online/host_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "search/online/nodes.h"

bool sn_host_is(const char *one, const char *other)
{
	size_t length = strlen(one), other_length = strlen(other);
	size_t shorter = length < other_length ? length : other_length;
	const char *longer = length < other_length ? other : one;

	return shorter && !strncmp(one, other, shorter) &&
	       (!longer[shorter] || (longer[shorter] == '.' && !memchr(longer, '.', shorter)));
}

static bool is_in(const sn_strings *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
		if (!strcmp(list->items[i], name))
			return true;
	return false;
}

static void line_read(const char *line, size_t length, sn_strings *out)
{
	const char *at;
	size_t begin = 0, end;
	char *name;

	while (begin < length && strchr(" \t\r", line[begin]))
		begin++;
	for (end = begin; end < length && !strchr(" \t\r:#", line[end]); end++)
		;
	at = memchr(line + begin, '@', end - begin);
	if (at)
		begin = (size_t)(at - line) + 1;
	if (begin == end)
		return;
	name = sn_alloc_zeroed(end - begin + 1, 1);
	memcpy(name, line + begin, end - begin);
	if (is_in(out, name))
		free(name);
	else
		sn_vec_push(out, name);
}

sn_status sn_host_list_read_memory(const char *name, const char *chars, size_t length,
				   sn_strings *out, struct sn_error *err)
{
	for (size_t begin = 0, end; begin < length && out->count <= SN_NODES_MOST;
	     begin = end + 1) {
		const char *line_end = memchr(chars + begin, '\n', length - begin);

		end = line_end ? (size_t)(line_end - chars) : length;
		line_read(chars + begin, end - begin, out);
	}
	if (!out->count)
		return sn_error_set(err, SN_ERR_USAGE, "--hosts '%s' names no host: a line each",
				    name);
	if (out->count > SN_NODES_MOST)
		return sn_error_set(err, SN_ERR_USAGE,
				    "--hosts '%s' names more than the %d hosts that a search can "
				    "have",
				    name, SN_NODES_MOST);
	return SN_OK;
}

sn_status sn_host_list_read(const char *path, sn_strings *out, struct sn_error *err)
{
	struct sn_file_view view;
	sn_status status = sn_file_map(path, &view, err);

	if (status != SN_OK)
		return status;
	status = sn_host_list_read_memory(path, (const char *)view.bytes, view.length, out, err);
	sn_file_unmap(&view);
	return status;
}

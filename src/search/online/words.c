/* The words that a search leaves in its folder, for whoever comes after a front that was killed. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "search/online/nodes.h"
#include "search/online/parts.h"

static void word_put(const char *word, FILE *out)
{
	fwrite(word, 1, strlen(word) + 1, out);
}

sn_status sn_online_words_write(const char *folder, const struct sn_online_options *options,
				struct sn_error *err)
{
	char *path = sn_nodes_file(folder, "search.words"), whole[PATH_MAX];
	const char *program = options->program;
	struct sn_file_writer writer;
	sn_status status = sn_file_writer_open(&writer, path, err);

	free(path);
	if (status != SN_OK)
		return status;
	if (strchr(program, '/') && realpath(program, whole))
		program = whole;
	word_put("--phase", writer.out);
	word_put(options->phase, writer.out);
	for (const char *const *word = options->passed; word && *word; word++)
		word_put(*word, writer.out);
	word_put(program, writer.out);
	return sn_file_writer_commit(&writer, err);
}

bool sn_online_words_read(const char *folder, sn_strings *out)
{
	char *path = sn_nodes_file(folder, "search.words");
	struct sn_file_view view;
	struct sn_error err;
	bool is_whole = !access(path, F_OK) && sn_file_map(path, &view, &err) == SN_OK;

	free(path);
	if (!is_whole)
		return false;
	is_whole = view.length && !view.bytes[view.length - 1];
	for (size_t at = 0; is_whole && at < view.length;) {
		const char *word = (const char *)view.bytes + at;

		sn_vec_push(out, sn_strdup(word));
		at += strlen(word) + 1;
	}
	sn_file_unmap(&view);
	return is_whole;
}

/*
 * Runs a fuzz target without a fuzzer: over its corpus, and over seeded mutations of it. One TAP
 * line a file. replay CORPUS_FOLDER [MUTATIONS]
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/stats.h"
#include "base/vec.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* A few bytes overwritten, a piece cut out, or the end cut off. */
static size_t mutate(struct sn_random *random, const uint8_t *from, size_t length, uint8_t *to)
{
	size_t changes = 1 + sn_random_below(random, 8), cut, at;

	memcpy(to, from, length);
	if (!length)
		return 0;
	for (size_t i = 0; i < changes; i++) {
		static const uint8_t telling[] = { 0, 1, 0x7f, 0x80, 0xff };

		at = sn_random_below(random, length);
		if (sn_random_below(random, 2))
			to[at] = telling[sn_random_below(random, sizeof(telling))];
		else
			to[at] ^= (uint8_t)(1u << sn_random_below(random, 8));
	}
	if (sn_random_below(random, 4) == 0)
		return sn_random_below(random, length);
	if (sn_random_below(random, 8) == 0) {
		at = sn_random_below(random, length);
		cut = sn_random_below(random, length - at);
		memmove(to + at, to + at + cut, length - at - cut);
		return length - cut;
	}
	return length;
}

/* Each input stands in memory of its own exact size, so that ASan sees a read past its end. */
static void try_bytes(const uint8_t *bytes, size_t length)
{
	uint8_t *exact = malloc(length + !length);

	memcpy(exact, bytes, length);
	LLVMFuzzerTestOneInput(exact, length);
	free(exact);
}

static void replay_file(const char *path, unsigned mutations)
{
	struct sn_file_view view;
	struct sn_random random;
	uint8_t *changed;

	if (sn_file_map(path, &view, NULL) != SN_OK)
		return;
	try_bytes(view.bytes, view.length);
	changed = malloc(view.length + 1);
	sn_random_seed(&random, view.length);
	for (unsigned i = 0; i < mutations; i++)
		try_bytes(changed, mutate(&random, view.bytes, view.length, changed));
	free(changed);
	sn_file_unmap(&view);
}

static int names_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(int argc, char **argv)
{
	unsigned mutations = argc > 2 ? (unsigned)atoi(argv[2]) : 500;
	DIR *folder = argc > 1 ? opendir(argv[1]) : NULL;
	sn_strings names = { 0 };
	struct dirent *entry;
	char path[4096];

	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			sn_vec_push(&names, strdup(entry->d_name));
	if (!names.count) {
		printf("not ok 1 - there is no corpus in %s\n1..1\n", argc > 1 ? argv[1] : "?");
		return 0;
	}
	qsort(names.items, names.count, sizeof(char *), names_compare);
	for (size_t i = 0; i < names.count; i++) {
		snprintf(path, sizeof(path), "%s/%s", argv[1], names.items[i]);
		replay_file(path, mutations);
		printf("ok %zu - %s\n", i + 1, names.items[i]);
		fflush(stdout);
	}
	printf("1..%zu\n", names.count);
	return 0;
}

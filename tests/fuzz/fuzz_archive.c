/* Archives: any bytes are unpacked into one folder, or are told in one sentence; nothing beside it changes. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "experiment/scratch.h"
#include "experiment/unpack.h"

static size_t entries(const char *folder)
{
	DIR *stream = opendir(folder);
	size_t count = 0;

	while (stream && readdir(stream))
		count++;
	if (stream)
		closedir(stream);
	return count;
}

static void unpack(const uint8_t *bytes, size_t length)
{
	char place[] = "/tmp/sonde-fuzz-XXXXXX", into[64];
	struct sn_error err = { 0 };
	char *top = NULL;

	if (!mkdtemp(place))
		abort();
	snprintf(into, sizeof(into), "%s/in", place);
	if (mkdir(into, 0700))
		abort();
	if (sn_unpack(bytes, length, "fuzz", into, &top, &err) == SN_OK ? !top
									: top || !err.sentence[0])
		abort();
	/* ".", "..", "in"; and in that one folder */
	if (entries(place) != 3 || entries(into) > 3)
		abort();
	sn_scratch_remove(place);
	free(top);
}

/* As an archive; and, as a change of one is mostly one of its sum, as the tar file in one. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	size_t bound = ZSTD_compressBound(length), packed;
	uint8_t *copy = malloc(bound);

	if (!copy)
		abort();
	packed = ZSTD_compress(copy, bound, bytes, length, 1);
	if (ZSTD_isError(packed))
		abort();
	unpack(bytes, length);
	unpack(copy, packed);
	free(copy);
	return 0;
}

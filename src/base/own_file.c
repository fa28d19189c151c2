/* Where sonde's own files lie: beside the command in a build folder, or where it was installed. */
#include "base/own_file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

char *sn_own_file(const char *built, const char *installed)
{
	const char *const places[] = { built, installed };
	/* the way from the command's folder, whichever prefix the whole was moved to */
	static const char *const ways[] = { "", SN_LIBDIR_FROM_BINDIR "/sonde/" };
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *found = NULL, *slash;

	self[length > 0 ? length : 0] = '\0';
	slash = strrchr(self, '/');
	for (size_t i = 0; slash && i < 2 && !found; i++) {
		struct sn_text path = { 0 };

		*slash = '\0';
		sn_text_addf(&path, "%s/%s%s", self, ways[i], places[i]);
		found = realpath(path.chars, NULL);
		sn_text_free(&path);
	}
	return found;
}

char *sn_own_runtime(const char *name)
{
	struct sn_text built = { 0 };
	char *path;

	sn_text_addf(&built, "src/runtime/%s", name);
	path = sn_own_file(built.chars, name);
	sn_text_free(&built);
	return path;
}

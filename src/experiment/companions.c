/* Where the further runs of an experiment's program lie. */
#include "experiment/companions.h"

#include <sys/stat.h>

#include "base/text.h"

const char *const sn_companion_names[SN_COMPANIONS] = { "instances", "variants", "accesses" };

bool sn_companion_exists(const char *experiment_path, enum sn_companion companion)
{
	struct sn_text path = { 0 };
	struct stat st;
	bool is_there;

	sn_text_addf(&path, "%s/%s", experiment_path, sn_companion_names[companion]);
	is_there = stat(path.chars, &st) == 0 && S_ISDIR(st.st_mode);
	sn_text_free(&path);
	return is_there;
}

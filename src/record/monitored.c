/* Takes the segments of a run with an agent away. */
#include "record/monitored.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

void sn_monitored_remove(const struct sn_record_options *options, const char *live_folder)
{
	DIR *folder = options->is_monitored ? opendir(live_folder) : NULL;
	const struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (sn_ends_with(entry->d_name, ".monitor") ||
		    sn_ends_with(entry->d_name, ".agent"))
			unlinkat(dirfd(folder), entry->d_name, 0);
	if (folder)
		closedir(folder);
}

sn_status sn_monitored_refuse(const char *program, struct sn_error *err)
{
	return sn_error_set(
		err, SN_ERR_UNSUPPORTED,
		"cannot measure phases of '%s': it is static, so no library of ours can "
		"be in it; search it as a whole (without --phase)",
		program);
}

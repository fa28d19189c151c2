/* Writes the plans of a launch beside its data, and takes them away when it is over. */
#include "record/plans.h"

#include <stdio.h>
#include <unistd.h>

#include "base/file.h"

static void path_of(struct sn_text *path, const char *folder, const struct sn_record_plan *plan)
{
	sn_text_clear(path);
	sn_text_addf(path, "%s/plan.%s", folder, plan->id);
}

static sn_status plan_write(const char *path, const struct sn_record_plan *plan,
			    struct sn_error *err)
{
	struct sn_file_writer writer;
	sn_status status = sn_file_writer_open(&writer, path, err);

	if (status != SN_OK)
		return status;
	fwrite(plan->bytes, 1, plan->length, writer.out);
	return sn_file_writer_commit(&writer, err);
}

sn_status sn_plans_write(const struct sn_record_options *options, const char *folder,
			 struct sn_error *err)
{
	struct sn_text path = { 0 };
	sn_status status = SN_OK;

	for (size_t i = 0; i < options->plan_count && status == SN_OK; i++) {
		path_of(&path, folder, &options->plans[i]);
		status = plan_write(path.chars, &options->plans[i], err);
	}
	sn_text_free(&path);
	return status;
}

void sn_plans_remove(const struct sn_record_options *options, const char *folder)
{
	struct sn_text path = { 0 };

	for (size_t i = 0; i < options->plan_count; i++) {
		path_of(&path, folder, &options->plans[i]);
		unlink(path.chars);
	}
	sn_text_free(&path);
}

/* A job of a batch system, from its number to its submission. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "campaign/jobs.h"

static sn_status number_take(const char *folder, uint32_t *out, struct sn_error *err)
{
	struct sn_text path = { 0 };
	sn_status status = SN_OK;

	sn_text_addf(&path, "%s/jobs", folder);
	if (mkdir(path.chars, 0777) && errno != EEXIST)
		status = sn_error_errno(err, "cannot create '%s'", path.chars);
	for (*out = 1; status == SN_OK; ++*out) {
		sn_text_clear(&path);
		sn_text_addf(&path, "%s/jobs/%u", folder, *out);
		if (!mkdir(path.chars, 0777))
			break;
		if (errno != EEXIST)
			status = sn_error_errno(err, "cannot create '%s'", path.chars);
	}
	sn_text_free(&path);
	return status;
}

static sn_status file_write(const char *path, const struct sn_text *text, struct sn_error *err)
{
	struct sn_file_writer writer;
	sn_status status = sn_file_writer_open(&writer, path, err);

	if (status != SN_OK)
		return status;
	fwrite(text->chars ? text->chars : "", 1, text->length, writer.out);
	return sn_file_writer_commit(&writer, err);
}

static sn_status script_write(const struct sn_job_wanted *w, uint32_t number, const char *path,
			      struct sn_error *err)
{
	struct sn_text file = { 0 }, template = { 0 }, command = { 0 }, script = { 0 };
	struct sn_file_view view;
	sn_status status = SN_OK;

	sn_text_addf(&file, "%s/template", w->folder);
	if (!w->campaign->plan->jobs.template)
		sn_job_template(&w->size, &template);
	else
		status = sn_file_map(file.chars, &view, err);
	if (status == SN_OK && !template.chars) {
		sn_text_add_bytes(&template, (const char *)view.bytes, view.length);
		sn_file_unmap(&view);
	}
	sn_text_add_shell_word(&command, w->sonde);
	sn_text_add(&command, " campaign job ");
	sn_text_add_shell_word(&command, w->folder);
	sn_text_addf(&command, " %u", number);
	if (status == SN_OK)
		status = sn_job_script(template.chars, template.length, file.chars, &w->size,
				       command.chars, &script, err);
	if (status == SN_OK)
		status = file_write(path, &script, err);
	sn_text_free(&file);
	sn_text_free(&template);
	sn_text_free(&command);
	sn_text_free(&script);
	return status;
}

/* Jobs of one name run one after the other (singleton), so `parallel` names let so many run at once. */
static sn_status words_make(const struct sn_job_wanted *w, uint32_t number, struct sn_words *out,
			    struct sn_error *err)
{
	const struct sn_campaign_jobs *jobs = &w->campaign->plan->jobs;
	struct sn_arena *arena = &w->campaign->state->arena;
	const char *words[] = {
		"sbatch",
		"--parsable",
		"--no-requeue",
		"--dependency=singleton",
		sn_arena_printf(arena, "--job-name=sonde-%.8s-%u", w->campaign->state->id,
				number % jobs->parallel),
		sn_arena_printf(arena, "--output=%s/jobs/%u/output", w->folder, number),
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		sn_vec_push(&out->items, words[i]);
	return sn_words_split(jobs->options, "", arena, out, err);
}

sn_status sn_job_submit(const struct sn_job_wanted *w, uint32_t *number,
			enum sn_queue_answer *answer, const char **job, struct sn_text *reason,
			struct sn_error *err)
{
	struct sn_arena *arena = &w->campaign->state->arena;
	struct sn_words words = { 0 };
	const char *script;
	sn_status status = number_take(w->folder, number, err);

	*answer = SN_QUEUE_SILENT;
	script = sn_arena_printf(arena, "%s/jobs/%u/script", w->folder, *number);
	if (status == SN_OK)
		status = script_write(w, *number, script, err);
	if (status == SN_OK)
		status = words_make(w, *number, &words, err);
	if (status == SN_OK)
		status = sn_queue_submit(&words, script, w->campaign->state->plan_folder, arena,
					 answer, job, reason, err);
	sn_vec_free(&words.items);
	/* of one that was taken unheard the folder stays: its number is not used again */
	if (status != SN_OK || *answer == SN_QUEUE_REFUSED) {
		unlink(script);
		rmdir(sn_arena_printf(arena, "%s/jobs/%u", w->folder, *number));
	}
	return status;
}

sn_status sn_job_make_known(const char *folder, uint32_t submission, const char *job,
			    struct sn_error *err)
{
	struct sn_text path = { 0 }, text = { 0 };
	sn_status status;

	sn_text_addf(&path, "%s/jobs/%u/known", folder, submission);
	sn_text_addf(&text, "%s\n", job);
	status = file_write(path.chars, &text, err);
	sn_text_free(&path);
	sn_text_free(&text);
	return status;
}

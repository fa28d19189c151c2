/* Writes the plan that options mean, with comments, so that it can be kept and changed. */
#include "campaign/plan_text.h"

#include <string.h>

static void key_add(struct sn_text *out, const char *key, const char *value)
{
	if (value)
		sn_text_addf(out, "%s = %s\n", key, value);
}

static sn_status word_check(const char *word, struct sn_error *err)
{
	if (!word || !strpbrk(word, "\n\r"))
		return SN_OK;
	return sn_error_set(err, SN_ERR_USAGE,
			    "a plan cannot hold a word with the end of a line in it: put it into a "
			    "script");
}

static sn_status words_check(const struct sn_campaign_wishes *w, struct sn_error *err)
{
	const char *const single[] = { w->name,	     w->launcher, w->timeout,  w->budget,
				       w->directory, w->build,	  w->pin,      w->threads,
				       w->ranks,     w->dataset,  w->repeat,   w->retry,
				       w->level,     w->jobs,	  w->parallel, w->step,
				       w->template,  w->loops,	  w->exclude,  w->helper_threads };
	sn_status status = SN_OK;

	for (size_t i = 0; status == SN_OK && i < sizeof(single) / sizeof(*single); i++)
		status = word_check(single[i], err);
	for (char *const *word = w->command; status == SN_OK && *word; word++)
		status = word_check(*word, err);
	for (const char *const *v = w->environment; status == SN_OK && v && *v; v++) {
		status = word_check(*v, err);
		if (status == SN_OK && !strchr(*v, '='))
			status = sn_error_set(err, SN_ERR_USAGE, "--env takes NAME=VALUE, not '%s'",
					      *v);
	}
	return status;
}

static void default_add(const struct sn_campaign_wishes *w, struct sn_text *out)
{
	sn_text_add(out, "\n[default]\n");
	key_add(out, "program", w->command[0]);
	if (w->command[1]) {
		sn_text_add(out, "arguments =");
		for (char *const *word = w->command + 1; *word; word++) {
			sn_text_add_char(out, ' ');
			sn_text_add_shell_word(out, *word);
		}
		sn_text_add_char(out, '\n');
	}
	key_add(out, "directory", w->directory);
	key_add(out, "build", w->build);
	key_add(out, "pin", w->pin);
	for (const char *const *v = w->environment; v && *v; v++) {
		size_t name = strcspn(*v, "=");

		sn_text_addf(out, "environment.%.*s = %s\n", (int)name, *v, *v + name + 1);
	}
}

/* Ranks are mpirun's unless somebody else is named. A launcher's own words stand before the command. */
static void launcher_add(const struct sn_campaign_wishes *w, struct sn_text *out)
{
	const char *launcher = w->launcher ? w->launcher : w->ranks ? "mpirun" : NULL;
	bool has_words = launcher && strpbrk(launcher, " \t") && !strstr(launcher, "{command}") &&
			 !sn_starts_with(launcher, "sbatch");

	if (launcher)
		sn_text_addf(out, "launcher = %s%s\n", launcher, has_words ? " {command}" : "");
}

sn_status sn_campaign_plan_text(const struct sn_campaign_wishes *w, struct sn_text *out,
				struct sn_error *err)
{
	sn_status status = words_check(w, err);

	if (status != SN_OK)
		return status;
	sn_text_add(out, "# A plan of runs: 'sonde campaign run FILE' starts it.\n[campaign]\n");
	key_add(out, "name", w->name);
	key_add(out, "level", w->level);
	key_add(out, "loops", w->loops);
	key_add(out, "exclude", w->exclude);
	key_add(out, "repeat", w->repeat ? w->repeat : "5");
	key_add(out, "order", w->order);
	launcher_add(w, out);
	key_add(out, "jobs", w->jobs);
	key_add(out, "parallel", w->parallel);
	key_add(out, "step", w->step);
	key_add(out, "template", w->template);
	key_add(out, "timeout", w->timeout);
	key_add(out, "budget", w->budget);
	key_add(out, "retry", w->retry);
	key_add(out, "helper_threads", w->helper_threads);
	key_add(out, "scaling", w->is_weak ? "weak" : NULL);
	default_add(w, out);
	if (w->threads || w->ranks || w->dataset)
		sn_text_add(out, "\n# every configuration with each of these\n[sweep]\n");
	key_add(out, "ranks", w->ranks);
	key_add(out, "threads", w->threads);
	key_add(out, "dataset", w->dataset);
	return SN_OK;
}

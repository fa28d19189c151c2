/*
 * Takes private texts out of the files of an experiment, and out of a plan. A file that cannot be read
 * is refused whole: what is in it cannot be known.
 */
#include "archive/private.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/intern.h"
#include "code/extract.h"
#include "experiment/decode.h"
#include "record/redact.h"
#include "wire/data.h"

/* ---- files of an experiment ---- */

static bool is_launch(const char *name)
{
	return sn_starts_with(name, "launch.") && sn_ends_with(name, ".json");
}

bool sn_private_is_in(const char *name, const struct sn_archive_redaction *redaction)
{
	if (is_launch(name) || sn_ends_with(name, ".data"))
		return redaction->environment || redaction->arguments;
	return sn_ends_with(name, ".extract") && redaction->source;
}

static sn_status launch_take_out(const char *path, const void *bytes, size_t length,
				 const struct sn_archive_redaction *redaction, struct sn_text *out,
				 struct sn_error *err)
{
	json_t *root = json_loadb(bytes, length, 0, NULL);
	char *text;

	if (!json_is_object(root)) {
		json_decref(root);
		return sn_error_set(err, SN_ERR_FORMAT,
				    "'%s' is damaged, so nothing can be taken out of it", path);
	}
	if (redaction->environment)
		json_object_set_new(root, "environment", json_object());
	if (redaction->arguments) {
		const char *program = json_string_value(json_object_get(root, "program"));
		struct sn_text line = { 0 };

		sn_text_add_shell_word(&line, program ? program : "");
		sn_text_add(&line, " ***");
		json_object_set_new(root, "arguments", json_string(line.chars));
		sn_text_free(&line);
	}
	text = json_dumps(root, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17));
	sn_text_addf(out, "%s\n", text ? text : "");
	free(text);
	json_decref(root);
	return SN_OK;
}

static void data_take_out(const uint8_t *bytes, size_t length,
			  const struct sn_archive_redaction *redaction, struct sn_text *out)
{
	uint32_t kinds = 0;
	size_t at = 0, image;
	uint8_t *copy = sn_alloc_zeroed(length + 1, 1);

	if (redaction->environment)
		kinds |= 1u << SN_TEXT_ENVIRONMENT;
	if (redaction->arguments)
		kinds |= 1u << SN_TEXT_ARGUMENT | 1u << SN_TEXT_TITLE;
	/* what lies between whole pieces stays zero */
	while (sn_data_next(bytes, length, &at, &image)) {
		memcpy(copy + at, bytes + at, image);
		sn_redact_data_texts(copy + at, image, kinds);
		at += image;
	}
	sn_text_add_bytes(out, (const char *)copy, length);
	free(copy);
}

sn_status sn_private_take_out(const char *name, const char *path, const void *bytes, size_t length,
			      const struct sn_archive_redaction *redaction, struct sn_text *out,
			      struct sn_error *err)
{
	if (is_launch(name))
		return launch_take_out(path, bytes, length, redaction, out, err);
	if (sn_ends_with(name, ".extract"))
		return sn_extract_drop_source(bytes, length, path, out, err);
	data_take_out(bytes, length, redaction, out);
	return SN_OK;
}

/* ---- plans ---- */

/* "hidden1", "hidden2", ...: the same for the same text. */
struct hidden {
	struct sn_interner texts;
};

static void hidden_add(struct hidden *hidden, const char *key, const char *text,
		       struct sn_text *out)
{
	if (text[0])
		sn_text_addf(out, "%s = hidden%u\n", key,
			     sn_intern_string(&hidden->texts, text) + 1);
}

static void plain_add(const char *key, const char *text, struct sn_text *out)
{
	if (text[0])
		sn_text_addf(out, "%s = %s\n", key, text);
}

static void number_add(const char *key, uint32_t number, struct sn_text *out)
{
	if (number)
		sn_text_addf(out, "%s = %u\n", key, number);
}

static void configuration_add(const struct sn_campaign_configuration *c,
			      const struct sn_archive_redaction *redaction, struct hidden *hidden,
			      struct sn_text *out)
{
	struct sn_text set = { 0 };

	sn_text_add(out, "\n[configuration ");
	sn_text_add_shell_word(out, c->name);
	sn_text_add(out, "]\n");
	plain_add("program", c->program, out);
	if (redaction->arguments) {
		hidden_add(hidden, "arguments", c->arguments, out);
		hidden_add(hidden, "build", c->build, out);
	} else {
		plain_add("arguments", c->arguments, out);
		plain_add("build", c->build, out);
	}
	plain_add("directory", c->directory, out);
	plain_add("dataset", c->dataset, out);
	plain_add("pin", c->pin, out);
	number_add("ranks", c->ranks, out);
	number_add("threads", c->threads, out);
	number_add("nodes", c->nodes, out);
	number_add("ranks_per_node", c->per_node, out);
	for (size_t i = 0; i < c->environment.count; i++)
		sn_text_addf(&set, "environment.%s = %s\n", c->environment.items[i].name,
			     c->environment.items[i].value);
	if (set.length && redaction->environment)
		hidden_add(hidden, "environment.HIDDEN", set.chars, out);
	else if (set.length)
		sn_text_add(out, set.chars);
	sn_text_free(&set);
}

/* A swept value is in the names of configurations: of folders and marks, too. */
static sn_status names_check(const struct sn_campaign *campaign,
			     const struct sn_archive_redaction *redaction, struct sn_error *err)
{
	const struct sn_campaign_plan *plan = campaign->plan;

	for (size_t i = 0; i < plan->configurations.count; i++) {
		const char *name = plan->configurations.items[i].name;

		if ((redaction->arguments &&
		     (strstr(name, "arguments=") || strstr(name, "build="))) ||
		    (redaction->environment && strstr(name, "environment.")))
			return sn_error_set(
				err, SN_ERR_UNSUPPORTED,
				"the configuration '%s' has what is to be left out in its name; give "
				"configurations names of your own in the plan, or archive single runs",
				name);
	}
	return SN_OK;
}

sn_status sn_private_plan(const struct sn_campaign *campaign,
			  const struct sn_archive_redaction *redaction, struct sn_text *out,
			  struct sn_error *err)
{
	const struct sn_campaign_plan *plan = campaign->plan;
	struct hidden hidden = { 0 };
	sn_status status = names_check(campaign, redaction, err);

	if (status != SN_OK)
		return status;
	sn_text_addf(
		out,
		"# Made by sonde archive: texts that were left out are 'hiddenN'.\n[campaign]\n"
		"name = %s\nlevel = %u\nrepeat = %u\nretry = %u\norder = %s\nscaling = %s\n",
		plan->name, plan->level, plan->repeat, plan->retry,
		plan->order == SN_CAMPAIGN_BLOCKS ? "blocks" : "sequential",
		plan->is_weak ? "weak" : "strong");
	if (plan->level > 1 && !redaction->arguments) {
		plain_add("loops", plan->loops ? plan->loops : "", out);
		plain_add("exclude", plan->exclude ? plan->exclude : "", out);
	}
	/* accounts and the like are said to sbatch */
	if (plan->jobs.is_used)
		plain_add("launcher",
			  redaction->arguments ? "sbatch"
					       : sn_arena_printf(&campaign->state->arena,
								 "sbatch%s", plan->jobs.options),
			  out);
	/* a command of one's own has arguments, too */
	plain_add(plan->jobs.is_used ? "step" : "launcher",
		  redaction->arguments && strchr(plan->launcher, '{') ? "hidden {command}"
								      : plan->launcher,
		  out);
	for (size_t i = 0; i < plan->configurations.count; i++)
		configuration_add(&plan->configurations.items[i], redaction, &hidden, out);
	sn_interner_free(&hidden.texts);
	return SN_OK;
}

/* All but blanks, so that lines and lists keep their form. */
static void mask(char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
			text[i] = '*';
}

static void words_mask(char *text, size_t length)
{
	struct sn_text word = { 0 }, previous = { 0 };

	for (size_t at = 0, end; at < length; at = end) {
		at += strspn(text + at, " \t");
		end = at + strcspn(text + at, " \t");
		if (end > length)
			end = length;
		if (end == at)
			break;
		sn_text_clear(&word);
		sn_text_add_bytes(&word, text + at, end - at);
		sn_redact_word(word.chars, previous.length ? previous.chars : NULL);
		sn_text_clear(&previous);
		sn_text_add_bytes(&previous, text + at, end - at);
		memcpy(text + at, word.chars, end - at);
	}
	sn_text_free(&word);
	sn_text_free(&previous);
}

void sn_private_plan_mask(char *text)
{
	static const char variable[] = "environment.";
	bool is_sweep = false;

	for (char *line = text, *next; *line; line = next) {
		size_t length = strcspn(line, "\n"), key = strspn(line, " \t"), end, value;

		next = line + length + (line[length] == '\n');
		if (line[key] == '[')
			is_sweep = sn_starts_with(line + key, "[sweep]");
		value = strcspn(line, "=\n");
		if (is_sweep || value >= length)
			continue;
		end = value++;
		while (end > key && (line[end - 1] == ' ' || line[end - 1] == '\t'))
			end--;
		if (sn_starts_with(line + key, variable) &&
		    sn_name_is_secret(line + key + strlen(variable), end - key - strlen(variable)))
			mask(line + value, length - value);
		else
			words_mask(line + value, length - value);
	}
}

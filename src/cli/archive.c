/* sonde archive: one file of an experiment or a campaign. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "archive/archive.h"
#include "cli/command.h"
#include "experiment/store.h"
#include "experiment/unpack.h"

static const struct sn_option archive_options[] = {
	{ "output", 'o', "FILE", "write to FILE (NAME.sonde in the working directory)", NULL },
	{ "redact", 0, "LIST",
	  "leave out, of environment,arguments,source: variables of the environment; command lines of "
	  "the program and its processes; text of source files",
	  NULL },
	{ 0 },
};

static sn_status redaction_read(const struct sn_args *args, struct sn_archive_redaction *out,
				struct sn_error *err)
{
	const char *at = sn_args_value(args, "redact");

	while (at && *at) {
		static const char *const words[] = { "environment", "arguments", "source" };
		bool *flags[] = { &out->environment, &out->arguments, &out->source };
		size_t length = strcspn(at, ","), w;

		for (w = 0; w < 3; w++)
			if (strlen(words[w]) == length && !strncmp(at, words[w], length))
				break;
		if (w == 3)
			return sn_error_set(
				err, SN_ERR_USAGE,
				"--redact takes environment, arguments and source, with "
				"commas between, not '%s'",
				at);
		*flags[w] = true;
		at += length + (at[length] == ',');
	}
	return SN_OK;
}

/* The folder meant, of an experiment or a campaign. */
static sn_status folder_find(const char *name, struct sn_text *out, struct sn_error *err)
{
	const char *folder = name;
	sn_status status = SN_OK;

	if (!name || !sn_is_campaign(name))
		return sn_store_resolve(name, out, err);
	if (sn_is_archive(name))
		status = sn_archive_open(name, &folder, err);
	if (status == SN_OK)
		sn_text_add(out, folder);
	return status;
}

static void output_name(const struct sn_args *args, const char *folder, struct sn_text *out)
{
	const char *wanted = sn_args_value(args, "output");
	char *whole = wanted ? NULL : realpath(folder, NULL);

	if (wanted)
		sn_text_add(out, wanted);
	else
		sn_text_addf(out, "%s.sonde", sn_base_name(whole ? whole : folder));
	free(whole);
}

static int archive_run(const struct sn_args *args)
{
	struct sn_archive_redaction redaction = { 0 };
	struct sn_archive_result result = { 0 };
	struct sn_text folder = { 0 }, output = { 0 };
	struct sn_error err;
	struct stat file;
	sn_status status = redaction_read(args, &redaction, &err);

	if (status == SN_OK && args->operand_count > 1)
		status = sn_error_set(&err, SN_ERR_USAGE,
				      "archive takes one experiment or campaign; '%s' is too many",
				      args->operands[1]);
	if (status == SN_OK)
		status = folder_find(args->operand_count ? args->operands[0] : NULL, &folder, &err);
	if (status == SN_OK) {
		output_name(args, folder.chars, &output);
		status = sn_archive_write(folder.chars, output.chars, &redaction, &result, &err);
	}
	if (status == SN_OK && !stat(output.chars, &file))
		printf("%s (%.1f MB; %zu files of %.1f MB)\n", output.chars,
		       (double)file.st_size / 1e6, result.files, (double)result.bytes / 1e6);
	sn_text_free(&folder);
	sn_text_free(&output);
	return status == SN_OK ? SN_EXIT_OK : sn_error_print(&err);
}

const struct sn_command sn_command_archive = {
	.name = "archive",
	.operands = "[EXPERIMENT | CAMPAIGN]",
	.summary = "Makes one file of an experiment or a campaign, to be sent to somebody",
	.description =
		"Every command that reads an experiment or a campaign reads the file in place of the "
		"folder, under its old name. The same folder gives the same file. Archives are not "
		"changed: unpack one (tar --zstd -xf FILE) to go on with a campaign.\n\n"
		"Code, symbols, lines and source text of what was sampled are in it, so it can be read "
		"where the program is not. Pages, which can be made again, and a campaign's builds and "
		"printed output are not.\n\n"
		"--redact leaves private texts out. Values of variables and options that look like "
		"secrets are never recorded in the first place. Names of files, functions, hosts and "
		"libraries stay.",
	.options = archive_options,
	.examples =
		(const char *const[]){
			"sonde archive sonde.app.1", "Make sonde.app.1.sonde.",
			"sonde archive sonde.app.1 -o app.sonde --redact environment,source",
			"Make a file for somebody who must not see the source.",
			"sonde show functions app.sonde", "Look at it, anywhere.", NULL },
	.run = archive_run,
};

/*
 * Finds the command that the words of the command line name, and runs it. Words that name none are
 * a program to record, as in 'sonde ./app', unless they look like a misspelt command.
 */
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/spelling.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/help.h"
#include "record/target.h"

/* The command named by one or two words; `*words` says by how many. */
static const struct sn_command *command_of(int argc, char **argv, int *words)
{
	const struct sn_command *command = NULL;

	if (argc >= 2) {
		struct sn_text pair = { 0 };

		sn_text_addf(&pair, "%s %s", argv[0], argv[1]);
		command = sn_command_find(pair.chars);
		sn_text_free(&pair);
		*words = 2;
	}
	if (!command && argc >= 1) {
		command = sn_command_find(argv[0]);
		*words = 1;
	}
	return command;
}

/* A word of a command's own, as it is or nearly: 'sonde summary' is 'sonde show summary'. */
static bool is_word_of(const struct sn_command *command, const char *word)
{
	struct sn_word own;

	for (size_t i = 0; command->word_at && command->word_at(i, &own); i++)
		if (!strcmp(word, own.name) || sn_spelling_is_near(word, own.name)) {
			sn_warn("there is no command or program '%s'; did you mean 'sonde %s %s'?",
				word, command->name, own.name);
			return true;
		}
	return false;
}

/* 'sonde recrod ./app': true, and said, if `word` is no program but nearly a command of ours. */
static bool is_misspelt(const char *word)
{
	struct sn_target target;
	struct sn_error err;

	if (strchr(word, '/') || sn_target_find(word, &target, &err) == SN_OK)
		return false;
	for (const struct sn_command *const *c = sn_commands; *c; c++)
		if (sn_spelling_is_near(word, (*c)->name)) {
			sn_warn("there is no command or program '%s'; did you mean 'sonde %s'?",
				word, (*c)->name);
			return true;
		}
	for (const struct sn_command *const *c = sn_commands; *c; c++)
		if (is_word_of(*c, word))
			return true;
	return false;
}

static bool is_help(const char *arg)
{
	return !strcmp(arg, "-h") || !strcmp(arg, "--help");
}

/* 'sonde campaign', or 'sonde campaign WORD' with a word that is none of its commands: true, and said. */
static bool family_help(char **argv)
{
	if (!sn_command_family_print(argv[0], stderr))
		return false;
	if (argv[1] && argv[1][0] != '-')
		sn_warn("there is no command '%s %s'", argv[0], argv[1]);
	return true;
}

int main(int argc, char **argv)
{
	const struct sn_command *command;
	struct sn_error err;
	struct sn_args args;
	char help[] = "help", *no_words[] = { help, NULL };
	int words = 0, code;

	setlocale(LC_CTYPE, "");
	sn_file_limit_mind();
	argc--;
	argv++;
	if (argc == 0) {
		argc = 1;
		argv = no_words;
	} else if (is_help(argv[0])) {
		argv[0] = (char *)"help";
	} else if (!strcmp(argv[0], "--version")) {
		argv[0] = (char *)"version";
	}
	command = command_of(argc, argv, &words);
	if (!command && (strchr(argv[0], '/') || sn_command_find("run"))) {
		if (family_help(argv))
			return SN_EXIT_USAGE;
		if (is_misspelt(argv[0]))
			return SN_EXIT_COMMAND_NOT_FOUND;
		command = sn_command_find("run"); /* sonde ./app args */
		words = 0;
	}
	if (!command) {
		sn_warn("there is no command '%s'; 'sonde help' lists them", argv[0]);
		return SN_EXIT_USAGE;
	}
	if (command->h_alone && argc == words + 1 && !strcmp(argv[words], "-h"))
		return command->h_alone();
	if (sn_args_parse(command, argc - words, argv + words, &args, &err) != SN_OK) {
		code = sn_error_print(&err);
		return sn_command_exits_as_target(command) ? SN_EXIT_NOT_MEASURED : code;
	}
	if (args.asks_for_help) {
		sn_command_print_help(command, stdout);
		code = SN_EXIT_OK;
	} else {
		code = command->run(&args);
	}
	sn_args_free(&args);
	if (sn_file_has_failed(stdout)) {
		sn_error_errno(&err, "cannot write to standard output");
		sn_warn("%s", err.sentence);
		return sn_command_exits_as_target(command) ? code : SN_EXIT_BAD_INPUT;
	}
	return code;
}

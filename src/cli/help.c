/* sonde help, -h and the man pages, all written from the same tables of commands and options. */
#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/help.h"

void sn_command_print_help(const struct sn_command *command, FILE *out)
{
	fprintf(out, "usage: sonde %s [OPTIONS] %s\n\n%s.\n\n", command->name, command->operands,
		command->summary);
	for (const struct sn_option *o = command->options; o->name; o++) {
		char left[64];

		snprintf(left, sizeof(left), "--%s%s%s", o->name,
			 o->metavar && o->metavar[0] != '[' ? " " : "",
			 o->metavar ? o->metavar : "");
		if (o->letter)
			fprintf(out, "  -%c, %-24s %s\n", o->letter, left, o->help);
		else
			fprintf(out, "      %-24s %s\n", left, o->help);
	}
	if (command->examples && command->examples[0])
		fputs("\n", out);
	for (const char *const *e = command->examples; e && *e; e += 2)
		fprintf(out, "  %-44s %s\n", e[0], e[1]);
}

/* mdoc takes a leading dot or quote for a request, and a backslash for an escape. */
static void man_text(FILE *out, const char *chars)
{
	bool at_line_start = true;

	for (const char *c = chars; *c; c++) {
		if (at_line_start && (*c == '.' || *c == '\''))
			fputs("\\&", out);
		if (*c == '\\')
			fputs("\\e", out);
		else if (*c == '-')
			fputs("\\-", out);
		else
			fputc(*c, out);
		at_line_start = *c == '\n';
	}
}

static void man_paragraphs(FILE *out, const char *chars)
{
	const char *blank;

	while ((blank = strstr(chars, "\n\n"))) {
		struct sn_text paragraph = { 0 };

		sn_text_add_bytes(&paragraph, chars, (size_t)(blank - chars));
		man_text(out, paragraph.chars);
		fputs("\n.PP\n", out);
		sn_text_free(&paragraph);
		chars = blank + 2;
	}
	man_text(out, chars);
	fputc('\n', out);
}

static void man_words(const struct sn_command *command, FILE *out)
{
	struct sn_word word;

	fputs(".SH ", out);
	for (const char *c = command->words_are; *c; c++)
		fputc(toupper((unsigned char)*c), out);
	fputc('\n', out);
	for (size_t i = 0; command->word_at(i, &word); i++) {
		fputs(".TP\n\\fB", out);
		man_text(out, word.name);
		fputs("\\fR", out);
		if (word.operand) {
			fputs(" \\fI", out);
			man_text(out, word.operand);
			fputs("\\fR", out);
		}
		fputc('\n', out);
		man_text(out, word.help);
		fputs(word.column_count ? ".\nColumns:" : ".", out);
		for (size_t c = 0; c < word.column_count; c++) {
			fputs(" ", out);
			man_text(out, word.columns[c].key);
		}
		fputs(word.column_count ? ".\n" : "\n", out);
	}
}

/* The man page in mdoc (man(7) is printed by `sonde help --man COMMAND`). */
static void print_man(const struct sn_command *command, FILE *out)
{
	char page[64];

	snprintf(page, sizeof(page), "sonde-%s", command->name);
	for (char *c = page; *c; c++)
		if (*c == ' ')
			*c = '-';
	fprintf(out, ".TH %s 1 \"\" \"sonde %s\" \"sonde manual\"\n.SH NAME\n%s \\- ", page,
		SN_VERSION, page);
	man_text(out, command->summary);
	fprintf(out, "\n.SH SYNOPSIS\n.B sonde %s\n[OPTIONS] ", command->name);
	man_text(out, command->operands);
	fputs("\n.SH DESCRIPTION\n", out);
	man_paragraphs(out, command->description);
	if (command->word_at)
		man_words(command, out);
	fputs(".SH OPTIONS\n", out);
	for (const struct sn_option *o = command->options; o->name; o++) {
		fputs(".TP\n", out);
		if (o->letter)
			fprintf(out, "\\fB\\-%c\\fR, ", o->letter);
		fputs("\\fB\\-\\-", out);
		man_text(out, o->name);
		fputs("\\fR", out);
		if (o->metavar) {
			fputs(" \\fI", out);
			man_text(out, o->metavar);
			fputs("\\fR", out);
		}
		fputc('\n', out);
		man_text(out, o->help);
		fputs(".\n", out);
	}
	if (command->examples && command->examples[0])
		fputs(".SH EXAMPLES\n", out);
	for (const char *const *e = command->examples; e && *e; e += 2) {
		fputs(".TP\n.B ", out);
		man_text(out, e[0]);
		fputc('\n', out);
		man_text(out, e[1]);
		fputs(".\n", out);
	}
	fputs(".SH EXIT STATUS\n", out);
	if (sn_command_exits_as_target(command))
		fputs("That of the target (128+n for a signal); 125 could not measure, 126 not "
		      "executable, 127 not found.\n",
		      out);
	else
		fputs("0 success, 1 a finding, 2 wrong usage, 3 not enough data, 4 not supported "
		      "here, 5 bad input or input/output error, 70 out of memory.\n",
		      out);
	if (command->goes_on_after)
		fputs("Of a program that is to be run: 125 could not measure, 126 not executable, "
		      "127 not found.\n",
		      out);
	fputs(".SH SEE ALSO\n.BR sonde (1)\n", out);
}

static void print_overview(FILE *out)
{
	fputs("usage: sonde ./PROGRAM [ARGS...]      profile it and print a one-page answer\n"
	      "       sonde COMMAND [OPTIONS] ...\n\n",
	      out);
	for (const struct sn_command *const *c = sn_commands; *c; c++)
		fprintf(out, "  %-18s %s\n", (*c)->name, (*c)->summary);
	fputs("\n'sonde COMMAND -h' lists a command's options, 'sonde help COMMAND' tells all.\n",
	      out);
}

static void print_overview_man(FILE *out)
{
	fprintf(out,
		".TH sonde 1 \"\" \"sonde %s\" \"sonde manual\"\n.SH NAME\nsonde \\- where the "
		"time of a native program goes, why, and what fixing it would gain\n"
		".SH SYNOPSIS\n.B sonde\n[\\fICOMMAND\\fR] [OPTIONS] ...\n.br\n.B sonde\n"
		"\\&./\\fIPROGRAM\\fR [ARGS...]\n.SH COMMANDS\n",
		SN_VERSION);
	for (const struct sn_command *const *c = sn_commands; *c; c++) {
		fprintf(out, ".TP\n.B %s\n", (*c)->name);
		man_text(out, (*c)->summary);
		fputs(".\n", out);
	}
}

const struct sn_command *sn_command_find(const char *name)
{
	for (const struct sn_command *const *c = sn_commands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}

bool sn_command_family_print(const char *family, FILE *out)
{
	size_t length = strlen(family);
	bool found = false;

	for (const struct sn_command *const *c = sn_commands; *c; c++) {
		if (strncmp((*c)->name, family, length) != 0 || (*c)->name[length] != ' ')
			continue;
		fprintf(out, "%s  sonde %-20s %s\n", found ? "" : "usage:\n", (*c)->name,
			(*c)->summary);
		found = true;
	}
	return found;
}

static void print_words(const struct sn_command *command)
{
	struct sn_word word;

	printf("\n%s:\n", command->words_are);
	for (size_t i = 0; command->word_at(i, &word); i++) {
		char left[64];

		snprintf(left, sizeof(left), "%s%s%s", word.name, word.operand ? " " : "",
			 word.operand ? word.operand : "");
		printf("  %-28s %s\n", left, word.help);
	}
}

static int help_run(const struct sn_args *args)
{
	const struct sn_command *command;
	struct sn_text name = { 0 };

	for (size_t i = 0; i < args->operand_count; i++)
		sn_text_addf(&name, "%s%s", i ? " " : "", args->operands[i]);
	if (!name.chars) {
		if (sn_args_flag(args, "man"))
			print_overview_man(stdout);
		else
			print_overview(stdout);
		return SN_EXIT_OK;
	}
	command = sn_command_find(name.chars);
	if (!command) {
		bool is_family = args->operand_count == 1 && !sn_args_flag(args, "man") &&
				 sn_command_family_print(name.chars, stdout);

		if (!is_family)
			sn_warn("there is no command '%s'; 'sonde help' lists them", name.chars);
		sn_text_free(&name);
		return is_family ? SN_EXIT_OK : SN_EXIT_USAGE;
	}
	sn_text_free(&name);
	if (sn_args_flag(args, "man")) {
		print_man(command, stdout);
	} else {
		sn_command_print_help(command, stdout);
		fprintf(stdout, "\n%s\n", command->description);
		if (command->word_at)
			print_words(command);
	}
	return SN_EXIT_OK;
}

static const struct sn_option help_options[] = {
	{ "man", 0, NULL, "print the man page's source", NULL },
	{ 0 },
};

const struct sn_command sn_command_help = {
	.name = "help",
	.operands = "[COMMAND]",
	.summary = "Lists the commands, or tells all about one",
	.description = "Without a command it prints one line for each; with one, its options, "
		       "examples and description.",
	.options = help_options,
	.examples = (const char *const[]){ "sonde help record", "all about record", NULL },
	.run = help_run,
};

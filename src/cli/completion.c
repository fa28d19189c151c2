/*
 * sonde completion: scripts for bash, zsh and fish, made from the tables of commands and options.
 */
#include <string.h>

#include "cli/command.h"

/* What the first operand can be, a blank behind each. */
static void put_words(const struct sn_command *command, FILE *out)
{
	struct sn_word word;

	for (size_t i = 0; command->word_at(i, &word); i++)
		fprintf(out, "%s ", word.name);
}

/* What follows "sonde " on the line decides: a family's member is two words, joined by a space. */
static void print_bash(FILE *out)
{
	fputs("_sonde() {\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	      "\tlocal one=${COMP_WORDS[1]} two=\"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" options= words=\n"
	      "\tcase \"$two\" in\n",
	      out);
	for (int words = 2; words >= 1; words--) {
		for (const struct sn_command *const *c = sn_commands; *c; c++) {
			if ((strchr((*c)->name, ' ') != NULL) != (words == 2))
				continue;
			fprintf(out, "\t\"%s\"%s) options=\"", (*c)->name, words == 1 ? "*" : "");
			for (const struct sn_option *o = (*c)->options; o->name; o++)
				fprintf(out, "--%s ", o->name);
			fputs("\" ;;\n", out);
		}
	}
	fputs("\tesac\n\tif [ $COMP_CWORD -eq 1 ]; then\n\t\tCOMPREPLY=($(compgen -f -W \"", out);
	for (const struct sn_command *const *c = sn_commands; *c; c++)
		fprintf(out, "%.*s ", (int)strcspn((*c)->name, " "), (*c)->name);
	fputs("\" -- \"$cur\"))\n\t\treturn\n\tfi\n\tcase \"$one:$prev\" in\n", out);
	for (const struct sn_command *const *c = sn_commands; *c; c++) {
		for (const struct sn_option *o = (*c)->options; o->name; o++) {
			if (!o->choices)
				continue;
			fprintf(out, "\t%.*s:--%s) COMPREPLY=($(compgen -W \"",
				(int)strcspn((*c)->name, " "), (*c)->name, o->name);
			for (const char *at = o->choices; *at; at++)
				fputc(*at == '|' ? ' ' : *at, out);
			fputs("\" -- \"$cur\")); return ;;\n", out);
		}
		if ((*c)->word_at) {
			fprintf(out, "\t%s:%s) words=\"", (*c)->name, (*c)->name);
			put_words(*c, out);
			fputs("\" ;;\n", out);
		}
	}
	fputs("\tesac\n\tif [[ $cur == -* ]]; then\n\t\tCOMPREPLY=($(compgen -W \"$options\" -- "
	      "\"$cur\"))\n\telse\n\t\tCOMPREPLY=($(compgen -f -W \"$words\" -- \"$cur\"))\n\tfi\n}\n"
	      "complete -o filenames -F _sonde sonde\n",
	      out);
}

static void single_quoted(FILE *out, const char *chars)
{
	for (const char *c = chars; *c; c++) {
		if (*c == '\'')
			fputs("'\\''", out);
		else
			fputc(*c, out);
	}
}

static void print_zsh(FILE *out)
{
	fputs("#compdef sonde\n_sonde() {\n\tlocal one=$words[2] two=\"$words[2] $words[3]\"\n"
	      "\tif (( CURRENT == 2 )); then\n\t\tlocal -a commands=(\n",
	      out);
	for (const struct sn_command *const *c = sn_commands; *c; c++) {
		fprintf(out, "\t\t\t'%.*s:", (int)strcspn((*c)->name, " "), (*c)->name);
		single_quoted(out, (*c)->summary);
		fputs("'\n", out);
	}
	fputs("\t\t)\n\t\t_describe command commands\n\t\t_files\n\t\treturn\n\tfi\n"
	      "\tcase \"$two\" in\n",
	      out);
	for (int words = 2; words >= 1; words--) {
		for (const struct sn_command *const *c = sn_commands; *c; c++) {
			if ((strchr((*c)->name, ' ') != NULL) != (words == 2))
				continue;
			fprintf(out, "\t\"%s\"%s) _arguments ", (*c)->name, words == 1 ? "*" : "");
			for (const struct sn_option *o = (*c)->options; o->name; o++)
				fprintf(out, "'--%s%s' ", o->name,
					o->metavar && o->metavar[0] != '[' ? "=" : "");
			if ((*c)->word_at) {
				fputs("'1:word:{compadd ", out);
				put_words(*c, out);
				fputs("; _files}' ", out);
			}
			fputs("'*:file:_files' ;;\n", out);
		}
	}
	fputs("\tesac\n}\n_sonde \"$@\"\n", out);
}

static void fish_words(const struct sn_command *command, FILE *out)
{
	struct sn_word word;

	for (size_t i = 0; command->word_at && command->word_at(i, &word); i++) {
		fprintf(out, "complete -c sonde -n '__fish_seen_subcommand_from %s' -a %s -d '",
			command->name, word.name);
		single_quoted(out, word.help);
		fputs("'\n", out);
	}
}

static void print_fish(FILE *out)
{
	for (const struct sn_command *const *c = sn_commands; *c; c++) {
		int first = (int)strcspn((*c)->name, " ");

		fprintf(out, "complete -c sonde -n __fish_use_subcommand -a %.*s -d '", first,
			(*c)->name);
		single_quoted(out, (*c)->summary);
		fputs("'\n", out);
		fish_words(*c, out);
		for (const struct sn_option *o = (*c)->options; o->name; o++) {
			fprintf(out,
				"complete -c sonde -n '__fish_seen_subcommand_from %.*s' -l %s",
				first, (*c)->name, o->name);
			if (o->letter)
				fprintf(out, " -s %c", o->letter);
			if (o->metavar && o->metavar[0] != '[')
				fputs(" -r", out);
			fputs(" -d '", out);
			single_quoted(out, o->help);
			fputs("'\n", out);
		}
	}
}

static int completion_run(const struct sn_args *args)
{
	const char *shell = args->operand_count == 1 ? args->operands[0] : "";

	if (!strcmp(shell, "bash")) {
		print_bash(stdout);
	} else if (!strcmp(shell, "zsh")) {
		print_zsh(stdout);
	} else if (!strcmp(shell, "fish")) {
		print_fish(stdout);
	} else {
		sn_warn("completion takes the name of a shell: bash, zsh or fish");
		return SN_EXIT_USAGE;
	}
	return SN_EXIT_OK;
}

static const struct sn_option completion_options[] = { { 0 } };

const struct sn_command sn_command_completion = {
	.name = "completion",
	.operands = "bash|zsh|fish",
	.summary = "Prints the completion script of a shell",
	.description = "Source what it prints, or put it where your shell looks for completions.",
	.options = completion_options,
	.examples = (const char *const[]){ "source <(sonde completion bash)",
					   "complete in this shell", NULL },
	.run = completion_run,
};

/**
 * Commands and their options. Each command is one table, from which the parser, -h, the man pages
 * and the shell completion are made. A file of this folder defines one command (or a few of one
 * family); `all.c` lists them.
 */
#ifndef SN_CLI_COMMAND_H
#define SN_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/table.h"

enum { SN_OPTIONS_MAX = 64 };

struct sn_option {
	const char *name;    /* without the dashes */
	char letter;	     /* 0: none */
	const char *metavar; /* NULL: a flag; "[=MODE]": a value may follow behind '=' */
	const char *help;    /* one sentence, no full stop */
	const char *choices; /* "text|csv|json" for completion and checking; NULL: any */
};

struct sn_args;

/** A word that a command's first operand can be. */
struct sn_word {
	const char *name;    /* "functions" */
	const char *operand; /* what may follow: "[FUNCTION]"; NULL: nothing of its own */
	const char *help;    /* one line, no full stop */
	const struct sn_column *columns; /* of the table that it stands for; NULL: none */
	size_t column_count;
};

struct sn_command {
	const char *name;	 /* "record"; a family's member has two words: "pandore compile" */
	const char *operands;	 /* "-- PROGRAM [ARGS...]"; "": takes none */
	const char *summary;	 /* one line for the list of commands */
	const char *description; /* paragraphs for the man page, separated by a blank line */
	const struct sn_option *options; /* ends with a NULL name */
	const char *const *examples; /* ends with NULL: command line, then what it does, in turn */
	/* what the first operand can be, one an index, false behind the last, and the heading of
	 * their list; NULL: anything */
	const char *words_are;
	bool (*word_at)(size_t index, struct sn_word *out);
	bool stops_at_operand; /* options after the first operand belong to the target */
	/* but not after an operand for which this is true; NULL: after none */
	bool (*goes_on_after)(const struct sn_args *before, const char *operand);
	/* -h is an option of its own; this is what it does alone. NULL: -h prints the help */
	int (*h_alone)(void);
	int (*run)(const struct sn_args *args); /* returns the exit code */
};

/** Whether its exit status is that of the target that it runs. */
static inline bool sn_command_exits_as_target(const struct sn_command *command)
{
	return command->stops_at_operand && !command->goes_on_after;
}

struct sn_args {
	const struct sn_command *command;
	const char *values[SN_OPTIONS_MAX]; /* last value given, or NULL; flags: "" */
	const struct sn_given {
		size_t option;
		const char *value;
	} * given; /* every option in order, for those that may be repeated */
	size_t given_count;
	char **operands; /* ends with NULL */
	size_t operand_count;
	bool asks_for_help; /* -h or --help is among the options */
};

/** All commands, ended by NULL. */
extern const struct sn_command *const sn_commands[];

/** The value of an option, "" for a flag that was given, NULL if it was not. The name must be in
 *  the command's table. */
const char *sn_args_value(const struct sn_args *args, const char *name);
bool sn_args_flag(const struct sn_args *args, const char *name);
/** The value of an option as a whole number; `otherwise` if the option was not given. */
sn_status sn_args_integer(const struct sn_args *args, const char *name, long long otherwise,
			  long long *out, struct sn_error *err);
sn_status sn_args_real(const struct sn_args *args, const char *name, double otherwise, double *out,
		       struct sn_error *err);

/** The options that every table has. They go into a command's own option table. */
#define SN_TABLE_OPTIONS                                                                           \
	SN_TABLE_OPTIONS_WITH("how to print: text, csv, json or jsonl", "text|csv|json|jsonl")
/** The same with more formats. */
#define SN_TABLE_OPTIONS_WITH(words, formats)                                                                           \
	{ "format", 'f', "FORMAT", words, formats },                                                                    \
		{ "sort", 's', "COLUMN", "order by this column; -COLUMN turns the order round",                         \
		  NULL },                                                                                               \
		{ "cols", 'c', "A,B,..", "print these columns, in this order", NULL },                                  \
		{ "filter", 'F', "EXPRESSION",                                                                          \
		  "keep rows where KEY=VALUE, KEY!=VALUE, KEY~REGEX, KEY>NUMBER (5ms, 4kB, 1%), joined by and, or, ()", \
		  NULL },                                                                                               \
		{ "top", 't', "N", "print N rows at most (text: 20 unless said)", NULL },                               \
	{                                                                                                               \
		"all", 'a', NULL, "print every row", NULL                                                               \
	}

/** Reads SN_TABLE_OPTIONS into a view (schema and the rest are the caller's). */
sn_status sn_args_table_view(const struct sn_args *args, struct sn_table_view *view,
			     struct sn_error *err);

/** Parses the words after the command's name, argv[0] on. Bad usage is SN_ERR_USAGE with a
 * sentence. */
sn_status sn_args_parse(const struct sn_command *command, int argc, char **argv,
			struct sn_args *out, struct sn_error *err);
void sn_args_free(struct sn_args *args);

/** The -h text. */
void sn_command_print_help(const struct sn_command *command, FILE *out);

#endif

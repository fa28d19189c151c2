/*
 * Parses a command line by the command's table of options: types, choices and numbers of operands
 * are checked before a command sees them.
 */
#include "cli/command.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/spelling.h"
#include "base/vec.h"

static size_t option_index(const struct sn_command *command, const char *name, size_t length)
{
	size_t i = 0;

	for (; command->options[i].name; i++)
		if (strlen(command->options[i].name) == length &&
		    !strncmp(command->options[i].name, name, length))
			break;
	return i;
}

const char *sn_args_value(const struct sn_args *args, const char *name)
{
	size_t i = option_index(args->command, name, strlen(name));

	assert(args->command->options[i].name);
	return args->values[i];
}

bool sn_args_flag(const struct sn_args *args, const char *name)
{
	return sn_args_value(args, name) != NULL;
}

sn_status sn_args_integer(const struct sn_args *args, const char *name, long long otherwise,
			  long long *out, struct sn_error *err)
{
	const char *value = sn_args_value(args, name);
	char *end;

	*out = otherwise;
	if (!value)
		return SN_OK;
	errno = 0;
	*out = strtoll(value, &end, 10);
	if (!*value || *end || errno)
		return sn_error_set(err, SN_ERR_USAGE, "--%s takes a whole number, not '%s'", name,
				    value);
	return SN_OK;
}

sn_status sn_args_real(const struct sn_args *args, const char *name, double otherwise, double *out,
		       struct sn_error *err)
{
	const char *value = sn_args_value(args, name);
	char *end;

	*out = otherwise;
	if (!value)
		return SN_OK;
	*out = strtod(value, &end);
	if (!*value || *end || *out != *out)
		return sn_error_set(err, SN_ERR_USAGE, "--%s takes a number, not '%s'", name,
				    value);
	return SN_OK;
}

sn_status sn_args_table_view(const struct sn_args *args, struct sn_table_view *view,
			     struct sn_error *err)
{
	long long top;
	sn_status status = sn_format_parse(sn_args_value(args, "format"), &view->format, err);

	if (status == SN_OK)
		status = sn_args_integer(args, "top", view->format == SN_FORMAT_TEXT ? 20 : 0, &top,
					 err);
	if (status != SN_OK)
		return status;
	if (top < 0)
		return sn_error_set(err, SN_ERR_USAGE, "--top takes a number of rows, not %lld",
				    top);
	view->top = sn_args_flag(args, "all") ? 0 : (size_t)top;
	if (sn_args_value(args, "sort"))
		view->sort = sn_args_value(args, "sort");
	view->columns = sn_args_value(args, "cols");
	view->filter = sn_args_value(args, "filter");
	return SN_OK;
}

static bool choice_is_known(const char *choices, const char *value)
{
	size_t length = strlen(value);

	for (const char *at = choices; at;) {
		if (!strncmp(at, value, length) && (at[length] == '|' || !at[length]))
			return true;
		at = strchr(at, '|');
		if (at)
			at++;
	}
	return false;
}

struct parser {
	const struct sn_command *command;
	struct sn_args *args;
	SN_VEC(struct sn_given) given;
	sn_strings operands;
};

static sn_status option_take(struct parser *parser, size_t i, const char *value,
			     struct sn_error *err)
{
	const struct sn_option *option = &parser->command->options[i];
	struct sn_given given = { i, value };

	if (option->choices && !choice_is_known(option->choices, value))
		return sn_error_set(err, SN_ERR_USAGE, "--%s takes %s %s, not '%s'", option->name,
				    strchr(option->choices, '|') ? "one of" : "only",
				    option->choices, value);
	parser->args->values[i] = value;
	sn_vec_push(&parser->given, given);
	return SN_OK;
}

static sn_status option_unknown(const struct sn_command *command, const char *name, size_t length,
				struct sn_error *err)
{
	char *own = sn_strndup(name, length);
	const char *near = NULL;
	sn_status status;

	for (const struct sn_option *o = command->options; o->name; o++)
		if (sn_spelling_is_nearer(own, o->name, near))
			near = o->name;
	if (near)
		status = sn_error_set(
			err, SN_ERR_USAGE,
			"'%s' has no option '--%s'; did you mean '--%s'? ('sonde %s -h' lists "
			"them)",
			command->name, own, near, command->name);
	else
		status = sn_error_set(err, SN_ERR_USAGE,
				      "'%s' has no option '--%s'; 'sonde %s -h' lists them",
				      command->name, own, command->name);
	free(own);
	return status;
}

static sn_status long_option(struct parser *parser, char **argv, int argc, int *at,
			     struct sn_error *err)
{
	const char *name = argv[*at] + 2, *equals = strchr(name, '=');
	size_t length = equals ? (size_t)(equals - name) : strlen(name);
	size_t i = option_index(parser->command, name, length);
	const struct sn_option *option = &parser->command->options[i];

	if (!option->name)
		return option_unknown(parser->command, name, length, err);
	if (!option->metavar && equals)
		return sn_error_set(err, SN_ERR_USAGE, "--%s takes no value", option->name);
	if (!option->metavar)
		return option_take(parser, i, "", err);
	if (equals)
		return option_take(parser, i, equals + 1, err);
	if (option->metavar[0] == '[') /* its value may be left out */
		return option_take(parser, i, "", err);
	if (*at + 1 >= argc)
		return sn_error_set(err, SN_ERR_USAGE, "--%s needs a value: --%s %s", option->name,
				    option->name, option->metavar);
	return option_take(parser, i, argv[++*at], err);
}

static sn_status short_options(struct parser *parser, char **argv, int argc, int *at,
			       struct sn_error *err)
{
	for (const char *c = argv[*at] + 1; *c; c++) {
		size_t i = 0;

		while (parser->command->options[i].name && parser->command->options[i].letter != *c)
			i++;
		if (!parser->command->options[i].name)
			return sn_error_set(err, SN_ERR_USAGE,
					    "'%s' has no option '-%c'; 'sonde %s -h' lists them",
					    parser->command->name, *c, parser->command->name);
		if (!parser->command->options[i].metavar) {
			sn_status status = option_take(parser, i, "", err);

			if (status != SN_OK)
				return status;
			continue;
		}
		if (c[1])
			return option_take(parser, i, c + 1, err);
		if (*at + 1 >= argc)
			return sn_error_set(err, SN_ERR_USAGE, "-%c needs a value: -%c %s", *c, *c,
					    parser->command->options[i].metavar);
		return option_take(parser, i, argv[++*at], err);
	}
	return SN_OK;
}

static bool asks_for_help(const struct sn_command *command, const char *word)
{
	const struct sn_option *option = command->options;

	if (strcmp(word, "-h") != 0)
		return !strcmp(word, "--help");
	while (option->name && option->letter != 'h')
		option++;
	return !option->name;
}

sn_status sn_args_parse(const struct sn_command *command, int argc, char **argv,
			struct sn_args *out, struct sn_error *err)
{
	struct parser parser = { .command = command, .args = out };
	sn_status status = SN_OK;
	bool only_operands = false;

	*out = (struct sn_args){ .command = command };
	for (int at = 0; at < argc && status == SN_OK; at++) {
		if (only_operands || argv[at][0] != '-' || !argv[at][1]) {
			sn_vec_push(&parser.operands, argv[at]);
			only_operands |=
				command->stops_at_operand &&
				!(command->goes_on_after && command->goes_on_after(out, argv[at]));
		} else if (!strcmp(argv[at], "--")) {
			only_operands = true;
		} else if (asks_for_help(command, argv[at])) {
			out->asks_for_help = true;
		} else if (argv[at][1] == '-') {
			status = long_option(&parser, argv, argc, &at, err);
		} else {
			status = short_options(&parser, argv, argc, &at, err);
		}
	}
	if (status == SN_OK && parser.operands.count && !command->operands[0])
		status = sn_error_set(err, SN_ERR_USAGE, "%s takes no operand, but was given '%s'",
				      command->name, parser.operands.items[0]);
	sn_vec_push(&parser.operands, NULL);
	out->given = parser.given.items;
	out->given_count = parser.given.count;
	out->operands = parser.operands.items;
	out->operand_count = parser.operands.count - 1;
	if (status != SN_OK)
		sn_args_free(out);
	return status;
}

void sn_args_free(struct sn_args *args)
{
	free((void *)args->given);
	free(args->operands);
	args->given = NULL;
	args->operands = NULL;
}

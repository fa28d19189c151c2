/* Points of observation, as --observe names them. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "mpi/lattice/parts.h"

enum choice_kind { BY_ZONE, BY_LINE, BY_FUNCTION, BY_KIND, BY_LABEL };

struct sn_mpi_point_choice {
	enum choice_kind kind;
	const char *value; /* of BY_LINE: the file, with `length` characters */
	size_t length;
	unsigned long line;
	unsigned kinds; /* BY_KIND: bits of enum point_kind */
};

enum point_kind { SENDS, RECEIVES, WAITS, COLLECTIVES, PROBES, OTHERS, POINT_KINDS };
static const char *const kind_names[POINT_KINDS] = { "send",	   "recv",  "wait",
						     "collective", "probe", "other" };

static bool is_between(enum sn_mpi_meaning meaning, enum sn_mpi_meaning first,
		       enum sn_mpi_meaning last)
{
	return meaning >= first && meaning <= last;
}

static unsigned kinds_of(enum sn_mpi_meaning meaning)
{
	if (is_between(meaning, SN_MPI_MEANS_SENDRECV, SN_MPI_MEANS_ISENDRECV_REPLACE))
		return 1U << SENDS | 1U << RECEIVES;
	if (is_between(meaning, SN_MPI_MEANS_SEND, SN_MPI_MEANS_SEND_INIT) ||
	    meaning == SN_MPI_MEANS_PSEND_INIT || meaning == SN_MPI_MEANS_START ||
	    meaning == SN_MPI_MEANS_STARTALL)
		return 1U << SENDS;
	if (is_between(meaning, SN_MPI_MEANS_RECV, SN_MPI_MEANS_RECV_INIT) ||
	    meaning == SN_MPI_MEANS_PRECV_INIT ||
	    is_between(meaning, SN_MPI_MEANS_MRECV, SN_MPI_MEANS_IMRECV))
		return 1U << RECEIVES;
	if (is_between(meaning, SN_MPI_MEANS_WAIT, SN_MPI_MEANS_TESTSOME))
		return 1U << WAITS;
	if (is_between(meaning, SN_MPI_MEANS_PROBE, SN_MPI_MEANS_IMPROBE))
		return 1U << PROBES;
	if (is_between(meaning, SN_MPI_MEANS_BARRIER, SN_MPI_MEANS_NEIGHBOR_ALLTOALLW))
		return 1U << COLLECTIVES;
	return 1U << OTHERS;
}

static sn_status kinds_read(const char *value, unsigned *out, struct sn_error *err)
{
	*out = 0;
	for (const char *at = value; *at;) {
		size_t length = strcspn(at, ",");
		unsigned k = 0;

		while (k < POINT_KINDS &&
		       (strlen(kind_names[k]) != length || strncmp(kind_names[k], at, length) != 0))
			k++;
		if (k == POINT_KINDS)
			return sn_error_set(
				err, SN_ERR_USAGE,
				"--observe kind=%s: '%.*s' is no kind of call; they are send, "
				"recv, wait, collective, probe and other",
				value, (int)length, at);
		*out |= 1U << k;
		at += length + (at[length] == ',');
	}
	return SN_OK;
}

static sn_status line_read(struct sn_mpi_point_choice *choice, const char *value,
			   struct sn_error *err)
{
	const char *colon = strrchr(value, ':'), *digits = colon ? colon + 1 : value;
	char *end;

	choice->length = colon ? (size_t)(colon - value) : 0;
	choice->line = strtoul(digits, &end, 10);
	if (*digits < '0' || *digits > '9' || *end || choice->line == 0)
		return sn_error_set(err, SN_ERR_USAGE,
				    "--observe line=%s: give a line's number, or FILE:N", value);
	return SN_OK;
}

sn_status sn_mpi_points_add(struct sn_mpi_points *points, const char *text, struct sn_error *err)
{
	static const char *const names[] = { [BY_ZONE] = "zone",
					     [BY_LINE] = "line",
					     [BY_FUNCTION] = "function",
					     [BY_KIND] = "kind",
					     [BY_LABEL] = "label" };
	size_t length = strcspn(text, "=");
	struct sn_mpi_point_choice choice = { 0 };
	sn_status status = SN_OK;
	int kind = BY_ZONE;

	while (kind <= BY_LABEL &&
	       (strlen(names[kind]) != length || strncmp(names[kind], text, length) != 0))
		kind++;
	if (kind > BY_LABEL || text[length] != '=' || !text[length + 1])
		return sn_error_set(
			err, SN_ERR_USAGE,
			"--observe %s: give zone=NAME, line=N, function=F, kind=send,recv,.. "
			"or label=L",
			text);
	choice.kind = (enum choice_kind)kind;
	choice.value = text + length + 1;
	if (kind == BY_KIND)
		status = kinds_read(choice.value, &choice.kinds, err);
	else if (kind == BY_LINE)
		status = line_read(&choice, choice.value, err);
	if (status == SN_OK)
		sn_vec_push(&points->choices, choice);
	return status;
}

void sn_mpi_points_free(struct sn_mpi_points *points)
{
	sn_vec_free(&points->choices);
}

static bool is_point_by_default(const struct sn_mpi *mpi, const struct sn_mpi_node *node)
{
	enum sn_mpi_meaning meaning;

	if (node->label)
		return false;
	meaning = sn_mpi_function_meaning(mpi->events.items[node->event].function);
	return meaning != SN_MPI_MEANS_INIT && meaning != SN_MPI_MEANS_FINALIZE && !node->is_idle;
}

static bool line_matches(const struct sn_mpi_point_choice *choice, const struct sn_program *program,
			 struct sn_mpi_site site)
{
	const struct sn_program_line *line;
	size_t length;

	if (site.line == SN_NONE)
		return false;
	line = &program->lines.items[site.line];
	if (line->line != choice->line)
		return false;
	if (!choice->length)
		return true;
	length = line->file ? strlen(line->file) : 0;
	return length >= choice->length &&
	       !strncmp(line->file + length - choice->length, choice->value, choice->length) &&
	       (length == choice->length || line->file[length - choice->length - 1] == '/');
}

static bool function_matches(const struct sn_mpi_point_choice *choice,
			     const struct sn_program *program, struct sn_mpi_site site)
{
	return site.function != SN_NONE &&
	       !strcmp(program->functions.items[site.function].name, choice->value);
}

static bool choice_has(const struct sn_mpi_point_choice *choice, const struct sn_program *program,
		       const struct sn_mpi *mpi, const struct sn_mpi_node *node,
		       struct sn_mpi_site site, const char *zone)
{
	if (choice->kind == BY_LABEL)
		return node->label &&
		       (!strcmp(choice->value, "*") || !strcmp(choice->value, node->label));
	if (!is_point_by_default(mpi, node))
		return false;
	switch (choice->kind) {
	case BY_ZONE:
		return zone && !strcmp(zone, choice->value);
	case BY_LINE:
		return line_matches(choice, program, site);
	case BY_FUNCTION:
		return function_matches(choice, program, site);
	default:
		return kinds_of(sn_mpi_function_meaning(mpi->events.items[node->event].function)) &
		       choice->kinds;
	}
}

bool sn_mpi_points_have(const struct sn_mpi_points *points, const struct sn_program *program,
			const struct sn_mpi *mpi, const struct sn_mpi_node *node,
			struct sn_mpi_site site, const char *zone)
{
	if (node->is_begin)
		return false;
	if (!points->choices.count)
		return is_point_by_default(mpi, node);
	for (size_t i = 0; i < points->choices.count; i++)
		if (choice_has(&points->choices.items[i], program, mpi, node, site, zone))
			return true;
	return false;
}

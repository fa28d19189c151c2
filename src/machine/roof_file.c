/* Roofs by name, and the file that keeps them: lines of fields with tabs between. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "machine/roofs.h"

enum { ROOFS_MOST = 4096 };

const char *const sn_roof_kind_names[SN_ROOF_KINDS] = {
	"read",		 "triad",	  "scalar_double", "scalar_single",
	"vector_double", "vector_single", "fma_double",	   "fma_single",
};
const char *const sn_roof_state_names[SN_ROOF_STATES] = { "measured", "uncertain", "kept" };
static const char *const level_names[SN_MEMORY_LEVELS] = { "L1", "L2", "L3", "RAM" };

const char *sn_roof_level_name(const struct sn_roof *roof)
{
	return roof->level < SN_MEMORY_LEVELS ? level_names[roof->level] : NULL;
}

const struct sn_roof *sn_roofs_find(const struct sn_roofs *roofs, enum sn_roof_kind kind,
				    unsigned level, unsigned threads)
{
	for (size_t i = 0; i < roofs->items.count; i++) {
		const struct sn_roof *roof = &roofs->items.items[i];

		if (roof->kind == kind && roof->level == level && roof->threads == threads)
			return roof;
	}
	return NULL;
}

unsigned sn_roofs_threads(const struct sn_roofs *roofs)
{
	unsigned most = 0;

	for (size_t i = 0; i < roofs->items.count; i++)
		if (roofs->items.items[i].threads > most)
			most = roofs->items.items[i].threads;
	return most;
}

void sn_roofs_free(struct sn_roofs *roofs)
{
	sn_vec_free(&roofs->items);
}

char *sn_roofs_path(void)
{
	char *profile = sn_memory_profile_path(), *slash = strrchr(profile, '/');
	struct sn_text path = { 0 };

	sn_text_addf(&path, "%.*s/roofs.tsv", (int)(slash - profile), profile);
	free(profile);
	return sn_text_take(&path);
}

sn_status sn_roofs_write(const struct sn_roofs *roofs, const char *path, struct sn_error *err)
{
	struct sn_file_writer writer;
	sn_status status = sn_file_writer_open(&writer, path, err);

	if (status)
		return status;
	fprintf(writer.out,
		"# Written by 'sonde calibrate': what this machine does at most, a second.\n"
		"roofs\t1\nhost\t%s\ndate\t%s\n",
		roofs->host, roofs->date);
	for (size_t i = 0; i < roofs->items.count; i++) {
		const struct sn_roof *r = &roofs->items.items[i];
		const char *level = sn_roof_level_name(r);

		fprintf(writer.out, "roof\t%s\t%s\t%u\t%.6g\t%.6g\t%.6g\t%s\n",
			sn_roof_kind_names[r->kind], level ? level : "-", r->threads, r->value,
			r->low, r->high, sn_roof_state_names[r->state]);
	}
	return sn_file_writer_commit(&writer, err);
}

/* The number of a name; `count` if it is none of them. */
static unsigned number_of(const char *name, const char *const *names, unsigned count)
{
	unsigned i = 0;

	while (i < count && strcmp(names[i], name) != 0)
		i++;
	return i;
}

/* False for a line that no calibration writes. */
static bool roof_read(const char *line, struct sn_roofs *out)
{
	char kind[32], level[8], state[16], rest;
	struct sn_roof roof;
	unsigned k, s;

	if (sscanf(line, "roof\t%31s\t%7s\t%u\t%lf\t%lf\t%lf\t%15s %c", kind, level, &roof.threads,
		   &roof.value, &roof.low, &roof.high, state, &rest) != 7)
		return false;
	k = number_of(kind, sn_roof_kind_names, SN_ROOF_KINDS);
	s = number_of(state, sn_roof_state_names, SN_ROOF_STATES);
	roof.level = number_of(level, level_names, SN_MEMORY_LEVELS);
	if (k == SN_ROOF_KINDS || s == SN_ROOF_STATES || !roof.threads || roof.threads > 65536 ||
	    !(roof.low > 0 && roof.low <= roof.value && roof.value <= roof.high &&
	      roof.high < 1e18))
		return false;
	roof.kind = (enum sn_roof_kind)k;
	roof.state = (enum sn_roof_state)s;
	if ((roof.kind <= SN_ROOF_TRIAD) != (roof.level < SN_MEMORY_LEVELS) ||
	    (roof.level == SN_MEMORY_LEVELS && strcmp(level, "-") != 0) ||
	    sn_roofs_find(out, roof.kind, roof.level, roof.threads) ||
	    out->items.count == ROOFS_MOST)
		return false;
	sn_vec_push(&out->items, roof);
	return true;
}

static bool line_read(const char *line, unsigned number, struct sn_roofs *out)
{
	if (line[0] == '#' || !line[0])
		return true;
	if (strncmp(line, "roofs\t", 6) == 0)
		return number <= 2 && strcmp(line, "roofs\t1") == 0;
	if (strncmp(line, "host\t", 5) == 0)
		return snprintf(out->host, sizeof(out->host), "%s", line + 5) > 0;
	if (strncmp(line, "date\t", 5) == 0) {
		if (strlen(line + 5) == 10 && strspn(line + 5, "0123456789-") == 10)
			memcpy(out->date, line + 5, 11);
		return true;
	}
	return roof_read(line, out);
}

enum { LINE_MOST = 511 };

sn_status sn_roofs_read_memory(const void *bytes, size_t length, const char *name,
			       struct sn_roofs *out, struct sn_error *err)
{
	const char *at = bytes, *end = at + length;
	char line[LINE_MOST + 1];
	unsigned number = 0, strange = 0;

	memset(out, 0, sizeof(*out));
	while (!strange && at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t size = (size_t)((newline ? newline : end) - at);

		number++;
		if (size > LINE_MOST || memchr(at, '\0', size)) {
			strange = number;
			break;
		}
		memcpy(line, at, size);
		line[size] = '\0';
		if (!line_read(line, number, out))
			strange = number;
		at += size + (newline != NULL);
	}
	if (!strange && out->items.count && out->host[0])
		return SN_OK;
	return sn_error_set(
		err, SN_ERR_FORMAT,
		"'%s' has no roofs of a machine (line %u is not as 'sonde calibrate' writes "
		"it)",
		name, strange ? strange : number + 1);
}

sn_status sn_roofs_read(const char *path, struct sn_roofs *out, struct sn_error *err)
{
	struct sn_file_view view;
	sn_status status;

	memset(out, 0, sizeof(*out));
	if (access(path, F_OK) && (errno == ENOENT || errno == ENOTDIR))
		return sn_error_set(err, SN_ERR_NOT_FOUND, "there is no '%s'", path);
	status = sn_file_map(path, &view, err);
	if (status != SN_OK)
		return status;
	status = sn_roofs_read_memory(view.bytes, view.length, path, out, err);
	sn_file_unmap(&view);
	return status;
}

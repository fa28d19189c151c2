/* The list of sources: a source is a file and a line here. */
#include <string.h>

#include "search/evidence/sources.h"

extern const struct sn_source sn_source_samples, sn_source_waits, sn_source_kernel,
	sn_source_static;

const struct sn_source *const sn_sources[] = { &sn_source_samples, &sn_source_waits,
					       &sn_source_kernel, &sn_source_static, NULL };

static const struct sn_source *source_find(const char *name)
{
	for (const struct sn_source *const *s = sn_sources; *s; s++)
		if (!strcmp((*s)->name, name))
			return *s;
	return NULL;
}

void sn_source_requirement_add(struct sn_text *out, const char *name)
{
	const struct sn_source *source = source_find(name);

	if (source)
		sn_text_addf(out, "needs %s", source->needs);
	else
		sn_text_add(out, "the search does not read yet");
}

/* Strategies as shared objects: one of sonde's by its name, or the file that a user typed. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/own_file.h"
#include "base/spelling.h"
#include "search/engine/parts.h"

static const char *const shipped[] = { "time", "property", "data", "mpi" };
enum { SHIPPED = sizeof(shipped) / sizeof(*shipped) };

static sn_status name_unknown(const char *name, struct sn_error *err)
{
	const char *near = NULL;

	for (size_t i = 0; i < SHIPPED; i++)
		if (sn_spelling_is_nearer(name, shipped[i], near))
			near = shipped[i];
	if (near)
		return sn_error_set(err, SN_ERR_USAGE,
				    "there is no strategy '%s'; did you mean '%s'?", name, near);
	return sn_error_set(
		err, SN_ERR_USAGE,
		"there is no strategy '%s'; there are time, property, data and mpi, and "
		"files by their path (./mine.so)",
		name);
}

/* The path of the shared object; the caller frees. */
static sn_status path_of(const char *strategy, char **out, struct sn_error *err)
{
	struct sn_text built = { 0 }, installed = { 0 };
	size_t i = 0;

	*out = NULL;
	if (strchr(strategy, '/')) {
		struct sn_text path = { 0 };

		sn_text_add(&path, strategy);
		*out = sn_text_take(&path);
		return SN_OK;
	}
	while (i < SHIPPED && strcmp(strategy, shipped[i]) != 0)
		i++;
	if (i == SHIPPED)
		return name_unknown(strategy, err);
	sn_text_addf(&built, "src/search/strategies/%s.so", strategy);
	sn_text_addf(&installed, "strategies/%s.so", strategy);
	*out = sn_own_file(built.chars, installed.chars);
	sn_text_free(&built);
	sn_text_free(&installed);
	if (*out)
		return SN_OK;
	return sn_error_set(err, SN_ERR_NOT_FOUND,
			    "search: strategy '%s' is not where sonde was installed; install sonde "
			    "again",
			    strategy);
}

sn_status sn_search_load(struct sn_search *s, struct sn_error *err)
{
	const char *name = s->options.strategy ? s->options.strategy : "time";
	const struct sonde_strategy *strategy;
	char *path;
	sn_status status = path_of(name, &path, err);

	if (status != SN_OK)
		return status;
	s->strategy_library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	free(path);
	if (!s->strategy_library)
		return sn_error_set(
			err, SN_ERR_USAGE,
			"search: cannot load strategy '%s': %s; it is to be a shared object for this machine "
			"('cc -shared -fPIC')",
			name, dlerror());
	strategy = dlsym(s->strategy_library, "sonde_strategy");
	if (!strategy)
		return sn_error_set(
			err, SN_ERR_USAGE,
			"search: '%s' is no strategy: it does not export 'sonde_strategy'", name);
	if (strategy->abi != SONDE_STRATEGY_ABI)
		return sn_error_set(
			err, SN_ERR_UNSUPPORTED,
			"search: strategy '%s' was built for ABI %u, and this sonde has "
			"%u; build it again",
			name, strategy->abi, SONDE_STRATEGY_ABI);
	if (!strategy->first || !strategy->refine || !strategy->name)
		return sn_error_set(err, SN_ERR_USAGE,
				    "search: strategy '%s' lacks a name, 'first' or 'refine'",
				    name);
	s->strategy = strategy;
	return SN_OK;
}

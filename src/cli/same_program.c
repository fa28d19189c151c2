/* Whether what is about to run is what an experiment was recorded of. */
#include "cli/same_program.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "code/image.h"
#include "record/target.h"

/* Nothing, where it cannot be read. */
static void identify(const char *path, struct sn_text *id)
{
	struct sn_text state = { 0 };

	if (sn_image_identify(path, NULL, id, &state, NULL) != SN_OK)
		sn_text_free(id);
	sn_text_free(&state);
}

static bool has_id(const struct sn_experiment *experiment, const char *path)
{
	struct sn_text id = { 0 };
	bool is_there = false;

	identify(path, &id);
	for (uint32_t m = 0; id.chars && m < experiment->modules.count; m++)
		is_there |= !strcmp(experiment->modules.items[m].build_id, id.chars);
	sn_text_free(&id);
	return is_there;
}

/* A launcher's words: the name of a program may stand in one of them, as in sh -c './app 3'. */
static bool is_named(const struct sn_experiment *experiment, char *const *words)
{
	for (uint32_t m = 0; m < experiment->modules.count; m++) {
		const struct sn_module *module = &experiment->modules.items[m];

		for (char *const *word = words; module->is_main && *word; word++)
			if (strstr(*word, sn_base_name(module->path)))
				return true;
	}
	return false;
}

/* Addresses of another build are other code. */
sn_status sn_cli_check_builds(const struct sn_experiment *experiment, const char *program,
			      const char *given, struct sn_error *err)
{
	struct sn_target target;
	bool is_found = sn_target_find(program, &target, NULL) == SN_OK;
	struct sn_text own = { 0 };
	sn_status status = SN_OK;

	if (is_found)
		identify(target.path, &own);

	for (uint32_t m = 0; status == SN_OK && m < experiment->modules.count; m++) {
		const struct sn_module *module = &experiment->modules.items[m];
		const char *path =
			is_found && !strcmp(sn_base_name(target.path), sn_base_name(module->path))
				? target.path
				: module->path;
		struct sn_text id = { 0 }, state = { 0 };

		if (module->is_main && module->kind == SN_MODULE_FILE && *module->build_id &&
		    /* it is what will run, under whatever name; nobody cares what lies where it was */
		    !(own.chars && !strcmp(own.chars, module->build_id)) &&
		    /* else it is not there any more: nobody runs it */
		    sn_image_identify(path, NULL, &id, &state, NULL) == SN_OK &&
		    strcmp(id.chars, module->build_id) != 0)
			status = sn_error_set(
				err, SN_ERR_USAGE,
				"'%s' is another build (%.12s) than the one in '%s' (%.12s), so that "
				"its code lies elsewhere: leave --from away, for a first run of it",
				path, id.chars, given, module->build_id);
		sn_text_free(&id);
		sn_text_free(&state);
	}
	sn_text_free(&own);
	return status;
}

sn_status sn_cli_check_same_program(const struct sn_experiment *experiment, char *const *words,
				    const char *given, struct sn_error *err)
{
	struct sn_target target;

	if (sn_target_find(words[0], &target, NULL) == SN_OK && !has_id(experiment, target.path) &&
	    !is_named(experiment, words) &&
	    /* a script is no module; what it runs is looked at by its build */
	    strcmp(sn_base_name(experiment->program), sn_base_name(words[0])) != 0)
		return sn_error_set(err, SN_ERR_USAGE,
				    "'%s' is of %s, and not of %s: --from takes an experiment of "
				    "the same program; leave it away, for a first run",
				    given, sn_base_name(experiment->program),
				    sn_base_name(words[0]));
	return sn_cli_check_builds(experiment, words[0], given, err);
}

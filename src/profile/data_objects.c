/* From data addresses to variables. */
#include "profile/data_objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "code/image.h"
#include "code/variables.h"

struct module_data {
	bool is_read;
	struct sn_image *image; /* NULL: the file is not here, or another one */
	struct sn_variables *variables;
};

struct sn_data_objects {
	const struct sn_experiment *experiment;
	struct module_data *modules; /* by index */
};

struct sn_data_objects *sn_data_objects_new(const struct sn_experiment *experiment)
{
	struct sn_data_objects *objects = sn_alloc_zeroed(1, sizeof(*objects));

	objects->experiment = experiment;
	objects->modules =
		sn_alloc_zeroed(experiment->modules.count + 1, sizeof(*objects->modules));
	return objects;
}

void sn_data_objects_free(struct sn_data_objects *objects)
{
	if (!objects)
		return;
	for (size_t m = 0; m < objects->experiment->modules.count; m++) {
		sn_variables_free(objects->modules[m].variables);
		sn_image_free(objects->modules[m].image);
	}
	free(objects->modules);
	free(objects);
}

static const struct module_data *module_read(struct sn_data_objects *objects, uint32_t m)
{
	const struct sn_module *module = &objects->experiment->modules.items[m];
	struct module_data *data = &objects->modules[m];
	struct sn_error err;

	if (data->is_read)
		return data;
	data->is_read = true;
	if (module->kind != SN_MODULE_FILE ||
	    sn_image_open(module->path, NULL, &data->image, &err) != SN_OK)
		return data;
	if (module->build_id[0] && strcmp(sn_image_id(data->image), module->build_id) != 0) {
		sn_image_free(data->image);
		data->image = NULL;
	} else if (sn_variables_read(data->image, &data->variables, &err) != SN_OK) {
		data->variables = NULL;
	}
	return data;
}

struct sn_data_object sn_data_object_at(struct sn_data_objects *objects, uint32_t process,
					uint64_t address, int64_t time_ns)
{
	const struct sn_experiment *e = objects->experiment;
	struct sn_data_object found = { .kind = SN_DATA_MEMORY, .name = "memory" };

	/* a module's data lie at the same distance from its link addresses as its code */
	for (size_t i = 0; i < e->mappings.count; i++) {
		const struct sn_mapping *mapping = &e->mappings.items[i];
		const struct module_data *data;
		const struct sn_section *section;
		const struct sn_variable *variable;

		if (mapping->process != process || address < mapping->load_bias ||
		    time_ns >= mapping->unmap_ns)
			continue;
		data = module_read(objects, mapping->module);
		section = data->image
				  ? sn_image_section_at(data->image, address - mapping->load_bias)
				  : NULL;
		if (!section)
			continue;
		variable = data->variables
				   ? sn_variables_at(data->variables, address - mapping->load_bias)
				   : NULL;
		found.module = e->modules.items[mapping->module].name;
		found.kind = variable ? SN_DATA_VARIABLE : SN_DATA_SECTION;
		found.name = variable ? variable->name : section->name;
		found.type = variable ? variable->type : NULL;
		return found;
	}
	return found;
}

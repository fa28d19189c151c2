/* From data addresses to variables. */
#include "profile/data_objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "code/image.h"
#include "code/variables.h"

struct module_data {
	bool is_open, is_read;	/* with its variables */
	bool is_another;	/* the file is not the one that ran */
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

/* Its image, if the file is the one that ran. */
static struct module_data *module_open(struct sn_data_objects *objects, uint32_t m)
{
	const struct sn_module *module = &objects->experiment->modules.items[m];
	struct module_data *data = &objects->modules[m];
	struct sn_error err;

	if (data->is_open)
		return data;
	data->is_open = true;
	if (module->kind != SN_MODULE_FILE ||
	    sn_image_open(module->path, NULL, &data->image, &err) != SN_OK)
		return data;
	data->is_another =
		module->build_id[0] && strcmp(sn_image_id(data->image), module->build_id) != 0;
	if (data->is_another) {
		sn_image_free(data->image);
		data->image = NULL;
	}
	return data;
}

static const struct module_data *module_read(struct sn_data_objects *objects, uint32_t m)
{
	struct module_data *data = module_open(objects, m);
	struct sn_error err;

	if (data->is_read)
		return data;
	data->is_read = true;
	if (data->image && sn_variables_read(data->image, &data->variables, &err) != SN_OK)
		data->variables = NULL;
	return data;
}

struct sn_held sn_data_held(struct sn_data_objects *objects, uint32_t module,
			    uint64_t return_link_addr, struct sn_arena *arena)
{
	const struct module_data *data = module_read(objects, module);

	return data->image ? sn_held_find(data->image, data->variables, return_link_addr, arena)
			   : (struct sn_held){ 0 };
}

/* The symbol of data that holds a link address; NULL: none. */
static const struct sn_symbol *symbol_at(const struct sn_image *image, uint64_t link_addr)
{
	enum { STEPS = 16 }; /* symbols may lie in each other */
	size_t count, low = 0, high;
	const struct sn_symbol *symbols = sn_image_data_symbols(image, &count);

	high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols[middle].link_addr <= link_addr)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low, steps = 0; i-- > 0 && steps < STEPS; steps++)
		if (link_addr - symbols[i].link_addr < symbols[i].size_bytes && symbols[i].name)
			return &symbols[i];
	return NULL;
}

/* The bytes of a variable that no other one lies in, around an address in it. */
static void variable_extent(const struct sn_variables *variables,
			    const struct sn_variable *variable, uint64_t bias,
			    struct sn_data_object *found, uint64_t address)
{
	const struct sn_variable *end = variables->items.items + variables->addressed;
	const struct sn_variable *next = variable + 1;

	while (next < end && next->link_addr <= address - bias)
		next++;
	found->first_address = next == variable + 1 ? variable->link_addr + bias : address;
	found->last_address = variable->link_addr + variable->size_bytes - 1 + bias;
	if (next < end && next->link_addr + bias <= found->last_address)
		found->last_address = next->link_addr + bias - 1;
}

/* An address in a section of a module. */
static void object_fill(const struct module_data *data, const struct sn_section *section,
			uint64_t bias, uint64_t address, struct sn_data_object *found)
{
	const struct sn_variable *variable =
		data->variables ? sn_variables_at(data->variables, address - bias) : NULL;
	const struct sn_symbol *symbol = variable ? NULL : symbol_at(data->image, address - bias);

	found->first_address = found->last_address = address;
	if (variable) {
		found->kind = SN_DATA_VARIABLE;
		found->name = variable->name;
		found->type = variable->type;
		found->variable = variable;
		found->address = variable->link_addr + bias;
		variable_extent(data->variables, variable, bias, found, address);
	} else if (symbol) {
		found->kind = SN_DATA_VARIABLE;
		found->name = symbol->name;
		found->address = symbol->link_addr + bias;
		if (!data->variables) {
			found->first_address = found->address;
			found->last_address = found->address + symbol->size_bytes - 1;
		}
	} else {
		found->kind = SN_DATA_SECTION;
		found->name = section->name;
	}
}

struct sn_data_object sn_data_object_at(struct sn_data_objects *objects, uint32_t process,
					uint64_t address, int64_t time_ns)
{
	const struct sn_experiment *e = objects->experiment;
	struct sn_data_object found = { .kind = SN_DATA_MEMORY,
					.name = "memory",
					.first_address = address,
					.last_address = address };

	/* a module's data lie at the same distance from its link addresses as its code */
	for (size_t i = 0; i < e->mappings.count; i++) {
		const struct sn_mapping *mapping = &e->mappings.items[i];
		const struct module_data *data;
		const struct sn_section *section;

		if (mapping->process != process || address < mapping->load_bias ||
		    time_ns >= mapping->unmap_ns)
			continue;
		data = module_read(objects, mapping->module);
		section = data->image
				  ? sn_image_section_at(data->image, address - mapping->load_bias)
				  : NULL;
		if (!section)
			continue;
		found.module = e->modules.items[mapping->module].name;
		object_fill(data, section, mapping->load_bias, address, &found);
		return found;
	}
	return found;
}

/* The program of a process: the first of its mappings that is one. */
static const struct sn_mapping *program_of(const struct sn_experiment *e, uint32_t process)
{
	for (size_t i = 0; i < e->mappings.count; i++)
		if (e->mappings.items[i].process == process &&
		    e->modules.items[e->mappings.items[i].module].is_main)
			return &e->mappings.items[i];
	return NULL;
}

const char *sn_data_program_replaced(struct sn_data_objects *objects, uint32_t process)
{
	const struct sn_mapping *program = program_of(objects->experiment, process);

	return program && module_open(objects, program->module)->is_another
		       ? objects->experiment->modules.items[program->module].name
		       : NULL;
}

static void thread_local_fill(const struct module_data *data, uint64_t begin, uint64_t bytes,
			      uint64_t address, struct sn_data_object *found)
{
	const struct sn_variable *variable =
		data->variables ? sn_variables_thread_local_at(data->variables, address - begin)
				: NULL;

	found->kind = variable ? SN_DATA_VARIABLE : SN_DATA_SECTION;
	found->name = variable ? variable->name : ".tbss";
	found->type = variable ? variable->type : NULL;
	found->variable = variable;
	found->address = variable ? begin + variable->link_addr : begin;
	found->first_address = variable ? found->address : address;
	found->last_address = variable ? found->address + variable->size_bytes - 1 : address;
	if (found->last_address > begin + bytes - 1)
		found->last_address = begin + bytes - 1;
}

bool sn_data_thread_local_at(struct sn_data_objects *objects, uint32_t process, uint64_t address,
			     struct sn_data_object *found, uint64_t *first, uint64_t *last)
{
	const struct sn_experiment *e = objects->experiment;
	const struct sn_mapping *program = NULL;
	const struct module_data *data;
	uint64_t bytes;

	*first = 0;
	*last = UINT64_MAX;
	for (size_t t = 0; t < e->threads.count; t++) {
		const struct sn_thread *thread = &e->threads.items[t];
		uint64_t begin;

		if (thread->process != process || !thread->thread_pointer)
			continue;
		program = program ? program : program_of(e, process);
		data = program ? module_read(objects, program->module) : NULL;
		bytes = data && data->image ? sn_image_facts(data->image).thread_bytes : 0;
		if (!bytes)
			return false;
		begin = thread->thread_pointer - bytes;
		if (address - begin < bytes) {
			*found = (struct sn_data_object){
				.module = e->modules.items[program->module].name
			};
			thread_local_fill(data, begin, bytes, address, found);
			return true;
		}
		if (address >= thread->thread_pointer && thread->thread_pointer > *first)
			*first = thread->thread_pointer;
		if (address < begin && begin - 1 < *last)
			*last = begin - 1;
	}
	return false;
}

/* Names of variables by their addresses in a process, from the files that it had mapped. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "code/demangle.h"
#include "code/image.h"
#include "locks/parts.h"

struct sn_lock_names {
	const struct sn_experiment *experiment;
	struct sn_image **images; /* by module */
	bool *are_tried;
};

struct sn_lock_names *sn_lock_names_new(const struct sn_experiment *experiment)
{
	struct sn_lock_names *names = sn_alloc_zeroed(1, sizeof(*names));

	names->experiment = experiment;
	names->images = sn_alloc_zeroed(experiment->modules.count + 1, sizeof(*names->images));
	names->are_tried = sn_alloc_zeroed(experiment->modules.count + 1, 1);
	return names;
}

/* The file that was mapped, if it is still the same; else NULL. */
static struct sn_image *image_of(struct sn_lock_names *names, uint32_t number)
{
	const struct sn_module *module = &names->experiment->modules.items[number];
	struct sn_error err;

	if (names->are_tried[number])
		return names->images[number];
	names->are_tried[number] = true;
	if (module->kind != SN_MODULE_FILE ||
	    sn_image_open(module->path, NULL, &names->images[number], &err) != SN_OK)
		return names->images[number] = NULL;
	if (module->build_id[0] &&
	    strcmp(sn_image_id(names->images[number]), module->build_id) != 0) {
		sn_image_free(names->images[number]);
		names->images[number] = NULL;
	}
	return names->images[number];
}

static bool is_in_data(const struct sn_image *image, uint64_t link_addr)
{
	size_t count;
	const struct sn_segment *segments = sn_image_segments(image, &count);

	for (size_t i = 0; i < count; i++)
		if (segments[i].is_writable && link_addr >= segments[i].link_addr &&
		    link_addr - segments[i].link_addr < segments[i].memory_bytes)
			return true;
	return false;
}

static bool symbol_add(const struct sn_image *image, uint64_t link_addr, struct sn_text *out)
{
	size_t count;
	const struct sn_symbol *symbols = sn_image_data_symbols(image, &count), *best = NULL;

	for (size_t i = 0; i < count && symbols[i].link_addr <= link_addr; i++)
		if (symbols[i].name && link_addr - symbols[i].link_addr < symbols[i].size_bytes)
			best = &symbols[i];
	if (!best)
		return false;
	if (!sn_demangle(best->name, out))
		sn_text_add(out, best->name);
	if (link_addr > best->link_addr)
		sn_text_addf(out, "+0x%llx", (unsigned long long)(link_addr - best->link_addr));
	return true;
}

bool sn_lock_names_find(struct sn_lock_names *names, uint32_t process, uint64_t address,
			struct sn_text *out)
{
	const struct sn_experiment *e = names->experiment;

	for (size_t i = 0; i < e->mappings.count; i++) {
		const struct sn_mapping *mapping = &e->mappings.items[i];
		struct sn_image *image;

		if (mapping->process != process || address < mapping->load_bias)
			continue;
		image = image_of(names, mapping->module);
		if (!image || !is_in_data(image, address - mapping->load_bias))
			continue;
		if (!symbol_add(image, address - mapping->load_bias, out))
			sn_text_addf(out, "%s+0x%llx", e->modules.items[mapping->module].name,
				     (unsigned long long)(address - mapping->load_bias));
		return true;
	}
	return false;
}

void sn_lock_names_free(struct sn_lock_names *names)
{
	for (size_t i = 0; i < names->experiment->modules.count; i++)
		sn_image_free(names->images[i]);
	free(names->images);
	free(names->are_tried);
	free(names);
}

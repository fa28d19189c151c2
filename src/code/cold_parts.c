/* Which functions the parts belong to that compilers split off as rarely run (".cold" in their names). */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "code/image_parts.h"
#include "code/kept_file.h"
#include "code/structure_parts.h"

/* The length of a name without ".cold", ".cold.12" at its end; 0 if it has none. */
static size_t parent_name_length(const char *name)
{
	const char *cold = NULL;

	for (const char *at = name; (at = strstr(at, ".cold")); at += 5)
		cold = at;
	if (!cold || cold == name || cold[5 + strspn(cold + 5, ".0123456789")])
		return 0;
	return (size_t)(cold - name);
}

struct parent_key {
	const char *name;
	const struct sn_symbol *symbol; /* of the table of names: aliases are parents too */
};

static int by_name(const void *a, const void *b)
{
	const struct parent_key *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	if (order)
		return order;
	return x->symbol < y->symbol ? -1 : x->symbol > y->symbol;
}

/* The function that a cold part was split off from. It has that name and, if local, is of the same
 * file. Where several fit there is none, rather than a wrong one. */
static const struct sn_symbol *find_parent(const struct parent_key *keys, size_t count,
					   const struct sn_symbol *cold)
{
	char *name = sn_strndup(cold->name, parent_name_length(cold->name));
	struct parent_key key = { name, NULL };
	const struct sn_symbol *found = NULL;
	bool is_ambiguous = false;
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_name(&keys[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < count && !strcmp(keys[low].name, name); low++) {
		const struct sn_symbol *symbol = keys[low].symbol;

		if (symbol->is_local && cold->file && symbol->file &&
		    strcmp(symbol->file, cold->file) != 0)
			continue;
		is_ambiguous |= found && found->link_addr != symbol->link_addr;
		found = symbol;
	}
	free(name);
	return is_ambiguous ? NULL : found;
}

static struct parent_key *parent_keys(const struct sn_image *image, size_t *count)
{
	const struct sn_symbol *names = sn_image_names(image, count);
	struct parent_key *keys = sn_alloc_zeroed(*count + 1, sizeof(*keys));

	for (size_t i = 0; i < *count; i++)
		keys[i] = (struct parent_key){ names[i].name, &names[i] };
	qsort(keys, *count, sizeof(*keys), by_name);
	return keys;
}

uint32_t *sn_cold_parts_join(const struct sn_image *image, const struct sn_symbol *symbols,
			     size_t count)
{
	uint32_t *owner = sn_alloc_zeroed(count + 1, sizeof(*owner));
	struct parent_key *keys = NULL;
	size_t key_count = 0;

	for (size_t i = 0; i < count; i++) {
		const struct sn_symbol *parent;

		owner[i] = (uint32_t)i;
		if (symbols[i].kind != SN_SYMBOL_FUNCTION || !parent_name_length(symbols[i].name))
			continue;
		if (!keys)
			keys = parent_keys(image, &key_count);
		parent = find_parent(keys, key_count, &symbols[i]);
		if (parent)
			parent = sn_image_symbol_at(image, parent->link_addr);
		/* not to a cold part that has a parent of its own: one step is all that compilers
		 * make */
		if (parent && parent->kind == SN_SYMBOL_FUNCTION &&
		    !parent_name_length(parent->name))
			owner[i] = (uint32_t)(parent - symbols);
	}
	free(keys);
	return owner;
}

static void find_all(const struct sn_image *image, struct on_demand *d)
{
	size_t count;
	const struct sn_symbol *names = sn_image_names(image, &count);
	struct parent_key *keys = NULL;

	for (size_t i = 0; i < count; i++) {
		struct sn_symbol cold;
		const struct sn_symbol *symbol, *parent;
		struct cold_part part = { names[i].link_addr, 0 };

		if ((i && names[i - 1].link_addr == names[i].link_addr) ||
		    !parent_name_length(names[i].name))
			continue;
		symbol = sn_image_symbol_at(image, part.link_addr);
		if (!symbol || symbol->link_addr != part.link_addr ||
		    symbol->kind != SN_SYMBOL_FUNCTION)
			continue;
		cold = *symbol;
		if (!keys)
			keys = parent_keys(image, &count);
		parent = find_parent(keys, count, &cold);
		if (parent)
			parent = sn_image_symbol_at(image, parent->link_addr);
		if (!parent || parent->kind != SN_SYMBOL_FUNCTION ||
		    parent_name_length(parent->name))
			continue;
		part.parent_link_addr = parent->link_addr;
		sn_vec_push(&d->cold_parts, part);
	}
	free(keys);
}

static const struct sn_kept_kind kind = { "cold", "sncolds1" };

void sn_cold_parts_find(const struct sn_image *image, struct on_demand *d)
{
	struct sn_file_view kept;

	d->has_cold_parts = true;
	if (!sn_image_has_cold_names(image))
		return;
	if (!sn_image_read_kept(image, &kind, &kept)) {
		find_all(image, d);
		sn_image_keep(image, &kind, d->cold_parts.items,
			      d->cold_parts.count * sizeof(*d->cold_parts.items));
		return;
	}
	for (size_t at = 0; sn_kept_length(&kept) - at >= sizeof(struct cold_part);
	     at += sizeof(struct cold_part)) {
		struct cold_part part;

		memcpy(&part, kept.bytes + at, sizeof(part));
		sn_vec_push(&d->cold_parts, part);
	}
	sn_file_unmap(&kept);
}

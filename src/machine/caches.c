/*
 * Caches: the kernel's files under /sys tell sizes and sharing, as it corrects CPUID where that is
 * wrong; CPUID alone tells whether a level holds all of those before it, and is asked for the rest
 * where /sys is not there.
 */
#include "machine/caches.h"

#include <cpuid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/cores/cores.h"

/* ---- CPUID: leaf 4 (Intel), 0x8000001d (AMD), in the same form ---- */

static unsigned cpuid_leaf(void)
{
	unsigned eax, ebx, ecx, edx;

	if (__get_cpuid_count(0x8000001d, 0, &eax, &ebx, &ecx, &edx) && eax & 31)
		return 0x8000001d;
	return __get_cpuid_count(4, 0, &eax, &ebx, &ecx, &edx) && eax & 31 ? 4 : 0;
}

static bool cpuid_cache(unsigned leaf, unsigned index, struct sn_cache *out)
{
	unsigned eax, ebx, ecx, edx, type;

	if (!leaf || !__get_cpuid_count(leaf, index, &eax, &ebx, &ecx, &edx))
		return false;
	type = eax & 31;
	if (type < 1 || type > 3)
		return false;
	*out = (struct sn_cache){
		.level = eax >> 5 & 7,
		.kind = type == 1   ? SN_CACHE_DATA
			: type == 2 ? SN_CACHE_INSTRUCTION
				    : SN_CACHE_UNIFIED,
		.ways = eax >> 9 & 1 ? 0 : (ebx >> 22) + 1,
		.line_bytes = (ebx & 0xfff) + 1,
		.threads = (eax >> 14 & 0xfff) + 1,
		.inclusion = edx & 2 ? SN_CACHE_INCLUSIVE : SN_CACHE_NON_INCLUSIVE,
	};
	out->bytes = (uint64_t)((ebx >> 22) + 1) * ((ebx >> 12 & 0x3ff) + 1) * out->line_bytes *
		     ((uint64_t)ecx + 1);
	return true;
}

/* ---- /sys ---- */

static bool file_word(unsigned index, const char *name, char *out, size_t room)
{
	char path[128];
	FILE *in;
	bool found;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%u/%s", index, name);
	in = fopen(path, "re");
	found = in && fgets(out, (int)room, in);
	if (in)
		fclose(in);
	if (found)
		out[strcspn(out, "\n")] = 0;
	return found;
}

static unsigned file_number(unsigned index, const char *name)
{
	char word[64];

	return file_word(index, name, word, sizeof(word)) ? (unsigned)strtoul(word, NULL, 10) : 0;
}

/* "0-3,8-11" */
static unsigned count_of_list(const char *list)
{
	unsigned count = 0;

	while (*list) {
		char *end;
		unsigned long first = strtoul(list, &end, 10), last = first;

		if (end == list)
			break;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		count += (unsigned)(last - first + 1);
		list = *end == ',' ? end + 1 : end;
	}
	return count;
}

static uint64_t bytes_of_size(const char *size)
{
	char *end;
	uint64_t number = strtoull(size, &end, 10);

	return *end == 'K' ? number << 10 : *end == 'M' ? number << 20 : number;
}

static bool file_cache(unsigned index, struct sn_cache *out)
{
	char type[32], size[32], list[1024];

	if (!file_word(index, "type", type, sizeof(type)) ||
	    !file_word(index, "size", size, sizeof(size)))
		return false;
	*out = (struct sn_cache){
		.level = file_number(index, "level"),
		.kind = !strcmp(type, "Data")	       ? SN_CACHE_DATA
			: !strcmp(type, "Instruction") ? SN_CACHE_INSTRUCTION
						       : SN_CACHE_UNIFIED,
		.bytes = bytes_of_size(size),
		.ways = file_number(index, "ways_of_associativity"),
		.line_bytes = file_number(index, "coherency_line_size"),
	};
	if (file_word(index, "shared_cpu_list", list, sizeof(list)))
		out->threads = count_of_list(list);
	return out->level && out->bytes;
}

static struct sn_cache *cache_like(struct sn_caches *caches, const struct sn_cache *other)
{
	for (unsigned i = 0; i < caches->count; i++)
		if (caches->items[i].level == other->level && caches->items[i].kind == other->kind)
			return &caches->items[i];
	return NULL;
}

static void sort(struct sn_caches *caches)
{
	for (unsigned i = 1; i < caches->count; i++)
		for (unsigned k = i; k && (caches->items[k].level < caches->items[k - 1].level ||
					   (caches->items[k].level == caches->items[k - 1].level &&
					    caches->items[k].kind < caches->items[k - 1].kind));
		     k--) {
			struct sn_cache swapped = caches->items[k];

			caches->items[k] = caches->items[k - 1];
			caches->items[k - 1] = swapped;
		}
}

void sn_caches_native(struct sn_caches *out)
{
	unsigned leaf = cpuid_leaf();
	struct sn_cache cache;

	*out = (struct sn_caches){ 0 };
	for (unsigned i = 0; i < SN_CACHES_MAX && file_cache(i, &cache); i++)
		out->items[out->count++] = cache;
	bool has_files = out->count > 0;
	for (unsigned i = 0; i < SN_CACHES_MAX && cpuid_cache(leaf, i, &cache); i++) {
		struct sn_cache *there = cache_like(out, &cache);

		if (!has_files)
			out->items[out->count++] = cache;
		else if (there && there->level > 1)
			there->inclusion = cache.inclusion;
	}
	sort(out);
}

/* ---- the table ---- */

static bool word_is(const char *at, size_t length, const char *word)
{
	return strlen(word) == length && !strncmp(at, word, length);
}

/* The next word of a line, up to a tab or its end; moves on behind it. */
static size_t next_word(const char **at, const char **word)
{
	size_t length = strcspn(*at, "\t\n");

	*word = *at;
	*at += length + ((*at)[length] == '\t');
	return length;
}

static void row_read(const char *line, struct sn_cache *out)
{
	const char *word;
	size_t length;

	*out = (struct sn_cache){ 0 };
	next_word(&line, &word);
	out->level = (unsigned)strtoul(word, NULL, 10);
	length = next_word(&line, &word);
	out->kind = word_is(word, length, "data")	   ? SN_CACHE_DATA
		    : word_is(word, length, "instruction") ? SN_CACHE_INSTRUCTION
							   : SN_CACHE_UNIFIED;
	next_word(&line, &word);
	out->bytes = strtoull(word, NULL, 10) << 10;
	next_word(&line, &word);
	out->ways = (unsigned)strtoul(word, NULL, 10);
	next_word(&line, &word);
	out->line_bytes = (unsigned)strtoul(word, NULL, 10);
	length = next_word(&line, &word);
	out->reach = word_is(word, length, "core")	? SN_CACHE_OF_CORE
		     : word_is(word, length, "cluster") ? SN_CACHE_OF_CLUSTER
							: SN_CACHE_PIECE;
	length = next_word(&line, &word);
	out->inclusion = word_is(word, length, "inclusive")	  ? SN_CACHE_INCLUSIVE
			 : word_is(word, length, "non-inclusive") ? SN_CACHE_NON_INCLUSIVE
			 : word_is(word, length, "exclusive")	  ? SN_CACHE_EXCLUSIVE
								  : SN_CACHE_INCLUSION_UNKNOWN;
	length = next_word(&line, &word);
	out->policy = word_is(word, length, "lru")    ? SN_CACHE_LRU
		      : word_is(word, length, "plru") ? SN_CACHE_PLRU
						      : SN_CACHE_POLICY_UNKNOWN;
}

sn_status sn_caches_of(const char *machine, struct sn_caches *out, struct sn_error *err)
{
	const struct sn_core_text *text = sn_core_text_find("caches");
	size_t length = strlen(machine);

	*out = (struct sn_caches){ 0 };
	for (const char *line = text->chars; line < text->end;) {
		const char *next = memchr(line, '\n', (size_t)(text->end - line));

		if (!strncmp(line, machine, length) && line[length] == '\t' &&
		    out->count < SN_CACHES_MAX)
			row_read(line + length + 1, &out->items[out->count++]);
		if (!next)
			break;
		line = next + 1;
	}
	if (!out->count)
		return sn_error_set(err, SN_ERR_NOT_FOUND,
				    "the caches of '%s' are not known (data/machines/caches.tsv)",
				    machine);
	sort(out);
	return SN_OK;
}

/* ---- words ---- */

static void add_size(struct sn_text *out, uint64_t bytes)
{
	if (bytes % (1 << 20) == 0)
		sn_text_addf(out, "%llu MiB", (unsigned long long)(bytes >> 20));
	else
		sn_text_addf(out, "%llu KiB", (unsigned long long)(bytes >> 10));
}

void sn_caches_describe(const struct sn_caches *caches, struct sn_text *out)
{
	static const char *const letters[] = { "d", "i", "" };
	static const char *const inclusions[] = { "", " inclusive", "", " exclusive" };
	static const char *const reaches[] = { "", " a cluster", " a core" };

	for (unsigned i = 0; i < caches->count; i++) {
		const struct sn_cache *cache = &caches->items[i];

		sn_text_addf(out, "%sL%u%s ", i ? ", " : "", cache->level, letters[cache->kind]);
		add_size(out, cache->bytes);
		sn_text_add(out, reaches[cache->reach]);
		if (cache->ways)
			sn_text_addf(out, " %u-way", cache->ways);
		sn_text_add(out, inclusions[cache->inclusion]);
		if (cache->threads > 1)
			sn_text_addf(out, " of %u threads", cache->threads);
	}
	if (caches->count && caches->items[0].line_bytes)
		sn_text_addf(out, "; lines of %u bytes", caches->items[0].line_bytes);
}

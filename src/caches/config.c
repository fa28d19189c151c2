/* Shapes of caches: read from a text, taken from the machine, told in words. */
#include "caches/config.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { WAYS_MAX = 1024, PLRU_WAYS_MAX = 64, LINE_MAX_BYTES = 4096 };

static const uint64_t size_max = (uint64_t)1 << 30;

static bool is_power_of_two(uint64_t number)
{
	return number && !(number & (number - 1));
}

/* ---- of the machine ---- */

static struct sn_sim_shape shape_of(uint64_t bytes, unsigned ways, unsigned line_bytes)
{
	struct sn_sim_shape shape = { .ways = ways ? ways : 16 };

	shape.sets = bytes / line_bytes / shape.ways;
	if (!shape.sets)
		shape = (struct sn_sim_shape){ 1, 1 };
	return shape;
}

void sn_sim_config_native(struct sn_sim_config *out)
{
	struct sn_caches caches;
	struct sn_error err;

	sn_caches_native(&caches);
	if (!caches.count)
		(void)sn_caches_of("skylake-avx512", &caches, &err);
	*out = (struct sn_sim_config){
		.line_bytes = 64, .tlb = { 128, 12 }, .page_bytes = 4096, .last_is_shared = false
	};
	if (caches.count && is_power_of_two(caches.items[0].line_bytes) &&
	    caches.items[0].line_bytes >= 8)
		out->line_bytes = caches.items[0].line_bytes;
	for (unsigned i = 0; i < caches.count; i++) {
		const struct sn_cache *cache = &caches.items[i];

		if (cache->kind == SN_CACHE_INSTRUCTION || cache->level != out->level_count + 1 ||
		    out->level_count == SN_SIM_LEVELS_MAX)
			continue;
		out->levels[out->level_count++] =
			shape_of(cache->bytes, cache->ways, out->line_bytes);
	}
	out->last_is_shared = out->level_count == SN_SIM_LEVELS_MAX;
	if (!out->level_count)
		out->levels[out->level_count++] = shape_of(32 << 10, 8, out->line_bytes);
}

/* ---- from a text ---- */

struct item {
	char name[8];
	uint64_t number; /* k and m taken in */
	unsigned ways;	 /* 0: not given */
	int shared;	 /* -1: not said */
};

static sn_status item_error(const char *at, size_t length, const char *why, struct sn_error *err)
{
	return sn_error_set(err, SN_ERR_USAGE,
			    "--caches: '%.*s' %s; caches are given as "
			    "L1=48k/12,L2=2m/16,L3=36m/12,TLB=1536/12,line=64,page=4k",
			    (int)(length > 64 ? 64 : length), at, why);
}

/* "48k": moves on behind it; false: no number, or one that is too large. */
static bool number_read(const char **at, uint64_t *out)
{
	char *end;
	unsigned shift = 0;

	if (!isdigit((unsigned char)**at))
		return false;
	*out = strtoull(*at, &end, 10);
	if (*end == 'k' || *end == 'K')
		shift = 10;
	else if (*end == 'm' || *end == 'M')
		shift = 20;
	else if (*end == 'g' || *end == 'G')
		shift = 30;
	*at = end + (shift != 0);
	if (!*out || *out > size_max >> shift)
		return false;
	*out <<= shift;
	return true;
}

static sn_status item_read(const char *at, size_t length, struct item *out, struct sn_error *err)
{
	const char *next = at, *end = at + length;
	const char *equals = memchr(at, '=', length);
	uint64_t ways;

	*out = (struct item){ .shared = -1 };
	if (!equals || equals == at || (size_t)(equals - at) >= sizeof(out->name))
		return item_error(at, length, "is no 'NAME=SIZE'", err);
	memcpy(out->name, at, (size_t)(equals - at));
	next = equals + 1;
	if (!number_read(&next, &out->number))
		return item_error(at, length, "has no size from 1 to 1g", err);
	if (next < end && *next == '/' && isdigit((unsigned char)next[1])) {
		next++;
		if (!number_read(&next, &ways) || ways > WAYS_MAX)
			return item_error(at, length, "has no number of ways from 1 to 1024", err);
		out->ways = (unsigned)ways;
	}
	if (next < end && !strncmp(next, "/shared", 7)) {
		out->shared = 1;
		next += 7;
	} else if (next < end && !strncmp(next, "/private", 8)) {
		out->shared = 0;
		next += 8;
	}
	return next == end ? SN_OK
			   : item_error(at, length, "has something behind its size and ways", err);
}

/* A text being read: sizes become sets only when the line is known. */
struct reading {
	struct sn_sim_config config;
	struct item levels[SN_SIM_LEVELS_MAX], tlb;
	bool has_levels;
};

static sn_status item_take(struct reading *reading, const struct item *item, const char *at,
			   size_t length, struct sn_error *err)
{
	bool is_level = (item->name[0] == 'L' || item->name[0] == 'l') && item->name[1] >= '1' &&
			item->name[1] < '1' + SN_SIM_LEVELS_MAX && !item->name[2];

	if (is_level) {
		if (!item->ways)
			return item_error(at, length, "has no ways", err);
		if (item->name[1] == '1' && item->shared == 1)
			return item_error(at, length, "is each thread's own", err);
		if (reading->levels[item->name[1] - '1'].ways)
			return item_error(at, length, "gives a level for the second time", err);
		reading->has_levels = true;
		reading->levels[item->name[1] - '1'] = *item;
		return SN_OK;
	}
	if (item->shared >= 0)
		return item_error(at, length, "is no level of cache that could be shared", err);
	if (!strcmp(item->name, "TLB") || !strcmp(item->name, "tlb")) {
		if (!item->ways || item->number % item->ways)
			return item_error(at, length, "needs entries that its ways divide", err);
		reading->config.tlb =
			(struct sn_sim_shape){ item->number / item->ways, item->ways };
		return SN_OK;
	}
	if (!strcmp(item->name, "line")) {
		if (item->ways || !is_power_of_two(item->number) || item->number < 8 ||
		    item->number > LINE_MAX_BYTES)
			return item_error(at, length, "is no power of two from 8 to 4096 alone",
					  err);
		reading->config.line_bytes = (unsigned)item->number;
		return SN_OK;
	}
	if (!strcmp(item->name, "page")) {
		if (item->ways || !is_power_of_two(item->number))
			return item_error(at, length, "is no power of two alone", err);
		reading->config.page_bytes = item->number;
		return SN_OK;
	}
	return item_error(at, length, "names none of L1, L2, L3, TLB, line, page", err);
}

static sn_status levels_take(struct reading *reading, struct sn_error *err)
{
	struct sn_sim_config *config = &reading->config;

	config->level_count = 0;
	for (unsigned i = 0; i < SN_SIM_LEVELS_MAX; i++) {
		const struct item *item = &reading->levels[i];
		uint64_t way_bytes = (uint64_t)item->ways * config->line_bytes;

		if (!item->ways)
			continue;
		if (i && config->level_count == i && item->number < reading->levels[i - 1].number)
			return sn_error_set(
				err, SN_ERR_USAGE,
				"--caches: L%u is smaller than L%u, which could then hold "
				"what it does not",
				i + 1, i);
		if (config->level_count != i)
			return sn_error_set(err, SN_ERR_USAGE,
					    "--caches: L%u is given without L%u before it", i + 1,
					    config->level_count + 1);
		if (item->number % way_bytes)
			return sn_error_set(err, SN_ERR_USAGE,
					    "--caches: L%u: %llu bytes are no multiple of its %u "
					    "ways of lines of %u bytes",
					    i + 1, (unsigned long long)item->number, item->ways,
					    config->line_bytes);
		config->levels[config->level_count++] =
			(struct sn_sim_shape){ item->number / way_bytes, item->ways };
		if (item->shared == 1 && i + 1 < SN_SIM_LEVELS_MAX && reading->levels[i + 1].ways)
			return sn_error_set(err, SN_ERR_USAGE,
					    "--caches: L%u is not the last level: only that can be "
					    "shared",
					    i + 1);
		config->last_is_shared =
			item->shared >= 0 ? item->shared == 1 : i + 1 == SN_SIM_LEVELS_MAX;
	}
	return SN_OK;
}

/* Another line: caches of the same bytes. */
static void levels_keep_bytes(struct sn_sim_config *config, unsigned old_line_bytes)
{
	for (unsigned i = 0; i < config->level_count; i++) {
		uint64_t bytes = config->levels[i].sets * config->levels[i].ways * old_line_bytes;

		config->levels[i] = shape_of(bytes, config->levels[i].ways, config->line_bytes);
	}
}

static sn_status ways_check(const struct sn_sim_config *config, struct sn_error *err)
{
	for (unsigned i = 0; config->is_plru && i < config->level_count; i++)
		if (config->levels[i].ways > PLRU_WAYS_MAX)
			return sn_error_set(err, SN_ERR_USAGE,
					    "L%u has %u ways: with --policy plru no more than %d",
					    i + 1, config->levels[i].ways, PLRU_WAYS_MAX);
	if (config->is_plru && config->tlb.ways > PLRU_WAYS_MAX)
		return sn_error_set(err, SN_ERR_USAGE,
				    "the TLB has %u ways: with --policy plru no more than %d",
				    config->tlb.ways, PLRU_WAYS_MAX);
	if (config->page_bytes < config->line_bytes)
		return sn_error_set(err, SN_ERR_USAGE,
				    "--caches: a page is smaller than a line of %u bytes",
				    config->line_bytes);
	return SN_OK;
}

sn_status sn_sim_config_parse(const char *text, struct sn_sim_config *config, struct sn_error *err)
{
	struct reading reading = { .config = *config };
	sn_status status = SN_OK;

	for (const char *at = text; status == SN_OK; at++) {
		size_t length, all;
		struct item item;

		at += strspn(at, " ");
		length = all = strcspn(at, ",");
		while (length && at[length - 1] == ' ')
			length--;
		status = item_read(at, length, &item, err);
		if (status == SN_OK)
			status = item_take(&reading, &item, at, length, err);
		at += all;
		if (!*at)
			break;
	}
	if (status == SN_OK && reading.has_levels)
		status = levels_take(&reading, err);
	else if (status == SN_OK)
		levels_keep_bytes(&reading.config, config->line_bytes);
	if (status == SN_OK)
		status = ways_check(&reading.config, err);
	if (status == SN_OK)
		*config = reading.config;
	return status;
}

sn_status sn_sim_policy_parse(const char *text, struct sn_sim_config *config, struct sn_error *err)
{
	bool was_plru = config->is_plru;
	sn_status status;

	if (strcmp(text, "lru") != 0 && strcmp(text, "plru") != 0)
		return sn_error_set(err, SN_ERR_USAGE, "--policy is lru or plru, not '%s'", text);
	config->is_plru = !strcmp(text, "plru");
	status = ways_check(config, err);
	if (status != SN_OK)
		config->is_plru = was_plru;
	return status;
}

sn_status sn_sim_prefetch_parse(const char *text, struct sn_sim_config *config,
				struct sn_error *err)
{
	if (strcmp(text, "none") != 0 && strcmp(text, "stride") != 0)
		return sn_error_set(err, SN_ERR_USAGE, "--prefetch is none or stride, not '%s'",
				    text);
	config->has_prefetcher = !strcmp(text, "stride");
	return SN_OK;
}

/* ---- in words ---- */

static void add_bytes(struct sn_text *out, uint64_t bytes)
{
	if (bytes % (1 << 20) == 0)
		sn_text_addf(out, "%llu MiB", (unsigned long long)(bytes >> 20));
	else if (bytes % (1 << 10) == 0)
		sn_text_addf(out, "%llu KiB", (unsigned long long)(bytes >> 10));
	else
		sn_text_addf(out, "%llu bytes", (unsigned long long)bytes);
}

void sn_sim_config_describe(const struct sn_sim_config *config, struct sn_text *out)
{
	for (unsigned i = 0; i < config->level_count; i++) {
		const struct sn_sim_shape *level = &config->levels[i];

		sn_text_addf(out, "%sL%u ", i ? ", " : "", i + 1);
		add_bytes(out, level->sets * level->ways * config->line_bytes);
		sn_text_addf(out, " %u-way", level->ways);
		if (config->last_is_shared && i + 1 == config->level_count)
			sn_text_add(out, " shared");
	}
	sn_text_addf(out, "; lines of %u bytes; TLB of %llu entries, %u-way, pages of ",
		     config->line_bytes, (unsigned long long)config->tlb.sets * config->tlb.ways,
		     config->tlb.ways);
	add_bytes(out, config->page_bytes);
	sn_text_addf(out, "; %s; %s", config->is_plru ? "tree-PLRU" : "LRU",
		     config->has_prefetcher ? "prefetcher by stride" : "no prefetcher");
}

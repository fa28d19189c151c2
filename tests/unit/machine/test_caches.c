/* Caches: of every machine with a model, and of the one that the test runs on. */
#include "machine/caches.h"

#include "harness/tap.h"
#include "machine/cores/cores.h"

/* What holds for any cache of a processor of today. */
static void check_cache(const struct sn_cache *cache)
{
	CHECK(cache->level >= 1 && cache->level <= 4);
	CHECK(cache->line_bytes == 64 || cache->line_bytes == 128);
	CHECK(cache->bytes >= 4096 && cache->bytes % cache->line_bytes == 0);
	if (cache->ways)
		CHECK(cache->bytes % ((uint64_t)cache->ways * cache->line_bytes) == 0);
}

TEST(every_machine_has_its_caches)
{
	static const char *const machines[] = { "haswell",	  "skylake", "skylake-avx512",
						"cascadelake",	  "zen1",    "icelake-server",
						"sapphirerapids", "zen2",    "zen3",
						"zen4",		  "zen5" };

	for (unsigned m = 0; m < sizeof(machines) / sizeof(*machines); m++) {
		struct sn_caches caches;

		REQUIRE(sn_caches_of(machines[m], &caches, NULL) == SN_OK);
		CHECK_INT(caches.count, 4);
		for (unsigned i = 0; i < caches.count; i++)
			check_cache(&caches.items[i]);
		CHECK(caches.items[0].kind == SN_CACHE_DATA && caches.items[0].level == 1);
		CHECK(caches.items[1].kind == SN_CACHE_INSTRUCTION);
		CHECK(caches.items[2].level == 2 && caches.items[3].level == 3);
		CHECK(caches.items[2].bytes > caches.items[0].bytes);
	}
}

TEST(rows_are_read_as_written)
{
	struct sn_caches caches;
	struct sn_text text = { 0 };

	REQUIRE(sn_caches_of("zen4", &caches, NULL) == SN_OK);
	CHECK(caches.items[2].inclusion == SN_CACHE_INCLUSIVE);
	CHECK(caches.items[3].inclusion == SN_CACHE_EXCLUSIVE);
	CHECK(caches.items[3].reach == SN_CACHE_OF_CLUSTER);
	REQUIRE(sn_caches_of("skylake", &caches, NULL) == SN_OK); /* no prefix of another name */
	CHECK(caches.items[0].policy == SN_CACHE_PLRU);
	CHECK_INT(caches.items[2].bytes, 256 << 10);
	CHECK_INT(caches.items[2].ways, 4);
	sn_caches_describe(&caches, &text);
	CHECK_STRING(text.chars,
		     "L1d 32 KiB 8-way, L1i 32 KiB 8-way, L2 256 KiB 4-way, L3 2 MiB a core "
		     "16-way inclusive; lines of 64 bytes");
	sn_text_free(&text);
	CHECK(sn_caches_of("zen", &caches, NULL) != SN_OK);
}

TEST(this_processor_has_caches_that_can_be)
{
	struct sn_caches caches;

	sn_caches_native(&caches);
	for (unsigned i = 0; i < caches.count; i++) {
		CHECK(caches.items[i].level >= 1 && caches.items[i].bytes);
		if (i)
			CHECK(caches.items[i].level >= caches.items[i - 1].level);
	}
}

#include "caches/config.h"

#include <string.h>

#include "harness/tap.h"

static struct sn_sim_config config;
static struct sn_error err;

static bool is_read(const char *text)
{
	sn_sim_config_native(&config);
	return sn_sim_config_parse(text, &config, &err) == SN_OK;
}

TEST(the_machines_caches_can_be_simulated)
{
	sn_sim_config_native(&config);
	CHECK(config.level_count >= 1);
	for (unsigned i = 0; i < config.level_count; i++)
		CHECK(config.levels[i].sets && config.levels[i].ways);
	CHECK_INT(config.page_bytes, 4096);
	CHECK(!config.is_plru && !config.has_prefetcher);
}

TEST(a_text_names_levels_lines_and_tlb)
{
	REQUIRE(is_read("L1=48k/12,L2=2m/16,L3=36m/12,line=128,TLB=64/4,page=2m"));
	CHECK_INT(config.level_count, 3);
	CHECK_INT(config.levels[0].sets, 32);
	CHECK_INT(config.levels[0].ways, 12);
	CHECK_INT(config.levels[1].sets, 1024);
	CHECK_INT(config.levels[2].sets, 24576);
	CHECK(config.last_is_shared);
	CHECK_INT(config.line_bytes, 128);
	CHECK_INT(config.tlb.sets, 16);
	CHECK_INT(config.page_bytes, 2 << 20);
	REQUIRE(is_read("L1=32k/8, L2=1m/16 , line=64 "));
	CHECK_INT(config.levels[1].sets, 1024);
	REQUIRE(is_read("L1=32k/8,L2=32k/8"));
	REQUIRE(is_read("L1=32k/8,L2=1m/16"));
	CHECK_INT(config.level_count, 2);
	CHECK(!config.last_is_shared);
	REQUIRE(is_read("L1=32k/8,L2=1m/16/shared"));
	CHECK(config.last_is_shared);
	REQUIRE(is_read("L1=32k/8,L2=1m/16,L3=8m/16/private"));
	CHECK(!config.last_is_shared);
}

TEST(without_levels_those_of_the_machine_stay)
{
	struct sn_sim_config native;

	sn_sim_config_native(&native);
	REQUIRE(is_read("TLB=64/64"));
	CHECK_INT(config.level_count, native.level_count);
	CHECK_INT(config.levels[0].sets, native.levels[0].sets);
	CHECK_INT(config.tlb.sets, 1);
}

TEST(what_is_wrong_is_told)
{
	static const char *const wrong[][2] = {
		{ "", "'' is no 'NAME=SIZE'" },
		{ "L1", "'L1' is no 'NAME=SIZE'" },
		{ "L1=", "has no size" },
		{ "L1=32k", "has no ways" },
		{ "L1=32k/0", "has no number of ways" },
		{ "L1=32k/2000", "has no number of ways" },
		{ "L1=32k/8x", "has something behind" },
		{ "L1=9999999999999999999g/8", "has no size" },
		{ "L1=32k/7", "no multiple of its 7 ways" },
		{ "L2=1m/16", "L2 is given without L1" },
		{ "L1=32k/8,L3=1m/16", "L3 is given without L2" },
		{ "L1=32k/8/shared", "is each thread's own" },
		{ "L1=32k/8,L2=1m/8/shared,L3=8m/8", "is not the last level" },
		{ "L4=1m/8", "names none of" },
		{ "line=48", "no power of two" },
		{ "line=64/2", "is no power of two from 8 to 4096 alone" },
		{ "page=3k", "no power of two" },
		{ "page=32,line=64", "smaller than a line" },
		{ "TLB=64", "entries that its ways divide" },
		{ "TLB=64/5", "entries that its ways divide" },
		{ "TLB=64/4/shared", "no level of cache" },
		{ "L1=32k/8,,", "'' is no 'NAME=SIZE'" },
		{ "L1=32k/8,L1=48k/12", "'L1=48k/12' gives a level for the second time" },
		{ "L1=32k/8,L2=16k/8", "L2 is smaller than L1" },
		{ "L1=32k/8,L2=1m/16,L3=512k/16", "L3 is smaller than L2" },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		CHECK(!is_read(wrong[i][0]));
		if (!strstr(err.sentence, wrong[i][1]))
			CHECK_STRING(err.sentence, wrong[i][1]);
	}
}

TEST(policies_and_prefetchers)
{
	sn_sim_config_native(&config);
	CHECK(sn_sim_policy_parse("plru", &config, &err) == SN_OK && config.is_plru);
	CHECK(sn_sim_policy_parse("lru", &config, &err) == SN_OK && !config.is_plru);
	CHECK(sn_sim_policy_parse("fifo", &config, &err) == SN_ERR_USAGE);
	CHECK(sn_sim_prefetch_parse("stride", &config, &err) == SN_OK && config.has_prefetcher);
	CHECK(sn_sim_prefetch_parse("x", &config, &err) == SN_ERR_USAGE);
	REQUIRE(is_read("L1=32k/128"));
	CHECK(sn_sim_policy_parse("plru", &config, &err) == SN_ERR_USAGE && !config.is_plru);
}

TEST(words)
{
	struct sn_text text = { 0 };

	REQUIRE(is_read("L1=48k/12,L2=2m/16,L3=36m/12,TLB=1536/12,page=4k,line=64"));
	sn_sim_config_describe(&config, &text);
	CHECK_STRING(text.chars,
		     "L1 48 KiB 12-way, L2 2 MiB 16-way, L3 36 MiB 12-way shared; lines of 64 "
		     "bytes; TLB of 1536 entries, 12-way, pages of 4 KiB; LRU; no prefetcher");
	sn_text_free(&text);
}

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "code/jit.h"
#include "harness/tap.h"

static struct sn_jit *read_text(const char *text)
{
	struct sn_jit *jit = NULL;

	REQUIRE(sn_jit_read_memory(text, strlen(text), "map", &jit, NULL) == SN_OK);
	return jit;
}

TEST(map_lines_with_and_without_0x_and_names_with_spaces)
{
	struct sn_jit *jit = read_text("7f0000001000 40 LazyCompile:~foo bar.js:12\n"
				       "0x7f0000002000 0x10 Stub\n"
				       "nonsense\n"
				       "7f0000003000 0 empty\n");
	size_t count;

	sn_jit_symbols(jit, &count);
	CHECK_INT(count, 2);
	CHECK_INT(sn_jit_bad_count(jit), 2);
	CHECK_STRING(sn_jit_symbol_at(jit, 0x7f000000103f, 0)->name, "LazyCompile:~foo bar.js:12");
	CHECK_STRING(sn_jit_symbol_at(jit, 0x7f0000002000, 5)->name, "Stub");
	CHECK(!sn_jit_symbol_at(jit, 0x7f0000001040, 0));
	CHECK(!sn_jit_symbol_at(jit, 0, 0));
	sn_jit_free(jit);
}

TEST(what_comes_later_in_a_map_replaces_what_was_there)
{
	struct sn_jit *jit = read_text("1000 100 old\n1080 10 new\n1000 20 newest\n");

	CHECK_STRING(sn_jit_symbol_at(jit, 0x1000, 0)->name, "newest");
	CHECK_STRING(sn_jit_symbol_at(jit, 0x1040, 0)->name, "old");
	CHECK_STRING(sn_jit_symbol_at(jit, 0x1080, 0)->name, "new");
	CHECK_STRING(sn_jit_symbol_at(jit, 0x10ff, 0)->name, "old");
	sn_jit_free(jit);
}

static void put(struct sn_text *out, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		sn_text_add_char(out, (char)(value >> (8 * i)));
}

static void put_record(struct sn_text *out, uint32_t id, uint64_t time, const struct sn_text *body)
{
	put(out, id, 4);
	put(out, 16 + body->length, 4);
	put(out, time, 8);
	sn_text_add_bytes(out, body->chars, body->length);
}

static void put_load(struct sn_text *out, uint64_t time, uint64_t addr, uint64_t index,
		     const char *name)
{
	struct sn_text body = { 0 };

	put(&body, 1, 4);
	put(&body, 1, 4);
	put(&body, addr, 8);
	put(&body, addr, 8);
	put(&body, 4, 8);
	put(&body, index, 8);
	sn_text_add_bytes(&body, name, strlen(name) + 1);
	sn_text_add_bytes(&body, "\x90\x90\x90\xc3", 4);
	put_record(out, 0, time, &body);
	sn_text_free(&body);
}

static struct sn_text make_dump(void)
{
	struct sn_text dump = { 0 }, body = { 0 };

	put(&dump, 0x4A695444, 4);
	put(&dump, 1, 4);
	put(&dump, 40, 4);
	put(&dump, 62, 4);
	for (int i = 0; i < 3; i++)
		put(&dump, 0, 8); /* pad, pid, timestamp, flags */
	put(&body, 0x5000, 8);	  /* debug info of the code to be loaded at 0x5000 */
	put(&body, 1, 8);
	put(&body, 0x5000, 8);
	put(&body, 42, 4);
	put(&body, 0, 4);
	sn_text_add_bytes(&body, "kernel.py", 10);
	put_record(&dump, 2, 90, &body);
	put_load(&dump, 100, 0x5000, 1, "first");
	put_load(&dump, 200, 0x5000, 2, "second"); /* the same place again */
	sn_text_clear(&body);
	put(&body, 1, 4);
	put(&body, 1, 4);
	put(&body, 0x9000, 8);
	put(&body, 0x5000, 8);
	put(&body, 0x9000, 8);
	put(&body, 4, 8);
	put(&body, 2, 8);
	put_record(&dump, 1, 300, &body);
	sn_text_free(&body);
	return dump;
}

TEST(jitdump_knows_when)
{
	struct sn_text dump = make_dump();
	const struct sn_jit_symbol *symbol;
	struct sn_jit *jit = NULL;

	REQUIRE(sn_jit_read_memory(dump.chars, dump.length, "dump", &jit, NULL) == SN_OK);
	CHECK_INT(sn_jit_bad_count(jit), 0);
	CHECK(!sn_jit_symbol_at(jit, 0x5000, 99));
	symbol = sn_jit_symbol_at(jit, 0x5001, 150);
	REQUIRE(symbol);
	CHECK_STRING(symbol->name, "first");
	CHECK_STRING(symbol->file, "kernel.py");
	CHECK_INT(symbol->line, 42);
	CHECK(symbol->code && symbol->code[3] == 0xc3);
	CHECK_STRING(sn_jit_symbol_at(jit, 0x5001, 250)->name, "second");
	CHECK_STRING(sn_jit_symbol_at(jit, 0x9003, 0)->name, "second");
	sn_jit_free(jit);
	sn_text_free(&dump);
}

TEST(a_dump_cut_anywhere_gives_what_is_whole)
{
	struct sn_text dump = make_dump();

	for (size_t length = 0; length < dump.length; length++) {
		struct sn_jit *jit = NULL;
		char *exact = malloc(length + 1);
		size_t count = 0;

		memcpy(exact, dump.chars, length);
		if (sn_jit_read_memory(exact, length, "cut", &jit, NULL) == SN_OK)
			sn_jit_symbols(jit, &count);
		CHECK(count <= 2);
		sn_jit_free(jit);
		free(exact);
	}
	sn_text_free(&dump);
}

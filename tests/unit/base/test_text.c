#include "base/text.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/csv.h"
#include "base/stats.h"
#include "harness/tap.h"

TEST(hostile_names_cannot_steer_a_terminal)
{
	struct sn_text text = { 0 };

	sn_text_add_printable(&text, "a\x1b[31m\n\x7f\xc3\xa9\xff\xe2\x80\xae", 14);
	CHECK_STRING(text.chars, "a\\x1b[31m\\x0a\\x7f\xc3\xa9\\xff\\xe2\\x80\\xae");
	sn_text_free(&text);
}

TEST(numbers_for_people_have_no_exponent)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = { { 6.09723e6, "6.1 million" },
		      { 999999, "999,999" },
		      { 999999.7, "1 million" },
		      { 61.25e6, "61.2 million" },
		      { 9.999e8, "1 billion" },
		      { 5e12, "5 trillion" },
		      { 4.2e16, "42000 trillion" },
		      { -2.5e6, "-2.5 million" },
		      { 0, "0" },
		      { 12345, "12,345" },
		      { 12345.6, "12,346" },
		      { -7, "-7" },
		      { 0.25, "0.25" },
		      { 1.23456, "1.235" },
		      { 0.001, "0.001" },
		      { 0.0001234, "0.000123" },
		      { NAN, "?" } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sn_text text = { 0 };

		sn_text_add_number(&text, cases[i].value);
		CHECK_STRING(text.chars, cases[i].text);
		sn_text_free(&text);
	}
}

TEST(json_strings_may_stand_in_a_script_element)
{
	struct sn_text text = { 0 };

	sn_text_add_json(&text, "</script>\"\\\x01\xff", 13);
	CHECK_STRING(text.chars, "\"\\u003c/script\\u003e\\\"\\\\\\u0001\xef\xbf\xbd\"");
	sn_text_free(&text);
}

TEST(html_text_is_escaped)
{
	struct sn_text text = { 0 };

	sn_text_add_html(&text, "<b title=\"x\">&'");
	CHECK_STRING(text.chars, "&lt;b title=&quot;x&quot;&gt;&amp;&#39;");
	sn_text_free(&text);
}

TEST(csv_fields_are_quoted_and_are_no_formulas)
{
	struct sn_text text = { 0 };

	sn_csv_add(&text, "plain");
	sn_csv_add(&text, "=1+1");
	sn_csv_add(&text, "a,\"b\"");
	CHECK_STRING(text.chars, "plain'=1+1\"a,\"\"b\"\"\"");
	sn_text_free(&text);
}

TEST(doubles_are_shortest_and_exact)
{
	struct sn_text text = { 0 };

	sn_text_add_double(&text, 0.1);
	sn_text_add(&text, " ");
	sn_text_add_double(&text, 1.0 / 3);
	sn_text_add(&text, " ");
	sn_text_add_double(&text, 5);
	CHECK_STRING(text.chars, "0.1 0.3333333333333333 5");
	sn_text_free(&text);
}

/* As the first of 15, 16 and 17 digits that is read back as the same number. */
TEST(doubles_of_few_decimals_are_written_like_all)
{
	static const double values[] = { 0,	     -0.0,     1e-4,	   9.9e-5,
					 -1e-5,	     0.000101, 1e8 + 0.25, 999999999.999999,
					 1e9 + 1e-6, 1e15,     -7.063,	   100,
					 1e22 };
	struct sn_random random;

	sn_random_seed(&random, 7);
	for (unsigned i = 0; i < 4000; i++) {
		double value = i < sizeof(values) / sizeof(*values)
				       ? values[i]
				       : ((double)sn_random_below(&random, 1 << 30) - (1 << 29)) /
						 pow(10, (double)(i % 9));
		char expected[40];
		struct sn_text text = { 0 };

		for (int precision = 15; precision <= 17; precision++) {
			snprintf(expected, sizeof(expected), "%.*g", precision, value);
			if (!(strtod(expected, NULL) < value) && !(strtod(expected, NULL) > value))
				break;
		}
		sn_text_add_double(&text, value);
		CHECK_STRING(text.chars, expected);
		sn_text_free(&text);
	}
}

TEST(utf8_that_is_overlong_or_a_surrogate_is_refused)
{
	CHECK_INT(sn_utf8_length("\xc0\x80", 2), 0);
	CHECK_INT(sn_utf8_length("\xe0\x80\x80", 3), 0);
	CHECK_INT(sn_utf8_length("\xed\xa0\x80", 3), 0);
	CHECK_INT(sn_utf8_length("\xf4\x90\x80\x80", 4), 0);
	CHECK_INT(sn_utf8_length("\xf0\x9f\x98\x80", 4), 4);
	CHECK_INT(sn_utf8_length("\xf0\x9f\x98", 3), 0);
}

static size_t stem(const char *name)
{
	return sn_name_stem_length(name);
}

TEST(a_stem_is_the_name_without_parameters)
{
	CHECK_INT(stem("plain"), 5);
	CHECK_INT(stem("f(int)"), 1);
	CHECK_INT(stem("a::b<(c)0>::d(int, e (*)()) const"), 13);
	CHECK_INT(stem("a::operator()(int)"), 13);
	CHECK_INT(stem("a::operator()"), 13);
	CHECK_INT(stem("(anonymous namespace)::f"), 24);
	CHECK_INT(stem("(anonymous namespace)::f(int)"), 24);
	CHECK_INT(stem("f(int) [clone .part.0]"), 1);
	CHECK_INT(stem("<function at 0x10> (lib.so)"), 27);
	CHECK_INT(stem("(x)"), 3);
	CHECK_INT(stem(")("), 2);
	CHECK_INT(stem(""), 0);
}

TEST(long_names_lose_parameters_then_their_middle)
{
	struct sn_text text = { 0 };

	sn_text_add(&text, "PairLJCut::compute(int, int)");
	sn_text_elide(&text, 28);
	CHECK_STRING(text.chars, "PairLJCut::compute(int, int)");
	sn_text_elide(&text, 20);
	CHECK_STRING(text.chars, "PairLJCut::compute");
	sn_text_elide(&text, 11);
	CHECK_STRING(text.chars, "..::compute");
	CHECK_INT(text.length, 11);
	sn_text_elide(&text, 7);
	CHECK_STRING(text.chars, "..::compute");
	sn_text_free(&text);
	sn_text_elide(&text, 20);
	CHECK(text.length == 0);
}

TEST(what_tells_rows_apart_stays)
{
	static const struct {
		const char *whole;
		size_t columns;
		const char *shown;
	} cases[] = {
		{ "std::map<int, std::less<int> >::find(int const&)", 24, "std::map<..>::find" },
		{ "void std::__sort<long*, std::less<long> >(long*, long*)", 24,
		  "void std::__sort<..>" },
		{ "boost::detail::inner<a<b> >::one::visit", 24, "..::one::visit" },
		{ "one::two::(anonymous namespace)::three::visit", 24, "one::two::three::visit" },
		{ "(anonymous namespace)::visits_with_a_long_name(int)", 24,
		  "visits_with_a_long_name" },
		{ "one::table<int, two::less<three::key> >::find", 40,
		  "one::table<int, less<key> >::find" },
		{ "a::b::c::very_long_last_component_of_a_name", 24, "..::very_long_..f_a_name" },
		{ "/usr/lib/x86_64-linux-gnu/crt1.o", 24, "../crt1.o" },
		{ "src/interpreter/evaluation/frames.c:1234", 24, "../frames.c:1234" },
		{ "github.com/user/module/package.(*Type).Method", 30,
		  "../package.(*Type).Method" },
		{ "/usr/lib/gcc/12/cc1plus -quiet -I a -D b t.cpp -o t.s", 28,
		  "cc1plus .. -D b t.cpp -o t.s" },
		{ "/usr/lib/gcc/12/cc1 -quiet a.c", 24, "cc1 -quiet a.c" },
		{ "    /usr/bin/as --gdwarf-5 /tmp/t.s", 24, "    as .. /tmp/t.s" },
		{ "as --gdwarf-5 -o /tmp/t.o /tmp/t.s", 24, "as .. /tmp/t.o /tmp/t.s" },
		{ "pthread_join < main < __libc_start_call_main < _start", 30,
		  "pthread_join < main < .." },
		{ "std::vector<int>::push_back(int const&) < main", 34,
		  "std::vector<int>::push_back < main" },
		{ "time by kind of work: the program, MPI, OpenMP", 30,
		  "time by kind of work: the.." },
		{ "__memcpy_avx_unaligned_erms_and_more", 24, "__memcpy_avx_u..and_more" },
		{ "void std::__invoke_impl<void, work, int>(std::__invoke_other, work&&) (invoke.h:61)",
		  36, "std::__invoke_impl<..> (invoke.h:61)" },
		{ "site_realloc(int, void*, unsigned long) (heapx.cpp:12)", 34,
		  "site_realloc (heapx.cpp:12)" },
		{ "a_function_with_a_name_of_c_alone (convoy.c:12)", 34,
		  "a_function_w.._alone (convoy.c:12)" },
		{ "waits where the work is not done (a.c:12)", 30,
		  "waits where the work is not.." },
		{ "std::thread::_State_impl<a<b, c> >::_M_run() (std_thread.h:210)", 24,
		  "..::_M_run" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sn_text text = { 0 };

		sn_text_add(&text, cases[i].whole);
		sn_text_elide(&text, cases[i].columns);
		CHECK(text.length <= cases[i].columns);
		CHECK_STRING(text.chars, cases[i].shown);
		sn_text_free(&text);
	}
}

TEST(names_that_would_look_the_same_are_told_apart)
{
	static const char *const names[] = {
		"outer::inner::(anonymous namespace)::Sorter<double, outer::Square>::run(int)",
		"outer::inner::(anonymous namespace)::Sorter<float, outer::Cube>::run(int)",
		"outer::inner::main_function_of_it(int, char**)",
	};
	static const char *const shown[] = { "Sorter<double..>::run", "Sorter<float..>::run",
					     "..::main_function_of_it" };

	for (size_t i = 0; i < 3; i++) {
		struct sn_text text = { 0 };

		sn_text_add(&text, names[i]);
		sn_text_elide_among(&text, 24, names, 3);
		CHECK(text.length <= 24);
		CHECK_STRING(text.chars, shown[i]);
		sn_text_free(&text);
	}
}

/* Whatever brackets there are, it ends, and the width holds. */
TEST(any_text_is_cut_to_its_width)
{
	static const char letters[] = "<>(){}[]:: ab-/.,operator< ";
	struct sn_text before = { 0 };
	uint32_t random = 1;

	for (int round = 0; round < 20000; round++) {
		struct sn_text text = { 0 };
		size_t length, columns;

		for (int i = 0; i < 60; i++) {
			random = random * 1664525u + 1013904223u;
			sn_text_add_char(&text, letters[(random >> 16) % (sizeof(letters) - 1)]);
		}
		length = text.length;
		columns = 8 + round % 60;
		sn_text_elide(&text, columns);
		CHECK(text.length <= (length < columns ? length : columns));
		CHECK(text.length == strlen(text.chars));
		if (before.chars && text.chars[0]) {
			sn_text_elide_apart(&text, columns, before.chars);
			CHECK(text.length <= columns);
		}
		sn_text_free(&before);
		before = text;
	}
	sn_text_free(&before);
}

TEST(names_that_are_addresses_stay_whole)
{
	static const char *const names[] = { "<function at 0x1a0>+0x138", "<code at 0x3e20>+0x30" };

	for (size_t i = 0; i < 2; i++) {
		struct sn_text text = { 0 };

		sn_text_add(&text, names[i]);
		sn_text_elide(&text, 12);
		CHECK_STRING(text.chars, names[i]);
		CHECK_INT(sn_text_columns_least(names[i]), strlen(names[i]));
		sn_text_free(&text);
	}
	{
		static const char name[] = "<code at 0x13f690, after x264_8_trellis_coefn>+0x31";
		struct sn_text text = { 0 };

		sn_text_add(&text, name);
		CHECK_INT(sn_text_columns_least(name), 23);
		sn_text_elide(&text, 60);
		CHECK_STRING(text.chars, name);
		sn_text_elide(&text, 30);
		CHECK_STRING(text.chars, "<code at 0x13f690>+0x31");
		sn_text_free(&text);
	}
	CHECK_INT(sn_text_columns_least("<lambda(int)>::operator()(int) const"), 24);
}

static const char *formatted(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *formatted(const char *format, ...)
{
	static struct sn_text text;
	char wanted[256];
	va_list args;

	sn_text_clear(&text);
	va_start(args, format);
	sn_text_addv(&text, format, args);
	va_end(args);
	va_start(args, format);
	vsnprintf(wanted, sizeof(wanted), format, args);
	va_end(args);
	CHECK_STRING(text.chars, wanted);
	CHECK_INT(text.length, strlen(wanted));
	return text.chars;
}

TEST(formats_are_those_of_the_c_library)
{
	formatted("%s", "");
	formatted("a%%b%sc", "d");
	formatted("%d %d %d", 0, INT_MIN, INT_MAX);
	formatted("%u %u", 0u, UINT_MAX);
	formatted("%ld %ld %lu", LONG_MIN, LONG_MAX, ULONG_MAX);
	formatted("%lld %lld %llu", LLONG_MIN, -1LL, ULLONG_MAX);
	formatted("%zu %zu", (size_t)0, SIZE_MAX);
	formatted("%c%c", 'x', 'y');
	formatted("%s and then %5d, %-4s|%.3f %s", "plain", 42, "ab", 2.5, "after it");
	formatted("%.*s %08x %s", 2, "abc", 0xbeefu, "last");
	formatted("%hd %jd %zd", (short)-7, (intmax_t)-8, (ssize_t)-9);
	CHECK_STRING(formatted("%d of %d%%", 3, 100), "3 of 100%");
}

TEST(the_base_name_is_what_follows_the_last_slash)
{
	CHECK_STRING(sn_base_name("/a/b/file.c"), "file.c");
	CHECK_STRING(sn_base_name("file.c"), "file.c");
	CHECK_STRING(sn_base_name("/a/"), "/a/");
	CHECK(sn_base_name(NULL) == NULL);
}

/* Its arguments may look like a name of C++ or like a sentence. */
TEST(a_command_keeps_its_program)
{
	struct sn_text text = { 0 };

	sn_text_add(
		&text,
		"/usr/bin/sqlite3 :memory: with c(x) as (select x+1 from c where x<9) select a from t");
	sn_text_elide_command(&text, 40);
	CHECK(text.length <= 40);
	CHECK(sn_starts_with(text.chars, "sqlite3 .. "));
	sn_text_free(&text);
	sn_text_add(&text, "/bin/true");
	sn_text_elide_command(&text, 40);
	CHECK_STRING(text.chars, "/bin/true");
	sn_text_free(&text);
	sn_text_elide_command(&text, 40);
	CHECK(!text.length);
}

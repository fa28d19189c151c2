/* Errors of files with their places, what comes with sonde, and the round trip of printing. */
#include "search/properties/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/tap.h"
#include "search/properties/print.h"

/* The first line of what is said of a file's text, and how many errors there are. */
static void check_said(const char *text, size_t errors, const char *want,
		       size_t (*print)(struct sn_library *library, FILE *out))
{
	struct sn_library *library = sn_library_new();
	char *printed = NULL, *end;
	size_t length = 0;
	FILE *out = open_memstream(&printed, &length);

	sn_library_add_memory(library, "f", text, strlen(text));
	sn_library_settle(library);
	CHECK_INT(print(library, out), errors);
	fclose(out);
	end = strchr(printed, '\n');
	if (end)
		*end = 0;
	CHECK_STRING(printed, want);
	free(printed);
	sn_library_free(library);
}

static void check_error(const char *text, size_t errors, const char *want)
{
	check_said(text, errors, want, sn_library_print_errors);
}

static void check_warning(const char *text, const char *want)
{
	check_said(text, 0, want, sn_library_print_all);
	check_error(text, 0, "");
}

TEST(what_comes_with_sonde_has_no_errors)
{
	struct sn_library *library = sn_library_new();

	sn_library_settle(library);
	CHECK_INT(sn_library_print_errors(library, stdout), 0);
	for (size_t f = 0; f < library->files.count; f++)
		CHECK_INT(library->files.items[f]->diags.warnings, 0);
	CHECK(library->properties.count >= 57);
	CHECK(sn_library_find(library, "UnbalLC2DMissRate") != NULL);
	CHECK(sn_property_refines(sn_library_find(library, "UnbalLC2DMissRate"),
				  sn_library_find(library, "LC2DMissRateInSomeThread")));
	sn_library_free(library);
}

TEST(errors_stand_at_the_operator_or_name_at_fault)
{
	check_error(
		"property A() {\n  let x = 1 s + 2 B;\n  condition x > 0 s; confidence 1; severity 1;\n}",
		1, "f:2:15: error: s and B cannot be added");
	check_error("property A() { condition 1; confidence 1; severity 1; }", 1,
		    "f:1:26: error: a condition is a truth value, not a plain number");
	check_error("property A() { condition 1 > 0; confidence 1; severity time(phase); }", 1,
		    "f:1:56: error: a severity is a share without a unit, not s");
	check_error("property A() { condition 1 > 0; confidence 1; severity 1; rate 2 s; }", 1,
		    "f:1:64: error: a rate is a number without a unit, not s");
	check_error("property A() { condition 1 > 0; confidence 1; severity 1; rate 1; rate 2; }",
		    1, "f:1:67: error: 'rate' is there already; it can stand once");
	check_error("property A() { condition 1 > 0; confidence 1; severity 1; rate max(a -> 2); }",
		    1, "f:1:68: error: no condition of 'A' is called 'a'");
	check_error(
		"property A() { let x = 2 B; condition 1 > 0; confidence 1; severity 1; explain \"{x:time}\"; }",
		1, "f:1:80: error: '{x:time}' shows a time, and 'x' is B");
	check_error(
		"property A() { let x = 2 s; condition 1 > 0; confidence 1; severity 1; explain \"{x:tim}\"; }",
		1,
		"f:1:80: error: a number in a text is shown as '{x}', '{x:.1f}', '{x:.1%}' or '{x:time}'");
	check_error("property A(r: region) { condition ownn(r) > 0 s; confidence 1; severity 1; }",
		    1, "f:1:35: error: there is no metric 'ownn'; did you mean 'own'?");
	check_error("property A(r: region) { condition own(q) > 0 s; confidence 1; severity 1; }",
		    1, "f:1:39: error: there is no 'q'");
	check_error(
		"property A(r: region) { condition vector_gain(*) > 1; confidence 1; severity 1; }",
		1,
		"f:1:35: error: metric 'vector_gain' does not add up: it must be told its region");
	check_error("property A() refines Hotregion { condition 1 > 0; confidence 1; severity 1; }",
		    1,
		    "f:1:22: error: there is no property 'Hotregion'; did you mean 'HotRegion'?");
}

TEST(a_metric_needs_sources_that_there_are)
{
	check_error("metric mine(r: region): s adds needs samples, kernel;", 0, "");
	check_error("metric mine(r: region): s;", 0, "");
	check_error("metric mine(r: region): s adds needs kernel, sampels;", 1,
		    "f:1:46: error: there is no source 'sampels'; did you mean 'samples'?");
	check_error(
		"metric mine(r: region): s needs crystal;", 1,
		"f:1:33: error: there is no source 'crystal'; 'sonde properties list' has those of "
		"each property; a metric of tables alone needs none");
}

TEST(a_confidence_is_no_constant_and_a_severity_a_share)
{
	check_warning(
		"property A() { condition 1 > 0; confidence 5; severity 1; }",
		"f:1:44: warning: a confidence is a share from 0 to 1, and this is always 5, which "
		"counts as 1");
	check_warning(
		"param p = 2; property A() { let a = -p; let b = a + least(1, 4) / 2;\n"
		"condition 1 > 0; confidence b; severity 1; }",
		"f:2:29: warning: a confidence is a share from 0 to 1, and this is always -1.5, "
		"which counts as 0");
	check_warning(
		"property A() { condition a: 1 > 0; confidence max(a -> 1.5); severity 1; }",
		"f:1:56: warning: a confidence is a share from 0 to 1, and this is always 1.5, "
		"which counts as 1");
	check_warning(
		"property A() { condition 1 > 0; confidence 0.9; severity 1; }",
		"f:1:44: warning: the confidence is 0.9 whatever was measured; confidence(METRIC) "
		"tells how sure a metric's values are");
	check_warning(
		"property A(r: region) { condition 1 > 0; confidence confidence(own); severity 3; }",
		"f:1:79: warning: a severity is a share from 0 to 1, and this is always 3, which "
		"counts as 1");
	check_warning("property A(r: region) { condition 1 > 0; confidence 1 - confidence(own);\n"
		      "severity lanes - 3; }",
		      "");
}

TEST(a_warning_hides_no_error_of_its_place)
{
	check_said("property A() { condition 1 > 0; confidence 1; severity 3; }\n"
		   "property A() { condition x > 0; confidence 1; severity 1; }",
		   2,
		   "f:1:44: warning: the confidence is 1 whatever was measured; confidence(METRIC) "
		   "tells how sure a metric's values are",
		   sn_library_print_all);
}

TEST(errors_of_syntax)
{
	check_error("property A() { condition 1 > ; confidence 1; severity 1; }", 1,
		    "f:1:30: error: a value is missing here before ';'");
	check_error("property A() { conditon 1 > 0; confidence 1; severity 1; }", 1,
		    "f:1:16: error: there is no clause 'conditon'; did you mean 'condition'?");
	check_error("property A() { condition 1 > 0; severity 1; }", 1,
		    "f:1:10: error: property 'A' has no 'confidence'");
	check_error(
		"property A() { condition max(1, 2) > 0; confidence 1; severity 1; }", 1,
		"f:1:31: error: 'max' goes over a set (\"over t in threads\"); of two numbers it is "
		"'greatest'");
	check_error("param p = 3 range 0 .. 1;", 1, "f:1:7: error: 'p' is outside its own range");
	check_error("metric own(r: region): B;", 1,
		    "f:1:8: error: metric 'own' comes with sonde, and its unit is s");
	check_error("property A() { condition 5 apples > 0; confidence 1; severity 1; }", 1,
		    "f:1:28: error: ';' is missing at the end of the clause; here is apples");
}

TEST(all_errors_of_a_file_at_once)
{
	check_error("property A() { condition x > 1; confidence y; severity z; }\n"
		    "property B(q: tread) { condition 1 > 0; confidence 1; severity 1; }\n@",
		    5, "f:1:26: error: there is no 'x'");
}

TEST(refinements_form_no_circle)
{
	check_error("property A() refines B { condition 1 > 0; confidence 1; severity 1; }\n"
		    "property B() refines A { condition 1 > 0; confidence 1; severity 1; }",
		    1, "f:2:22: error: property 'B' refines itself, by way of 'A'");
}

TEST(a_bad_file_disables_only_itself)
{
	struct sn_library *library = sn_library_new();
	const char *good = "property Good() { condition 1 > 0; confidence 1; severity 1; }";
	const char *bad = "property Bad() { condition 1 > 0; confidence 1; severity 1 s; }";
	FILE *out = fopen("/dev/null", "w");

	sn_library_add_memory(library, "bad", bad, strlen(bad));
	sn_library_add_memory(library, "good", good, strlen(good));
	sn_library_settle(library);
	CHECK_INT(sn_library_print_errors(library, out), 1);
	CHECK(sn_library_find(library, "Good") != NULL);
	CHECK(sn_library_find(library, "Bad") == NULL);
	CHECK(sn_library_find(library, "HotRegion") != NULL);
	fclose(out);
	sn_library_free(library);
}

TEST(nesting_and_length_are_bounded)
{
	struct sn_text text = { 0 };
	struct sn_prop_file *file;

	sn_text_add(&text, "property A() { condition ");
	sn_text_add_repeated(&text, '(', 100000);
	file = sn_prop_parse("f", text.chars, text.length);
	CHECK(file->diags.errors > 0);
	sn_prop_file_free(file);
	sn_text_clear(&text);
	sn_text_add(&text, "property A() { condition 1");
	for (int i = 0; i < 100000; i++)
		sn_text_add(&text, " + 1");
	file = sn_prop_parse("f", text.chars, text.length);
	CHECK(file->diags.errors > 0);
	sn_prop_file_free(file);
	sn_text_clear(&text);
	sn_text_add_repeated(&text, ' ', SN_PROP_FILE_BYTES_MAX + 1);
	file = sn_prop_parse("f", text.chars, text.length);
	CHECK_INT(file->diags.errors, 1);
	sn_prop_file_free(file);
	sn_text_free(&text);
}

/* Printed, parsed and printed again, a file is the same. */
TEST(printing_and_parsing_is_a_round_trip)
{
	struct sn_library *library = sn_library_new();

	for (size_t i = 0; i < library->files.count; i++) {
		struct sn_text once = { 0 }, twice = { 0 };
		struct sn_prop_file *again;

		sn_prop_file_print(library->files.items[i], &once);
		again = sn_prop_parse("again", once.chars, once.length);
		CHECK_INT(again->diags.errors, 0);
		sn_prop_file_print(again, &twice);
		CHECK_STRING(twice.chars, once.chars);
		CHECK_INT(again->properties.count, library->files.items[i]->properties.count);
		sn_prop_file_free(again);
		sn_text_free(&once);
		sn_text_free(&twice);
	}
	sn_library_free(library);
}

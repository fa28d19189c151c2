/* Files of properties of any bytes, and what parses evaluated on a small table. */
#include <stdlib.h>
#include <string.h>

#include "search/properties/print.h"
#include "search/properties/write.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static const char tables_text[] =
	"{\"schema\":\"sonde.tables/1\",\"phase_s\":2,\"processes\":[{\"process\":0,\"threads\":[1,2]}],"
	"\"regions\":[{\"region\":\"a\",\"kind\":\"loop\"}],\"data\":[{\"data\":\"d\"}],\"metrics\":["
	"{\"metric\":\"own\",\"region\":\"a\",\"process\":0,\"thread\":1,\"value\":1},"
	"{\"metric\":\"misses\",\"level\":\"L2\",\"region\":\"a\",\"data\":\"d\",\"thread\":1,\"value\":1}]}";

struct telling {
	const struct sn_tables *tables;
	struct sn_evaluator *evaluator;
	const struct sn_property *property;
	struct sn_text text;
};

static void context_tell(const uint32_t keys[SN_KEYS], void *context)
{
	struct telling *t = context;
	struct sn_verdict verdict;
	struct sn_text open = { 0 };

	sn_property_evaluate(t->evaluator, t->property, keys, &verdict);
	sn_prop_text_open(t->evaluator, t->property->explain, &open);
	if (open.chars)
		sn_prop_text_close(t->tables, t->property, verdict.evidence, open.chars, &t->text);
	/* what is closed comes from elsewhere, too */
	sn_prop_text_close(t->tables, t->property, verdict.evidence, t->property->explain,
			   &t->text);
	sn_text_free(&open);
}

/* Verdicts by rate, and what they say. */
static void texts_print(const struct sn_library *library, struct sn_tables *tables)
{
	static const uint32_t none[SN_KEYS] = { SN_ALL, SN_ALL, SN_ALL, SN_ALL,
						SN_ALL, SN_ALL, SN_ALL };
	struct telling t = { .tables = tables,
			     .evaluator = sn_evaluator_new(tables, SN_SEVERITY_RATE) };

	for (size_t i = 0; i < library->properties.count; i++) {
		t.property = library->properties.items[i];
		if (t.property->explain && !t.property->file->is_shipped)
			sn_property_contexts(tables, t.property, none, context_tell, &t);
	}
	sn_text_free(&t.text);
	sn_evaluator_free(t.evaluator);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct sn_library *library;
	struct sn_tables *tables = NULL;
	struct sn_text text = { 0 };
	char *printed = NULL;
	size_t printed_length;
	FILE *out;

	if (length > 1 << 16)
		return 0;
	out = open_memstream(&printed, &printed_length);
	library = sn_library_new();
	sn_library_add_memory(library, "fuzz.prop", (const char *)bytes, length);
	sn_library_settle(library);
	if (!sn_library_print_errors(library, out) &&
	    sn_tables_read_memory("t", tables_text, strlen(tables_text), &tables, NULL) == SN_OK) {
		sn_prop_file_print(sn_vec_last(&library->files), &text);
		sn_verdicts_write(library, tables, out);
		texts_print(library, tables);
	}
	sn_tables_free(tables);
	sn_text_free(&text);
	sn_library_free(library);
	fclose(out);
	free(printed);
	return 0;
}

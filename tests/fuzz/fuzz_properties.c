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
	}
	sn_tables_free(tables);
	sn_text_free(&text);
	sn_library_free(library);
	fclose(out);
	free(printed);
	return 0;
}

/* A condition on the states of processes: parsed, and judged on a small execution. */
#include <stdlib.h>
#include <string.h>

#include "pandore/lattice/lattice.h"
#include "pandore/lattice/property.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static const char trace[] = "{\"process\":0,\"index\":0,\"label\":\"a\"}\n"
			    "{\"process\":0,\"index\":1,\"label\":\"b\",\"after\":[[1,0]]}\n"
			    "{\"process\":1,\"index\":0,\"label\":\"a\"}\n"
			    "{\"process\":1,\"index\":1,\"label\":\"c\"}\n"
			    "{\"process\":2,\"index\":0,\"label\":\"b\"}\n";

static void judge(const struct sn_property *property)
{
	struct sn_property_answer answer;
	struct sn_execution *execution;
	struct sn_error err;

	if (sn_execution_read_memory(trace, sizeof(trace) - 1, "fuzz", &execution, &err) != SN_OK)
		abort();
	if (sn_property_judge(property, execution, 1000, &answer, &err) == SN_OK) {
		/* what every run passes, some run passes */
		if (answer.definitely == SN_TRUTH_YES && answer.possibly != SN_TRUTH_YES)
			abort();
		if ((answer.witness != NULL) != (answer.possibly == SN_TRUTH_YES))
			abort();
		sn_property_answer_free(&answer);
	}
	sn_execution_free(execution);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct sn_property *property = NULL;
	struct sn_error err;
	char *text = malloc(length + 1);

	if (!text)
		return 0;
	if (length)
		memcpy(text, bytes, length);
	text[length] = 0;
	if (sn_property_parse(text, &property, &err) == SN_OK)
		judge(property);
	sn_property_free(property);
	free(text);
	return 0;
}

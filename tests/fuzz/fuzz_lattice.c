/* A trace of events: read, and what holds together counted, within a small budget. */
#include <stdlib.h>

#include "pandore/lattice/draw.h"
#include "pandore/lattice/lattice.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct sn_lattice_budget budget = { .states = 500, .seconds = 0.05 };
	struct sn_lattice_answer answer;
	struct sn_execution *execution;
	struct sn_error err;
	char *text = NULL;
	size_t size = 0;
	FILE *out;

	sn_execution_read_memory((const char *)bytes, length, "fuzz", &execution, &err);
	if (!execution)
		return 0;
	/* A header may name thousands of processes: tables of that size say nothing new. */
	if (execution->process_count <= 64) {
		out = open_memstream(&text, &size);
		sn_lattice_answer_make(execution, &budget, &answer);
		sn_lattice_write_json(&answer, out);
		sn_lattice_write_text(&answer, 0, out);
		sn_lattice_write_csv(&answer, out);
		sn_lattice_draw_svg(&answer, 1, 500, out);
		sn_lattice_draw_dot(&answer, 500, out, &err);
		fclose(out);
		free(text);
		sn_lattice_answer_free(&answer);
	}
	sn_execution_free(execution);
	return 0;
}

/* The log of causal experiments, and the answers from it. */
#include <stddef.h>
#include <stdint.h>

#include "causal/estimate.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct sn_causal_log *log = NULL;
	struct sn_causal_answers answers;
	struct sn_error err;

	if (sn_causal_log_parse((const char *)bytes, length, "fuzz", &log, &err) != SN_OK)
		return 0;
	if (log->trials.count < 2000) {
		sn_causal_answers_find(log, &answers);
		sn_causal_answers_free(&answers);
	}
	sn_causal_log_free(log);
	return 0;
}

/* What a node agent tells the front: bodies of results. */
#include "search/simulate/result.h"
#include "search/simulate/scenario.h"

#include <string.h>
#include <unistd.h>

static const char text[] =
	"{\"schema\":\"sonde.scenario/1\",\"phase_s\":1,\"hosts\":2,"
	"\"processes\":[{\"process\":0,\"threads\":[0,1]}],"
	"\"regions\":[{\"region\":\"f\",\"kind\":\"function\",\"name\":\"f\"}],"
	"\"metrics\":[{\"metric\":\"lock_wait\",\"region\":\"f\",\"thread\":1,\"value\":0.3}]}";

/* Strategies are found from the command's place; this program is at another one. */
static const char *strategy(void)
{
	static char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, 3000);

	while (length > 0 && path[length - 1] != '/')
		length--;
	strcpy(path + (length > 0 ? length : 0), "../../src/search/strategies/time.so");
	return path;
}

static void epoch_see(uint32_t epoch, uint64_t count, void *context)
{
	*(uint64_t *)context += epoch + count;
}

static void body_add(const uint8_t *bytes, size_t length, struct sn_search *s)
{
	enum sn_result_kind kind;
	uint32_t phase, shares;
	uint64_t sum = 0;

	if (!sn_result_head(bytes, length, &kind, &phase))
		return;
	if (kind == SN_RESULT_SHARE) {
		sn_result_share_add(bytes, length, 1, 1, s);
		return;
	}
	sn_result_phase_head(bytes, length, &shares, epoch_see, &sum);
	sn_result_phase_add(bytes, length, s);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	const struct sn_search_options options = { .strategy = strategy(),
						   .threshold = 0.05,
						   .mode = "phases" };
	static struct sn_library *library;
	static struct sn_recorded *recorded;
	struct sn_search *s = NULL;
	struct sn_error err;

	if (!library) {
		struct sn_scenario *scenario = NULL;

		library = sn_library_new();
		sn_library_settle(library);
		if (sn_scenario_read_memory("fuzz", text, strlen(text), library, &scenario, &err) !=
		    SN_OK)
			__builtin_trap();
		recorded = sn_scenario_of_all(scenario, library);
		sn_scenario_free(scenario);
	}
	if (sn_search_begin(recorded, library, &options, &s, &err) != SN_OK)
		__builtin_trap();
	body_add(bytes, length, s);
	sn_search_settle(s);
	sn_search_free(s);
	return 0;
}

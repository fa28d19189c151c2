/*
 * Programs that generate code at run time, as far as they are known, and the option that makes each
 * of them name its code.
 */
#include "profile/generated.h"

#include <string.h>

#include "base/text.h"

static const struct sn_generated_maker makers[] = {
	{ "java", "java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit (JDK 17 and later)",
	  "java -XX:+PreserveFramePointer" },
	{ "node", "node --perf-basic-prof", NULL },
	{ "dotnet", "DOTNET_PerfMapEnabled=1 dotnet", NULL },
	{ "python3", "python3 -X perf (Python 3.12 and later)", NULL },
	{ "ruby", "ruby --yjit-perf=map (Ruby 3.3 and later)", NULL },
};

const struct sn_generated_maker *sn_generated_maker_of(const struct sn_experiment *experiment)
{
	for (size_t p = 0; p < experiment->processes.count; p++) {
		const char *program = sn_base_name(experiment->processes.items[p].program);

		for (size_t i = 0; program && i < sizeof(makers) / sizeof(*makers); i++)
			if (sn_starts_with(program, makers[i].program))
				return &makers[i];
	}
	return NULL;
}

bool sn_module_is_generated(const struct sn_module *module)
{
	return module->kind == SN_MODULE_JIT || module->kind == SN_MODULE_UNKNOWN;
}

/* Which machine model fits the processor that we run on. */
#include <cpuid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/machine.h"

static const struct {
	const char *vendor;
	unsigned family, model_first, model_last;
	const char *name;
} processors[] = {
	{ "GenuineIntel", 6, 0x3c, 0x3c, "haswell" },
	{ "GenuineIntel", 6, 0x3f, 0x3f, "haswell" },
	{ "GenuineIntel", 6, 0x45, 0x46, "haswell" },
	{ "GenuineIntel", 6, 0x4e, 0x4e, "skylake" },
	{ "GenuineIntel", 6, 0x5e, 0x5e, "skylake" },
	{ "GenuineIntel", 6, 0x8e, 0x8e, "skylake" },
	{ "GenuineIntel", 6, 0x9e, 0x9e, "skylake" },
	{ "GenuineIntel", 6, 0xa5, 0xa6, "skylake" },
	{ "GenuineIntel", 6, 0x55, 0x55, "cascadelake" },
	{ "GenuineIntel", 6, 0x6a, 0x6a, "icelake-server" },
	{ "GenuineIntel", 6, 0x6c, 0x6c, "icelake-server" },
	{ "GenuineIntel", 6, 0x7d, 0x7e, "icelake-server" },
	{ "GenuineIntel", 6, 0x8f, 0x8f, "sapphirerapids" },
	{ "GenuineIntel", 6, 0xcf, 0xcf, "sapphirerapids" },
	{ "AuthenticAMD", 0x17, 0x00, 0x2f, "zen1" },
	{ "AuthenticAMD", 0x17, 0x30, 0xff, "zen2" },
	{ "AuthenticAMD", 0x19, 0x00, 0x0f, "zen3" },
	{ "AuthenticAMD", 0x19, 0x20, 0x5f, "zen3" },
	{ "AuthenticAMD", 0x19, 0x10, 0x1f, "zen4" },
	{ "AuthenticAMD", 0x19, 0x60, 0xaf, "zen4" },
	{ "AuthenticAMD", 0x1a, 0x00, 0xff, "zen5" },
};

const char *sn_machine_processor_name(void)
{
	unsigned eax, words[3], signature, unused, family, model;
	char vendor[13] = "";

	if (!__get_cpuid(0, &eax, &words[0], &words[2], &words[1]))
		return NULL;
	memcpy(vendor, words, 12);
	if (!__get_cpuid(1, &signature, &unused, &unused, &unused))
		return NULL;
	family = signature >> 8 & 15;
	model = signature >> 4 & 15;
	if (family == 15)
		family += signature >> 20 & 255;
	if (family >= 6)
		model |= signature >> 12 & 0xf0;
	/* Skylake server and Cascade Lake share the model; the stepping tells them apart. */
	if (family == 6 && model == 0x55 && (signature & 15) < 5 &&
	    strcmp(vendor, "GenuineIntel") == 0)
		return "skylake-avx512";
	for (unsigned i = 0; i < sizeof(processors) / sizeof(processors[0]); i++)
		if (strcmp(vendor, processors[i].vendor) == 0 && family == processors[i].family &&
		    model >= processors[i].model_first && model <= processors[i].model_last)
			return processors[i].name;
	return NULL;
}

const char *sn_machine_native_name(void)
{
	const char *given = getenv("SONDE_NATIVE_ARCH");

	if (!given || !*given)
		return sn_machine_processor_name();
	return strcmp(given, "none") == 0 ? NULL : given;
}

void sn_machine_host_model(char *out, size_t room)
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	char line[512];

	out[0] = 0;
	while (file && fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':');

		if (strncmp(line, "model name", 10) != 0 || !colon)
			continue;
		colon += 1 + strspn(colon + 1, " \t");
		colon[strcspn(colon, "\n")] = 0;
		snprintf(out, room, "%s", colon);
		break;
	}
	if (file)
		fclose(file);
}

#include "runtime/heartbeat/parts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Decimal digits with a point, whatever the locale; negative where it is none. */
static double read_decimal(const char *chars)
{
	double value = 0, unit = 1;
	const char *c = chars;

	for (; *c >= '0' && *c <= '9'; c++)
		value = value * 10 + (*c - '0');
	if (*c == '.')
		for (c++; *c >= '0' && *c <= '9'; c++)
			value += (*c - '0') * (unit /= 10);
	return c == chars || *c ? -1 : value;
}

static uint64_t interval_from(double seconds)
{
	const char *given = secure_getenv("SONDE_HEARTBEAT_INTERVAL");
	double asked = given ? read_decimal(given) : -1;

	if (asked > 0)
		seconds = asked;
	if (!(seconds > 0))
		seconds = 1;
	if (seconds < 0.001)
		seconds = 0.001;
	return seconds > 1e9 ? UINT64_C(1000000000000000000) : (uint64_t)(seconds * 1e9 + 0.5);
}

/* Bytes, with k, M or G for powers of 1024. */
static uint64_t size_from(uint64_t otherwise)
{
	const char *given = secure_getenv("SONDE_HEARTBEAT_MAX_SIZE");
	char *end;
	unsigned long long size;

	if (!given || *given < '0' || *given > '9')
		return otherwise;
	size = strtoull(given, &end, 10);
	if (*end == 'k' || *end == 'K')
		size <<= 10;
	else if (*end == 'M')
		size <<= 20;
	else if (*end == 'G')
		size <<= 30;
	return size;
}

static bool lists(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (; *list; list += *list == ',') {
		size_t span = strcspn(list, ",");

		if (span == length && !memcmp(list, word, length))
			return true;
		list += span;
	}
	return false;
}

/* Made absolute, so that a chdir() of the application changes nothing. */
static void set_folder(struct beat_settings *settings, const char *folder)
{
	char here[1024] = "";
	size_t length = 0;

	if (folder[0] != '/' && getcwd(here, sizeof(here) - 1)) {
		length = strlen(here);
		memcpy(settings->folder, here, length);
		settings->folder[length++] = '/';
	}
	strncpy(settings->folder + length, folder, sizeof(settings->folder) - length - 1);
}

void beat_settings_read(const struct sonde_heartbeat_config *config)
{
	static const struct sonde_heartbeat_config defaults;
	struct beat_settings *settings = &beat_globals.settings;
	const char *folder = secure_getenv("SONDE_HEARTBEAT_DIR");
	const char *format = secure_getenv("SONDE_HEARTBEAT_FORMAT");
	const char *enable = secure_getenv("SONDE_HEARTBEAT_ENABLE");
	const char *jobwide = secure_getenv("SONDE_HEARTBEAT_JOBWIDE");

	const char *publish = secure_getenv("SONDE_HEARTBEAT_PUBLISH");

	config = config ? config : &defaults;
	strncpy(settings->publish, publish ? publish : "", sizeof(settings->publish) - 1);
	folder = folder && *folder ? folder : config->folder;
	format = format && *format ? format : config->format;
	set_folder(settings, folder && *folder ? folder : "sonde-heartbeat");
	settings->writes_csv = format && lists(format, "csv");
	settings->writes_jsonl = !format || lists(format, "jsonl") ||
				 !(settings->writes_csv || lists(format, "none"));
	settings->interval_ns = interval_from(config->interval_s);
	settings->size_bytes = size_from(config->size_bytes);
	settings->is_enabled = !enable || strcmp(enable, "0") != 0;
	settings->is_jobwide = jobwide && !strcmp(jobwide, "1");
}

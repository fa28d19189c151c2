/*
 * Reads the settings: environment first, then what the application said at initialisation, then
 * defaults. A value that cannot be used is told and replaced.
 */
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
	double asked = given && *given ? read_decimal(given) : -1;

	if (given && *given && !(asked > 0))
		beat_complain("SONDE_HEARTBEAT_INTERVAL", given,
			      " is no number of seconds above 0; it is ignored");
	if (asked > 0)
		seconds = asked;
	if (!(seconds > 0))
		seconds = 1;
	if (seconds < 0.001)
		seconds = 0.001;
	return seconds > 1e9 ? UINT64_C(1000000000000000000) : (uint64_t)(seconds * 1e9 + 0.5);
}

/* Bytes, with k, M or G for powers of 1024; false for anything else and what does not fit. */
static bool read_size(const char *chars, uint64_t *out)
{
	static const char units[] = "kKMG";
	static const unsigned char shifts[] = { 10, 10, 20, 30 };
	const char *c = chars, *unit;
	uint64_t size = 0;

	for (; *c >= '0' && *c <= '9'; c++)
		if (__builtin_mul_overflow(size, 10, &size) ||
		    __builtin_add_overflow(size, (uint64_t)(*c - '0'), &size))
			return false;
	if (c == chars)
		return false;
	unit = *c ? strchr(units, *c) : NULL;
	if (unit) {
		unsigned shift = shifts[unit - units];

		if (size > UINT64_MAX >> shift)
			return false;
		size <<= shift;
		c++;
	}
	*out = size;
	return *c == 0;
}

static uint64_t size_from(uint64_t otherwise)
{
	const char *given = secure_getenv("SONDE_HEARTBEAT_MAX_SIZE");
	uint64_t size;

	if (!given || !*given)
		return otherwise;
	if (read_size(given, &size))
		return size;
	beat_complain("SONDE_HEARTBEAT_MAX_SIZE", given,
		      " is no number of bytes (k, M or G may follow it); it is ignored");
	return otherwise;
}

/* "0" or "1"; anything else is told and is `otherwise`. */
static bool read_switch(const char *name, bool otherwise)
{
	const char *given = secure_getenv(name);

	if (!given || !*given)
		return otherwise;
	if (!strcmp(given, "0") || !strcmp(given, "1"))
		return *given == '1';
	beat_complain(name, given, " is neither 0 nor 1; it is ignored");
	return otherwise;
}

/* Percent of a thread's time; 0, which is also the default, is no limit. */
static double cost_from_environment(void)
{
	const char *given = secure_getenv("SONDE_HEARTBEAT_COST");
	double percent = given && *given ? read_decimal(given) : 0;

	if (percent >= 0 && percent <= 100)
		return percent / 100;
	beat_complain("SONDE_HEARTBEAT_COST", given,
		      " is no number of percent from 0 to 100; it is ignored");
	return 0;
}

/* Every word of it is a format. */
static bool is_format(const char *list)
{
	static const char *const names[] = { "jsonl", "csv", "none" };

	for (; *list; list += *list == ',') {
		size_t span = strcspn(list, ",");
		unsigned i;

		for (i = 0; i < 3; i++)
			if (strlen(names[i]) == span && !memcmp(list, names[i], span))
				break;
		if (i == 3)
			return false;
		list += span;
	}
	return true;
}

/* The environment's if it can be used, else the configuration's. */
static const char *format_from(const char *configured)
{
	const char *given = secure_getenv("SONDE_HEARTBEAT_FORMAT");

	if (given && *given && is_format(given))
		return given;
	if (given && *given)
		beat_complain("SONDE_HEARTBEAT_FORMAT", given,
			      " names a format besides jsonl, csv and none; it is ignored");
	if (!configured || is_format(configured))
		return configured;
	beat_complain("the configured format", configured,
		      " names one besides jsonl, csv and none; it is ignored");
	return NULL;
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
	const char *publish = secure_getenv("SONDE_HEARTBEAT_PUBLISH");
	const char *format;

	config = config ? config : &defaults;
	strncpy(settings->publish, publish ? publish : "", sizeof(settings->publish) - 1);
	folder = folder && *folder ? folder : config->folder;
	format = format_from(config->format);
	set_folder(settings, folder && *folder ? folder : "sonde-heartbeat");
	settings->writes_csv = format && lists(format, "csv");
	settings->writes_jsonl = !format || lists(format, "jsonl") ||
				 !(settings->writes_csv || lists(format, "none"));
	settings->interval_ns = interval_from(config->interval_s);
	settings->size_bytes = size_from(config->size_bytes);
	settings->cost_most = cost_from_environment();
	settings->is_enabled = read_switch("SONDE_HEARTBEAT_ENABLE", true);
	settings->is_jobwide = read_switch("SONDE_HEARTBEAT_JOBWIDE", false);
}

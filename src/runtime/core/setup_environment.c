/* Our two variables (wire/settings.h): taken out of the environment before the program sees it. */
#include "runtime/core/setup.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Removes the entry and closes the gap. Slots that become free at the end are NULL. */
static void remove_entry(char **entry)
{
	do
		entry[0] = entry[1];
	while (*entry++);
}

static char **find_entry(const char *name)
{
	size_t length = strlen(name);

	for (char **entry = environ; entry && *entry; entry++)
		if (!strncmp(*entry, name, length) && (*entry)[length] == '=')
			return entry;
	return NULL;
}

/* "LIB" goes, "LIB:" becomes the empty value, "LIB:REST" becomes REST, in place. */
static void restore_preload(void)
{
	char **entry = find_entry("LD_PRELOAD");
	if (!entry)
		return;
	char *value = *entry + strlen("LD_PRELOAD=");
	size_t length = strcspn(value, ":");
	if (length >= sizeof sn_config.library)
		return;
	memcpy(sn_config.library, value, length);
	sn_config.library[length] = '\0';
	if (value[length] == '\0')
		remove_entry(entry);
	else
		memmove(value, value + length + 1, strlen(value + length + 1) + 1);
}

bool sn_setup_environment(void)
{
	char **entry = find_entry(SN_SETTINGS_VARIABLE);
	if (!entry)
		return false;
	const char *value = *entry + strlen(SN_SETTINGS_VARIABLE "=");
	bool is_usable = strlen(value) < sizeof sn_config.settings_text &&
			 sn_settings_parse(value, &sn_config.settings);
	if (is_usable)
		strcpy(sn_config.settings_text, value);
	remove_entry(entry);
	restore_preload();
	return is_usable && sn_config.library[0];
}

/* We put "again=1;" before the launcher's settings when we hand them on to a new program. */
bool sn_setup_is_followed(void)
{
	char program[1024];
	regex_t regex;

	if (!sn_config.settings.is_again)
		return true;
	switch (sn_config.settings.follow) {
	case SN_FOLLOW_ALL:
	case SN_FOLLOW_EXEC:
		return true;
	case SN_FOLLOW_FORK:
	case SN_FOLLOW_NONE:
		return false;
	case SN_FOLLOW_REGEX:
		break;
	}
	ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
	if (length < 0 || regcomp(&regex, sn_config.settings.pattern, REG_EXTENDED | REG_NOSUB))
		return false;
	program[length] = '\0';
	const char *executed = (const char *)getauxval(AT_EXECFN);
	bool matches = regexec(&regex, program, 0, NULL, 0) == 0 ||
		       (executed && regexec(&regex, executed, 0, NULL, 0) == 0);
	regfree(&regex);
	return matches;
}

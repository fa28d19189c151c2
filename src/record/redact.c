/*
 * Masks what looks like a secret: values of variables and options with telling names, and
 * passwords in URLs. Lengths stay, so records keep their layout.
 */
#include "record/redact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "wire/data.h"

bool sn_name_is_secret(const char *name, size_t length)
{
	static const char *const words[] = {
		"PASSWORD",    "PASSWD",      "PASSPHRASE", "SECRET",  "TOKEN",	     "COOKIE",
		"CREDENTIAL",  "APIKEY",      "API_KEY",    "API-KEY", "ACCESS_KEY", "ACCESS-KEY",
		"PRIVATE_KEY", "PRIVATE-KEY", "AUTH",	    "SESSION"
	};

	for (size_t w = 0; w < sizeof(words) / sizeof(*words); w++) {
		size_t wanted = strlen(words[w]);

		for (size_t at = 0; at + wanted <= length; at++)
			if (!strncasecmp(name + at, words[w], wanted))
				return true;
	}
	return false;
}

static void mask(char *from, char *end)
{
	if (from < end)
		memset(from, '*', (size_t)(end - from));
}

void sn_redact_word(char *word, const char *previous)
{
	char *equals = strchr(word, '='), *scheme = strstr(word, "://");
	char *end = word + strlen(word);

	if (equals && sn_name_is_secret(word, (size_t)(equals - word)))
		mask(equals + 1, end);
	if (previous && previous[0] == '-' && word[0] != '-' && !strchr(previous, '=') &&
	    sn_name_is_secret(previous, strlen(previous)))
		mask(word, end);
	if (scheme) {
		char *at = scheme + 3, *host_end = at + strcspn(at, "/?#");
		char *sign = memchr(at, '@', (size_t)(host_end - at));
		char *colon = sign ? memchr(at, ':', (size_t)(sign - at)) : NULL;

		if (colon)
			mask(colon + 1, sign);
	}
}

bool sn_process_title(char *bytes, size_t length)
{
	size_t end = strnlen(bytes, length);
	char previous[128] = "";

	if (!length || !memchr(bytes, ' ', end))
		return false;
	for (size_t i = end; i < length; i++)
		if (bytes[i])
			return false;
	while (end && bytes[end - 1] == ' ')
		bytes[--end] = '\0';
	for (char *word = bytes, *next; word; word = next) {
		next = strchr(word, ' ');
		if (next)
			*next = '\0';
		sn_redact_word(word, previous[0] ? previous : NULL);
		snprintf(previous, sizeof(previous), "%s", word);
		if (next)
			*next++ = ' ';
	}
	return end > 0;
}

/* What a look at each text of a data file does. */
typedef void (*text_use)(struct sn_record_text *text, void *context);

/* Where it ended: at what was committed, or at the first damage. */
static uint32_t chunk_redact(uint8_t *chunk, text_use use, void *context)
{
	struct sn_chunk_header *header = (void *)chunk;
	uint32_t committed = header->committed_bytes, at = sizeof(*header);

	if (header->magic != SN_CHUNK_MAGIC || committed > SN_DATA_CHUNK_BYTES)
		return at;
	while (at < committed) {
		struct sn_record_text *text = (void *)(chunk + at);
		uint32_t size = sn_record_bytes(text, committed - at);

		if (!size)
			break;
		if (text->header.type == SN_RECORD_TEXT && size > sizeof(*text) &&
		    memchr(text->text, '\0', size - sizeof(*text)))
			use(text, context);
		at += size;
	}
	return at;
}

static void secret_mask(struct sn_record_text *text, void *context)
{
	const char **previous = context;

	if ((text->header.flags & ~SN_TEXT_CUT) != SN_TEXT_ARGUMENT)
		return;
	sn_redact_word(text->text, *previous);
	*previous = text->text;
}

void sn_redact_data(uint8_t *bytes, size_t length)
{
	const char *previous = NULL;

	for (uint32_t i = 0; sn_data_chunk_offset(i + 1) <= length; i++)
		chunk_redact(bytes + sn_data_chunk_offset(i), secret_mask, &previous);
}

static void kind_mask(struct sn_record_text *text, void *context)
{
	if (*(const uint32_t *)context >> (text->header.flags & ~SN_TEXT_CUT) & 1)
		mask(text->text, text->text + strlen(text->text));
}

void sn_redact_data_texts(uint8_t *bytes, size_t length, uint32_t kinds)
{
	for (uint32_t i = 0; sn_data_chunk_offset(i + 1) <= length; i++) {
		uint8_t *chunk = bytes + sn_data_chunk_offset(i);
		uint32_t end = chunk_redact(chunk, kind_mask, &kinds);

		memset(chunk + end, 0, SN_DATA_CHUNK_BYTES - end);
	}
}

void sn_redact_environment(struct sn_launch *launch)
{
	for (char **e = environ; *e; e++) {
		const char *equals = strchr(*e, '=');
		struct sn_launch_variable variable;

		if (!equals)
			continue;
		variable.name = sn_arena_strndup(&launch->arena, *e, (size_t)(equals - *e));
		variable.value = sn_name_is_secret(*e, (size_t)(equals - *e)) ? "***" : equals + 1;
		sn_vec_push(&launch->environment, variable);
	}
}

char *sn_redact_command_line(struct sn_arena *arena, char *const *words, bool is_title)
{
	struct sn_text line = { 0 };
	const char *previous = NULL;
	char *kept;

	for (char *const *w = words; *w; w++) {
		char *word = sn_strdup(*w);

		sn_redact_word(word, previous);
		if (w != words)
			sn_text_add(&line, " ");
		if (is_title)
			sn_text_add(&line, word);
		else
			sn_text_add_shell_word(&line, word);
		free(word);
		previous = *w;
	}
	kept = sn_arena_strdup(arena, line.chars);
	sn_text_free(&line);
	return kept;
}

#include "record/redact.h"

#include <string.h>

#include "harness/tap.h"

static const char *redacted(const char *word, const char *previous)
{
	static char copy[128];

	strcpy(copy, word);
	sn_redact_word(copy, previous);
	return copy;
}

TEST(secrets_are_masked_in_place)
{
	CHECK_STRING(redacted("--password=hunter2", NULL), "--password=*******");
	CHECK_STRING(redacted("s3cr3t", "--api-key"), "******");
	CHECK_STRING(redacted("--verbose", "--token"), "--verbose");
	CHECK_STRING(redacted("value", "--token=x"), "value");
	CHECK_STRING(redacted("https://me:pw@host/p@th", NULL), "https://me:**@host/p@th");
	CHECK_STRING(redacted("https://host/a:b@c", NULL), "https://host/a:b@c");
	CHECK_STRING(redacted("-n=2000", "-n"), "-n=2000");
}

TEST(a_title_is_told_from_a_command_line)
{
	char redis[] = "redis-server *:6379\0\0\0\0", secret[] = "app --token abc --n=1 \0\0";
	char words[] = "sleep\0001\0", one[] = "sleep\0", empty[] = "my app\0\0x";

	CHECK(sn_process_title(redis, sizeof(redis) - 1));
	CHECK_STRING(redis, "redis-server *:6379");
	CHECK(sn_process_title(secret, sizeof(secret) - 1));
	CHECK_STRING(secret, "app --token *** --n=1");
	CHECK(!sn_process_title(words, sizeof(words) - 1));
	CHECK(!sn_process_title(one, sizeof(one) - 1));
	CHECK(!sn_process_title(empty, sizeof(empty) - 1));
	CHECK(!sn_process_title(empty, 0));
}

TEST(names_tell_secrets)
{
	CHECK(sn_name_is_secret("AWS_SECRET_ACCESS_KEY", 21));
	CHECK(sn_name_is_secret("github_token", 12));
	CHECK(!sn_name_is_secret("HOME", 4));
	CHECK(!sn_name_is_secret("KEYBOARD", 8));
}

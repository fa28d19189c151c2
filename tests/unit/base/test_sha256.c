#include <stdio.h>
#include <string.h>

#include "base/sha256.h"
#include "harness/tap.h"

static void check(const char *chars, size_t repeat, const char *want)
{
	struct sn_sha256 hash;
	uint8_t digest[32];
	char hex[65];

	sn_sha256_begin(&hash);
	for (size_t i = 0; i < repeat; i++)
		sn_sha256_add(&hash, chars, strlen(chars));
	sn_sha256_end(&hash, digest);
	for (int i = 0; i < 32; i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	CHECK_STRING(hex, want);
}

/* NIST's examples for FIPS 180-4 */
TEST(examples_of_the_standard)
{
	check("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	check("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	check("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
	      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	check("aaaaaaaaaa", 100000,
	      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* The secret's file: the user's alone, made once. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "search/link/link.h"
#include "harness/tap.h"

TEST(a_secret_is_the_users_alone)
{
	char folder[] = "/tmp/sonde-secret.XXXXXX";
	uint8_t secret[SN_LINK_SECRET], again[SN_LINK_SECRET], other[SN_LINK_SECRET];
	struct sn_text path = { 0 };
	struct sn_error err;
	struct stat facts;

	REQUIRE(mkdtemp(folder));
	sn_text_addf(&path, "%s/secret", folder);
	REQUIRE(sn_link_secret_make(path.chars, secret, &err) == SN_OK);
	CHECK(!stat(path.chars, &facts) && (facts.st_mode & 0777) == 0600);
	CHECK(sn_link_secret_make(path.chars, other, &err) == SN_ERR_IO); /* it is there */
	CHECK(sn_link_secret_read(path.chars, again, &err) == SN_OK);
	CHECK(!memcmp(secret, again, sizeof(secret)));
	CHECK(!chmod(path.chars, 0640) &&
	      sn_link_secret_read(path.chars, again, &err) == SN_ERR_FORMAT);
	CHECK(!chmod(path.chars, 0600) && !truncate(path.chars, 31) &&
	      sn_link_secret_read(path.chars, again, &err) == SN_ERR_FORMAT);
	unlink(path.chars);
	CHECK(!symlink("/dev/zero", path.chars) &&
	      sn_link_secret_read(path.chars, again, &err) == SN_ERR_IO);
	unlink(path.chars);
	rmdir(folder);
	sn_text_free(&path);
}

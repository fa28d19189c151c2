#include "base/error.h"

#include <errno.h>
#include <string.h>

#include "harness/tap.h"

TEST(no_room_is_told_with_what_to_do)
{
	static const int full[] = { ENOSPC, EDQUOT, EFBIG, EROFS, EMFILE, ENFILE };
	char remedy[128];

	for (size_t i = 0; i < sizeof(full) / sizeof(*full); i++) {
		struct sn_error err;

		errno = full[i];
		CHECK_INT(sn_error_errno(&err, "cannot write '%s'", "x"), SN_ERR_IO);
		CHECK(!strncmp(err.sentence, "cannot write 'x': ", 18));
		CHECK(strstr(err.sentence, strerror(full[i])) != NULL);
		CHECK(strstr(err.sentence, "; ") != NULL);
	}
	CHECK_STRING(sn_errno_remedy(EINVAL, remedy, sizeof(remedy)), "");
	errno = ENOENT;
	CHECK_INT(sn_error_errno(NULL, "x"), SN_ERR_NOT_FOUND);
}

/* The secret of a search: 32 random bytes in a file that nobody else may read. */
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "search/link/link.h"

sn_status sn_link_secret_make(const char *path, uint8_t secret[SN_LINK_SECRET],
			      struct sn_error *err)
{
	sn_status status = SN_OK;
	int fd;

	if (getrandom(secret, SN_LINK_SECRET, 0) != SN_LINK_SECRET)
		return sn_error_errno(err, "search: the kernel gives no random bytes");
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || write(fd, secret, SN_LINK_SECRET) != SN_LINK_SECRET)
		status = sn_error_errno(err, "search: cannot write the secret '%s'", path);
	if (fd >= 0)
		close(fd);
	return status;
}

sn_status sn_link_secret_read(const char *path, uint8_t secret[SN_LINK_SECRET],
			      struct sn_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat facts;
	sn_status status = SN_OK;

	if (fd < 0)
		return sn_error_errno(err, "search: cannot read the secret '%s'", path);
	if (fstat(fd, &facts) || !S_ISREG(facts.st_mode) || facts.st_uid != geteuid() ||
	    facts.st_mode & 077)
		status = sn_error_set(err, SN_ERR_FORMAT,
				      "search: the secret '%s' is not a file of yours alone (0600)",
				      path);
	else if (facts.st_size != SN_LINK_SECRET ||
		 read(fd, secret, SN_LINK_SECRET) != SN_LINK_SECRET)
		status = sn_error_set(err, SN_ERR_FORMAT, "search: the secret '%s' is damaged",
				      path);
	close(fd);
	return status;
}

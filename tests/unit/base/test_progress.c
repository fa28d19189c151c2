#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/progress.h"
#include "harness/tap.h"

enum { PATIENCE_MS = 60000 };

static char seen[1 << 16];
static size_t seen_bytes;

/* Standard error becomes a terminal; the other side of it. */
static int terminal_open(int *kept)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave;

	REQUIRE(master >= 0 && !grantpt(master) && !unlockpt(master));
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	REQUIRE(slave >= 0);
	*kept = dup(STDERR_FILENO);
	dup2(slave, STDERR_FILENO);
	close(slave);
	return master;
}

/* Reads until `words` came; false: they did not. */
static bool comes(int fd, const char *words)
{
	struct pollfd from = { .fd = fd, .events = POLLIN };

	while (!strstr(seen, words)) {
		ssize_t got;

		if (poll(&from, 1, PATIENCE_MS) <= 0 || seen_bytes + 1 >= sizeof(seen))
			return false;
		got = read(fd, seen + seen_bytes, sizeof(seen) - 1 - seen_bytes);
		if (got <= 0)
			return false;
		seen_bytes += (size_t)got;
		seen[seen_bytes] = 0;
	}
	return true;
}

static void forget(void)
{
	seen_bytes = 0;
	seen[0] = 0;
}

TEST(a_terminal_is_told_although_nobody_counts)
{
	struct sn_progress progress, inner;
	int kept, master = terminal_open(&kept);
	bool came, has_share, has_message, has_time;

	sn_progress_begin(&progress, "counting sheep", 0);
	sn_progress_begin(&inner, "a part of it", 3); /* shows nothing of its own */
	sn_progress_end(&inner);
	came = comes(master, "counting sheep ...");
	forget();
	sn_warn("%s", "a sheep is black");
	has_message = comes(master, "\r\033[Ksonde: a sheep is black"); /* on a line of its own */
	sn_progress_end(&progress);
	forget();
	sn_progress_begin(&progress, "and goats", 4);
	sn_progress_update(&progress, 2);
	has_share = comes(master, "and goats  50 %");
	forget();
	sn_progress_end(&progress);
	has_share &= comes(master, "\r\033[K");
	forget();
	sn_progress_begin_timed(&progress, "shearing", 7);
	has_time = comes(master, "\rshearing: ") && comes(master, " s of about 7 s");
	sn_progress_end(&progress);
	dup2(kept, STDERR_FILENO);
	CHECK(came);
	CHECK(has_message);
	CHECK(has_share);
	CHECK(has_time);
	CHECK(!strstr(seen, "a part of it"));
}

TEST(a_pipe_is_told_nothing)
{
	struct sn_progress progress;
	int kept = dup(STDERR_FILENO), ends[2];
	struct pollfd from = { .events = POLLIN };

	REQUIRE(!pipe(ends));
	dup2(ends[1], STDERR_FILENO);
	sn_progress_begin(&progress, "counting sheep", 10);
	for (int i = 0; i < 10; i++) {
		sn_progress_update(&progress, (uint64_t)i);
		usleep(80000);
	}
	sn_progress_end(&progress);
	dup2(kept, STDERR_FILENO);
	from.fd = ends[0];
	CHECK_INT(poll(&from, 1, 0), 0);
}

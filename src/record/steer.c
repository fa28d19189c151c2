/* The control page as a file of the data folder, and the thread that steers. */
#include "record/steer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/progress.h"

sn_status sn_steer_open(struct sn_steer *steer, const char *folder, struct sn_error *err)
{
	void *at = MAP_FAILED;
	int fd;

	sn_text_clear(&steer->path);
	sn_text_addf(&steer->path, "%s/%s", folder, SN_CAUSAL_FILE);
	fd = open(steer->path.chars, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	/* backed before it is shared: a store to a hole of a full disk would end the target */
	if (fd >= 0 && (errno = posix_fallocate(fd, 0, sizeof(*steer->first))) == 0)
		at = mmap(NULL, sizeof(*steer->first), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED) {
		int fault = errno;

		if (fd >= 0)
			close(fd);
		errno = fault;
		return sn_error_errno(err, "cannot make the control page '%s'", steer->path.chars);
	}
	close(fd);
	steer->shared = at;
	memcpy(steer->shared, steer->first, sizeof(*steer->shared));
	sn_steer_tick(steer);
	return SN_OK;
}

void sn_steer_tick(struct sn_steer *steer)
{
	if (steer && steer->shared)
		atomic_store_explicit(&steer->shared->alive_ns, sn_clock_ns(CLOCK_MONOTONIC),
				      memory_order_relaxed);
}

static void *run(void *context)
{
	struct sn_steer *steer = context;

	steer->steer(steer);
	return NULL;
}

void sn_steer_begin(struct sn_steer *steer)
{
	sigset_t all, before;

	atomic_store(&steer->is_over, false);
	if (!steer->steer)
		return;
	sigfillset(&all); /* the launcher's signals are the main thread's */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	steer->has_thread = pthread_create(&steer->thread, NULL, run, steer) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void sn_steer_end(struct sn_steer *steer)
{
	atomic_store(&steer->is_over, true);
	if (steer->has_thread)
		pthread_join(steer->thread, NULL);
	steer->has_thread = false;
	if (!steer->last)
		steer->last = sn_alloc_zeroed(1, sizeof(*steer->last));
	memcpy(steer->last, steer->shared, sizeof(*steer->last));
}

void sn_steer_close(struct sn_steer *steer)
{
	if (!steer || !steer->shared)
		return;
	munmap(steer->shared, sizeof(*steer->shared));
	steer->shared = NULL;
	unlink(steer->path.chars);
	sn_text_free(&steer->path);
}

void sn_steer_free(struct sn_steer *steer)
{
	free(steer->last);
	steer->last = NULL;
}

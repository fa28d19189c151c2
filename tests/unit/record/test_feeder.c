#include "record/feeder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/tap.h"
#include "wire/data.h"

/* The file of a process that is still starting: its header comes later than its name. */
static int file_begin(const char *folder)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/1.0.live", folder);
	return open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
}

static struct sn_data_header *file_get_ready(int fd)
{
	struct sn_data_header *header;

	if (ftruncate(fd, (off_t)sn_data_file_bytes(SN_DATA_CHUNKS_FIRST)))
		return NULL;
	header = mmap(NULL, SN_DATA_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	header->pid = getpid();
	header->state = SN_DATA_RUNNING;
	header->chunks_backed = SN_DATA_CHUNKS_FIRST;
	header->magic = SN_DATA_MAGIC;
	return header;
}

TEST(a_file_that_gets_ready_late_is_fed)
{
	char folder[] = "/tmp/sonde-feeder-XXXXXX";
	struct sn_feeder feeder;
	struct sn_data_header *header;
	struct sn_error err;
	uint64_t bytes;
	int fd;

	CHECK(mkdtemp(folder) != NULL);
	CHECK_INT(sn_feeder_open(&feeder, folder, 0, 1000000000, &err), SN_OK);
	fd = file_begin(folder);
	CHECK(fd >= 0);
	for (int i = 0; i < 3; i++)
		sn_feeder_feed(&feeder);
	CHECK_INT(feeder.files.count, 0);
	header = file_get_ready(fd);
	header->next_chunk = SN_DATA_CHUNKS_FIRST;
	sn_feeder_feed(&feeder);
	CHECK_INT(feeder.files.count, 1);
	CHECK(header->chunks_backed >= SN_DATA_CHUNKS_FIRST + SN_DATA_CHUNKS_AHEAD / 2);
	CHECK_INT(sn_feeder_running_count(&feeder), 1);
	munmap(header, SN_DATA_HEADER_BYTES);
	close(fd);
	{
		char path[128];

		snprintf(path, sizeof(path), "%s/gathered", folder);
		CHECK_INT(sn_feeder_gather(&feeder, path, &bytes, &err), SN_OK);
		unlink(path);
	}
	sn_feeder_close(&feeder);
	CHECK_INT(rmdir(folder), 0);
}

TEST(a_file_that_never_gets_ready_slows_the_looks_down)
{
	char folder[] = "/tmp/sonde-feeder-XXXXXX", path[128];
	struct sn_feeder feeder;
	struct sn_error err;

	CHECK(mkdtemp(folder) != NULL);
	CHECK_INT(sn_feeder_open(&feeder, folder, 0, 1000000000, &err), SN_OK);
	close(file_begin(folder));
	sn_feeder_feed(&feeder);
	CHECK_INT(feeder.wait_ms, 1);
	for (int i = 0; i < 1100; i++)
		sn_feeder_feed(&feeder);
	CHECK_INT(feeder.wait_ms, 20);
	sn_feeder_close(&feeder);
	snprintf(path, sizeof(path), "%s/1.0.live", folder);
	unlink(path);
	CHECK_INT(rmdir(folder), 0);
}

/* Several starts of one program: input again, output aside. */
#include "record/streams.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/tap.h"

/* A start that reads its input and writes it, with something behind. */
static void start(struct sn_streams *streams, const char *more)
{
	char bytes[16];
	ssize_t got;

	sn_streams_begin(streams);
	got = read(STDIN_FILENO, bytes, sizeof(bytes));
	if (got < 0 || write(STDOUT_FILENO, bytes, (size_t)got) != got ||
	    write(STDOUT_FILENO, more, strlen(more)) != (ssize_t)strlen(more))
		perror("start");
	sn_streams_end(streams);
}

static void shown(const struct sn_streams *streams, char *out, size_t room)
{
	FILE *file = tmpfile();
	ssize_t got;

	sn_streams_show(streams, fileno(file));
	got = pread(fileno(file), out, room - 1, 0);
	out[got > 0 ? got : 0] = '\0';
	fclose(file);
}

TEST(each_start_reads_the_same_and_the_last_is_shown)
{
	struct sn_streams streams;
	char text[64];
	int ends[2];

	REQUIRE(pipe(ends) == 0 && write(ends[1], "input", 5) == 5);
	close(ends[1]);
	dup2(ends[0], STDIN_FILENO);
	sn_streams_open(&streams);
	start(&streams, " one");
	CHECK(sn_streams_are_alike(&streams));
	start(&streams, " one");
	CHECK(sn_streams_are_alike(&streams));
	start(&streams, " two");
	CHECK(!sn_streams_are_alike(&streams));
	shown(&streams, text, sizeof(text));
	CHECK_STRING(text, "input two");
	start(&streams, " twofold");
	CHECK(!sn_streams_are_alike(&streams));
	sn_streams_close(&streams);
}

TEST(a_file_is_read_from_where_it_stood)
{
	struct sn_streams streams;
	char text[64];
	FILE *file = tmpfile();

	REQUIRE(file && pwrite(fileno(file), "0123456789", 10, 0) == 10);
	lseek(fileno(file), 4, SEEK_SET);
	dup2(fileno(file), STDIN_FILENO);
	sn_streams_open(&streams);
	start(&streams, "");
	start(&streams, "!");
	shown(&streams, text, sizeof(text));
	CHECK_STRING(text, "456789!");
	sn_streams_rewind(&streams);
	CHECK_INT(lseek(STDIN_FILENO, 0, SEEK_CUR), 4);
	sn_streams_close(&streams);
	fclose(file);
}

/* Two processes, a pipe between them, and the C library's streams at both ends: `feed` works 10 units for each line
 * of 16 kB, `eat` 7. The pipe holds four lines. By construction the first gives 0.3 at most, the second nothing. */
#include "program.h"

#include <sys/wait.h>
#include <unistd.h>

PART(feed)
PART(eat)

enum { LINE_BYTES = 16384 };

static void write_lines(int fd)
{
	static char line[LINE_BYTES];
	FILE *out = fdopen(fd, "w");

	memset(line, 'x', LINE_BYTES - 1);
	line[LINE_BYTES - 1] = '\n';
	for (int i = 0; i < steps; i++) {
		feed(10);
		rest();
		fwrite(line, 1, LINE_BYTES, out);
	}
	fclose(out);
}

static void read_lines(int fd)
{
	FILE *in = fdopen(fd, "r");
	size_t room = 0;
	char *line = NULL;

	while (getline(&line, &room, in) > 0) {
		eat(7);
		rest();
		step_is_done();
	}
	free(line);
	fclose(in);
}

int main(int count, char **words)
{
	int ends[2];

	program_begins(count, words);
	if (pipe(ends))
		return 1;
	if (!fork()) {
		close(ends[0]);
		write_lines(ends[1]);
		_exit(0);
	}
	close(ends[1]);
	read_lines(ends[0]);
	wait(NULL);
	return program_ends();
}

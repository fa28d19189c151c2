/* The table of a running job on the screen of a terminal, with keys. */
#include "heartbeat/top.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

int64_t sn_top_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static volatile sig_atomic_t must_stop;

static void on_signal(int number)
{
	must_stop = number;
}

/* The terminal's own screen comes back as it was, however we end. */
struct screen {
	struct termios before;
	bool has_keys;
};

static void screen_begin(struct screen *screen)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct termios raw;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	screen->has_keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &screen->before) == 0;
	if (screen->has_keys) {
		raw = screen->before;
		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	}
	fputs("\033[?1049h\033[?25l", stdout);
}

static void screen_end(const struct screen *screen)
{
	fputs("\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	if (screen->has_keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &screen->before);
}

/* Each line is cut at the screen's width by the table; what is below the screen is not drawn. */
static sn_status draw(const struct sn_top *top, struct sn_error *err)
{
	struct winsize size = { 0 };
	char *chars = NULL, *line;
	size_t length, rows;
	FILE *out = open_memstream(&chars, &length);
	sn_status status;

	if (!out)
		return sn_error_set(err, SN_ERR_NOMEM, "heartbeat top: out of memory");
	status = sn_top_print(top, sn_top_now_ns(), out, err);
	fclose(out);
	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	rows = size.ws_row > 2 ? size.ws_row - 2u : 22;
	fputs("\033[H", stdout);
	for (line = chars; status == SN_OK && line && *line && rows; rows--) {
		char *end = strchr(line, '\n');

		printf("%.*s\033[K\n", (int)(end ? end - line : (long)strlen(line)), line);
		line = end ? end + 1 : NULL;
	}
	fputs("\033[Jh heartbeats, r ranks, t threads, q quit", stdout);
	fflush(stdout);
	free(chars);
	return status;
}

static void handle_key(struct sn_top *top)
{
	char key = 0;

	if (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q' || key == 27)
		must_stop = 1;
	else if (key == 'h' || key == 'r' || key == 't')
		top->by = key == 'h'   ? SN_LIVE_BY_HEARTBEAT
			  : key == 'r' ? SN_LIVE_BY_RANK
				       : SN_LIVE_BY_THREAD;
}

sn_status sn_top_watch(struct sn_top *top, struct sn_error *err)
{
	struct screen screen = { 0 };
	sn_status status = SN_OK;

	screen_begin(&screen);
	while (status == SN_OK && !must_stop) {
		struct pollfd keys = { .fd = STDIN_FILENO, .events = POLLIN };

		status = draw(top, err);
		if (status == SN_OK &&
		    poll(&keys, screen.has_keys ? 1 : 0, (int)(top->pause_s * 1000)) > 0)
			handle_key(top);
		if (status == SN_OK && !must_stop)
			status = sn_live_poll(top->live, sn_top_now_ns(), err);
	}
	screen_end(&screen);
	return status;
}

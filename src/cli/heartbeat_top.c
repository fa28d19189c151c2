#include "cli/command.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "heartbeat/live.h"

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void add_age(struct sn_text *text, int64_t ns)
{
	double seconds = (double)ns * 1e-9;

	if (seconds < 90)
		sn_text_addf(text, "%.0f s", seconds);
	else if (seconds < 5400)
		sn_text_addf(text, "%.0f min", seconds / 60);
	else
		sn_text_addf(text, "%.1f h", seconds / 3600);
}

/* "app ["x"], job 77: 8 processes on 2 hosts, running for 12 min" */
static void add_title(struct sn_text *text, const struct sn_live *live, double window_s)
{
	struct sn_live_facts facts = sn_live_facts(live);
	int64_t now = now_ns();

	if (!facts.process_count) {
		sn_text_add(text, "no process has written a heartbeat yet\n");
		return;
	}
	sn_live_add_title(live, text);
	sn_text_addf(text, ": %llu process%s on %llu host%s, ",
		     (unsigned long long)facts.process_count, facts.process_count == 1 ? "" : "es",
		     (unsigned long long)facts.host_count, facts.host_count == 1 ? "" : "s");
	if (facts.running_count) {
		sn_text_add(text, "running for ");
		add_age(text, now - facts.first_start_ns);
	} else {
		sn_text_add(text, "ended; ran for ");
		add_age(text, facts.last_row_ns - facts.first_start_ns);
	}
	sn_text_add(text, ", last row ");
	add_age(text, now - facts.last_row_ns);
	sn_text_addf(text, " ago; figures of the last %g s", window_s);
	if (facts.bad_line_count)
		sn_text_addf(text, " (%llu lines could not be read)",
			     (unsigned long long)facts.bad_line_count);
	sn_text_add(text, "\n");
}

/* Columns that say something here: without ranks, threads or work theirs are left out. */
static const char *columns_of(enum sn_live_by by, bool has_many)
{
	if (by == SN_LIVE_BY_THREAD)
		return "heartbeat,rank,thread,total,rate_hz,mean_s,max_s,open,work_hz,recent";
	if (by == SN_LIVE_BY_RANK)
		return "heartbeat,rank,pid,threads,total,rate_hz,mean_s,max_s,open,work_hz,recent";
	return has_many ? "heartbeat,processes,threads,total,rate_hz,mean_s,max_s,slowest_rank,"
			  "slowest_ratio,open,work_hz,recent"
			: "heartbeat,threads,total,rate_hz,mean_s,max_s,open,work_hz,recent";
}

struct top {
	struct sn_live *live;
	struct sn_table_view view;
	enum sn_live_by by;
	double window_s, pause_s;
};

static void write_facts(struct sn_json *json, void *context)
{
	const struct top *top = context;
	struct sn_live_facts facts = sn_live_facts(top->live);

	sn_json_member_uint(json, "processes", facts.process_count);
	sn_json_member_uint(json, "running", facts.running_count);
	sn_json_member_uint(json, "hosts", facts.host_count);
	sn_json_member_double(json, "window_s", top->window_s);
	sn_json_member_double(json, "last_row_realtime_s", (double)facts.last_row_ns * 1e-9);
}

static sn_status print(const struct top *top, FILE *out, struct sn_error *err)
{
	struct sn_table_view view = top->view;
	struct sn_table table;
	sn_status status;

	sn_table_init(&table, sn_live_columns, sn_live_column_count);
	sn_live_fill(top->live, top->by, &table);
	if (view.format == SN_FORMAT_TEXT) {
		struct sn_text title = { 0 };

		add_title(&title, top->live, top->window_s);
		fputs(title.chars, out);
		sn_text_free(&title);
		if (!view.columns)
			view.columns =
				columns_of(top->by, sn_live_facts(top->live).process_count > 1);
	}
	view.schema = "sonde.heartbeat-top/1";
	status = sn_table_write(&table, &view, out, write_facts, (void *)(uintptr_t)top, err);
	sn_table_free(&table);
	return status;
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
static sn_status draw(const struct top *top, struct sn_error *err)
{
	struct winsize size = { 0 };
	char *chars = NULL, *line;
	size_t length, rows;
	FILE *out = open_memstream(&chars, &length);
	sn_status status;

	if (!out)
		return sn_error_set(err, SN_ERR_NOMEM, "heartbeat top: out of memory");
	status = print(top, out, err);
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

static void handle_key(struct top *top)
{
	char key = 0;

	if (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q' || key == 27)
		must_stop = 1;
	else if (key == 'h' || key == 'r' || key == 't')
		top->by = key == 'h'   ? SN_LIVE_BY_HEARTBEAT
			  : key == 'r' ? SN_LIVE_BY_RANK
				       : SN_LIVE_BY_THREAD;
}

static sn_status watch(struct top *top, struct sn_error *err)
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
			status = sn_live_poll(top->live, now_ns(), err);
	}
	screen_end(&screen);
	return status;
}

static sn_status read_options(const struct sn_args *args, struct top *top, struct sn_error *err)
{
	const char *by = sn_args_value(args, "by");
	sn_status status = sn_args_table_view(args, &top->view, err);

	if (status == SN_OK)
		status = sn_args_real(args, "window", 10, &top->window_s, err);
	if (status == SN_OK)
		status = sn_args_real(args, "interval", 1, &top->pause_s, err);
	if (status == SN_OK && !(top->window_s >= 0.01 && top->window_s <= 86400 &&
				 top->pause_s >= 0.05 && top->pause_s <= 3600))
		return sn_error_set(err, SN_ERR_USAGE,
				    "heartbeat top: --window must be between 0.01 and 86400 s, "
				    "--interval between 0.05 and 3600 s");
	if (status == SN_OK && args->operand_count > 1)
		return sn_error_set(err, SN_ERR_USAGE,
				    "heartbeat top takes one folder; '%s' is too many",
				    args->operands[1]);
	top->by = by && !strcmp(by, "rank")	? SN_LIVE_BY_RANK
		  : by && !strcmp(by, "thread") ? SN_LIVE_BY_THREAD
						: SN_LIVE_BY_HEARTBEAT;
	return status;
}

static const char *folder_of(const struct sn_args *args)
{
	const char *given = getenv("SONDE_HEARTBEAT_DIR");

	if (args->operand_count)
		return args->operands[0];
	return given && *given ? given : "sonde-heartbeat";
}

static int top_run(const struct sn_args *args)
{
	struct top top = { 0 };
	struct sn_error err = { 0 };
	sn_status status = read_options(args, &top, &err);
	bool is_live = isatty(STDOUT_FILENO) && !sn_args_flag(args, "once");

	if (status == SN_OK) {
		top.live = sn_live_new(folder_of(args), (int64_t)(top.window_s * 1e9));
		status = sn_live_poll(top.live, now_ns(), &err);
	}
	if (status == SN_OK && top.view.format == SN_FORMAT_TEXT && is_live)
		status = watch(&top, &err);
	else if (status == SN_OK && !sn_live_facts(top.live).process_count)
		status = sn_error_set(&err, SN_ERR_NO_DATA,
				      "heartbeat top: no heartbeats in '%s'; name the folder, or "
				      "set SONDE_HEARTBEAT_DIR as for the job",
				      folder_of(args));
	else if (status == SN_OK)
		status = print(&top, stdout, &err);
	sn_live_free(top.live);
	return status == SN_OK ? SN_EXIT_OK : sn_error_print(&err);
}

static const struct sn_option top_options[] = {
	{ "by", 'b', "WHAT", "a row for each heartbeat, rank or thread", "heartbeat|rank|thread" },
	{ "window", 'w', "SECONDS", "figures of the last SECONDS (default 10)", NULL },
	{ "interval", 'i', "SECONDS", "look again after SECONDS (default 1)", NULL },
	{ "once", '1', NULL, "print once and end, also on a terminal", NULL },
	SN_TABLE_OPTIONS,
	{ NULL, 0, NULL, NULL, NULL },
};

static const char *const top_examples[] = {
	"sonde heartbeat top",
	"watch the job that writes into ./sonde-heartbeat",
	"sonde heartbeat top /scratch/beats --by rank --sort mean_s | head",
	"the ranks in which a beat takes longest, once",
	NULL,
};

const struct sn_command sn_command_heartbeat_top = {
	.name = "heartbeat top",
	.operands = "[FOLDER]",
	.summary = "Watches a running job through its heartbeat files",
	.description =
		"Shows the rate, mean and longest duration of each heartbeat over the last "
		"seconds, "
		"how many beats are open, the slowest rank and by how much it is slower than the "
		"mean "
		"of all, and the rate over the last 20 intervals. FOLDER is where the job writes; "
		"SONDE_HEARTBEAT_DIR or ./sonde-heartbeat without it. Only processes that run are "
		"shown; if none does, those that wrote last.\n\nOn a terminal the view is renewed "
		"every "
		"second: h, r and t show heartbeats, ranks and threads, q ends. Into a pipe, with "
		"--once, or in another format than text it prints once.",
	.options = top_options,
	.examples = top_examples,
	.run = top_run,
};

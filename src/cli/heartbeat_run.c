/*
 * sonde heartbeat run: a plan's heartbeats in the program as it is. The command becomes the program, so that nothing stands
 * between it and who started it; a process that nobody waits for removes the folder with the code when it has ended.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/detach.h"
#include "base/file.h"
#include "base/own_file.h"
#include "cli/command.h"
#include "cli/heartbeat_insert.h"
#include "record/target.h"
#include "wire/insert.h"

struct run {
	struct sn_target target;
	struct sn_inserts inserts;
	struct sn_text folder;	  /* of the code; "" until it is there */
	struct sn_text libraries; /* for LD_PRELOAD */
};

/* ---- the plan ---- */

static sn_status plan_load(const char *path, struct sn_heartbeat_plan *out, struct sn_error *err)
{
	struct sn_file_view view;
	sn_status status = sn_file_map(path, &view, err);

	*out = (struct sn_heartbeat_plan){ 0 };
	if (status != SN_OK)
		return status;
	status = sn_heartbeat_plan_read((const char *)view.bytes, view.length, path, out, err);
	sn_file_unmap(&view);
	return status;
}

/* ---- what the program's processes find ---- */

static sn_status folder_make(struct run *run, struct sn_error *err)
{
	const char *base = getenv("TMPDIR");

	sn_text_addf(&run->folder, "%s/sonde-heartbeat-XXXXXX", base && *base ? base : "/tmp");
	if (mkdtemp(run->folder.chars)) {
		char *whole = realpath(run->folder.chars, NULL); /* the program may go elsewhere */

		if (!whole)
			return sn_error_errno(err, "cannot find the folder '%s'",
					      run->folder.chars);
		sn_text_clear(&run->folder);
		sn_text_add(&run->folder, whole);
		free(whole);
		return SN_OK;
	}
	sn_error_errno(err,
		       "cannot make a folder for the code ('%s', set TMPDIR for another place)",
		       run->folder.chars);
	sn_text_clear(&run->folder);
	return SN_ERR_IO;
}

static sn_status code_write(struct run *run, struct sn_error *err)
{
	struct sn_text path = { 0 };
	sn_status status = SN_OK;

	for (size_t i = 0; i < run->inserts.modules.count && status == SN_OK; i++) {
		const struct sn_insert_module *module = &run->inserts.modules.items[i];
		struct sn_file_writer writer;

		sn_text_clear(&path);
		sn_text_addf(&path, "%s/plan.%s", run->folder.chars, module->build_id);
		status = sn_file_writer_open(&writer, path.chars, err);
		if (status != SN_OK)
			break;
		fwrite(module->code.chars, 1, module->code.length, writer.out);
		status = sn_file_writer_commit(&writer, err);
	}
	sn_text_free(&path);
	return status;
}

/* LD_PRELOAD has no way to quote a path: a link in our folder stands for it. */
static sn_status library_add(struct run *run, char *path, const char *name, struct sn_error *err)
{
	sn_status status = SN_OK;

	if (!path)
		return sn_error_set(err, SN_ERR_NOT_FOUND,
				    "%s is neither beside this command nor where it would be "
				    "installed; build or install sonde again",
				    name);
	if (run->libraries.length)
		sn_text_add(&run->libraries, ":");
	if (strpbrk(path, " :$;")) {
		struct sn_text link = { 0 };

		sn_text_addf(&link, "%s/%s", run->folder.chars, name);
		if (symlink(path, link.chars))
			status = sn_error_errno(err, "cannot link %s into '%s'", name,
						run->folder.chars);
		sn_text_add(&run->libraries, link.chars);
		sn_text_free(&link);
	} else {
		sn_text_add(&run->libraries, path);
	}
	free(path);
	return status;
}

static sn_status libraries_find(struct run *run, struct sn_error *err)
{
	sn_status status = library_add(run,
				       sn_own_file("src/runtime/heartbeat/libsonde-heartbeat.so.0",
						   "../libsonde-heartbeat.so.0"),
				       "libsonde-heartbeat.so.0", err);

	return status == SN_OK ? library_add(run,
					     sn_own_file("src/runtime/insert/libsonde-insert.so",
							 "libsonde-insert.so"),
					     "libsonde-insert.so", err)
			       : status;
}

static void folder_remove(const struct run *run)
{
	struct sn_text path = { 0 };
	static const char *const links[] = { "libsonde-heartbeat.so.0", "libsonde-insert.so" };

	for (size_t i = 0; i < run->inserts.modules.count; i++) {
		sn_text_clear(&path);
		sn_text_addf(&path, "%s/plan.%s", run->folder.chars,
			     run->inserts.modules.items[i].build_id);
		unlink(path.chars);
	}
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		sn_text_clear(&path);
		sn_text_addf(&path, "%s/%s", run->folder.chars, links[i]);
		unlink(path.chars);
	}
	rmdir(run->folder.chars);
	sn_text_free(&path);
}

static void await(pid_t pid)
{
	struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	const struct timespec pause = { .tv_sec = 1 };

	if (end.fd >= 0)
		while (poll(&end, 1, -1) < 0 && errno == EINTR)
			continue;
	else /* before Linux 5.3 */
		while (kill(pid, 0) == 0 || errno == EPERM)
			nanosleep(&pause, NULL);
}

/* Nobody's child, so that the program, which is this process, gets no end of a child that it did not start. */
static void sweeper_start(const struct run *run)
{
	pid_t program = getpid(), child = fork();

	if (child) {
		while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
			continue;
		return;
	}
	if (setsid() < 0 || fork())
		_exit(0);
	if (chdir("/"))
		_exit(0);
	sn_detach_descriptors();
	await(program);
	folder_remove(run);
	_exit(0);
}

static void environment_set(const struct run *run)
{
	const char *before = getenv("LD_PRELOAD");
	struct sn_text value = { 0 };

	sn_text_addf(&value, "%s%s%s", run->libraries.chars, before && *before ? ":" : "",
		     before ? before : "");
	setenv("LD_PRELOAD", value.chars, 1);
	sn_text_clear(&value);
	sn_text_addf(&value, "%u:%s", run->inserts.beats, run->folder.chars);
	setenv(SN_INSERT_VARIABLE, value.chars, 1);
	sn_text_free(&value);
}

/* ---- the command ---- */

static sn_status prepare(struct run *run, const struct sn_args *args, struct sn_error *err)
{
	const char *path = sn_args_value(args, "plan");
	struct sn_heartbeat_plan plan;
	sn_status status;

	if (!path)
		return sn_error_set(err, SN_ERR_USAGE,
				    "--plan is missing: the file that 'sonde phases "
				    "--emit-heartbeats FILE' wrote");
	if (!args->operand_count)
		return sn_error_set(err, SN_ERR_USAGE, "the program to run is missing: -- PROGRAM");
	status = plan_load(path, &plan, err);
	if (status == SN_OK)
		status = sn_target_find(args->operands[0], &run->target, err);
	if (status == SN_OK)
		status = sn_target_check_insertable(&run->target, err);
	if (status == SN_OK && sn_args_flag(args, "keep-text")) {
		sn_warn("with --keep-text nothing is written into the program's code: none of the "
			"%zu heartbeats of '%s' is inserted, and the program runs as it is",
			plan.sites.count, path);
	} else if (status == SN_OK) {
		sn_cli_inserts_make(&plan, run->target.path, &run->inserts);
		if (!run->inserts.sites)
			sn_warn("no heartbeat of '%s' is inserted: the program runs as it is",
				path);
	}
	sn_heartbeat_plan_free(&plan);
	if (status == SN_OK && run->inserts.sites) {
		status = folder_make(run, err);
		if (status == SN_OK)
			status = code_write(run, err);
		if (status == SN_OK)
			status = libraries_find(run, err);
	}
	return status;
}

static int run_run(const struct sn_args *args)
{
	struct run run = { 0 };
	struct sn_error err;

	if (prepare(&run, args, &err) != SN_OK) {
		if (run.folder.length)
			folder_remove(&run);
		sn_cli_inserts_free(&run.inserts);
		sn_error_print(&err);
		return run.target.exit_code ? run.target.exit_code : SN_EXIT_NOT_MEASURED;
	}
	if (run.inserts.sites) {
		environment_set(&run);
		sweeper_start(&run);
	}
	execvp(args->operands[0], args->operands);
	sn_error_errno(&err, "cannot run '%s'", run.target.path);
	sn_error_print(&err);
	return SN_EXIT_NOT_EXECUTABLE;
}

static const struct sn_option run_options[] = {
	{ "plan", 'p', "FILE", "the heartbeat plan, of 'sonde phases --emit-heartbeats FILE'",
	  NULL },
	{ "keep-text", 0, NULL,
	  "write nothing into the code of the program: heartbeats of its source alone beat", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

const struct sn_command sn_command_heartbeat_run = {
	.name = "heartbeat run",
	.operands = "-- PROGRAM [ARGS...]",
	.summary = "Runs a program with a plan's heartbeats, without recompiling it",
	.description =
		"Puts begin and end of each heartbeat of the plan into the running program: around a "
		"function's body (type body), or around each iteration of a loop (type loop). They have the "
		"plan's names, and the files are those of libsonde-heartbeat, whose variables hold "
		"(SONDE_HEARTBEAT_DIR, SONDE_HEARTBEAT_COST and the others). The program's file is "
		"not changed, and neither is what it writes.\n\n"
		"Places are found by their addresses. In another build than the plan was made of they are "
		"found by function and lines. A place that cannot be had is said with its reason, and "
		"the others beat. In MPI jobs the command stands between mpirun and the program. "
		"Programs that the program starts have heartbeats, too, if the plan names them.\n\n"
		"The exit status is the program's.",
	.options = run_options,
	.examples =
		(const char *const[]){
			"sonde phases --emit-heartbeats plan.json",
			"where heartbeats should be, from a recorded run",
			"sonde heartbeat run --plan plan.json -- ./app -n 2000",
			"the program with these heartbeats; then: sonde heartbeat top",
			"SONDE_HEARTBEAT_COST=1 mpirun -n 4 sonde heartbeat run -p plan.json -- ./app",
			"all ranks, at a cost of at most one per cent", NULL },
	.stops_at_operand = true,
	.run = run_run,
};

/* sonde doctor: what works on this machine, what does not, and the remedy. It only looks; nothing
 * is changed. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/own_file.h"
#include "base/text.h"
#include "cli/command.h"
#include "code/image.h"
#include "code/xz.h"
#include "exchange/export.h"
#include "machine/breakpoints.h"
#include "machine/caches.h"
#include "machine/machine.h"
#include "search/link/link.h"

enum { D_CHECK, D_STATE, D_FINDING, D_MEANING, D_REMEDY };

static const struct sn_column doctor_columns[] = {
	{ "check", "check", SN_CELL_TEXT, 0 },	   { "state", "state", SN_CELL_TEXT, 0 },
	{ "finding", "finding", SN_CELL_TEXT, 0 }, { "meaning", "meaning", SN_CELL_TEXT, 0 },
	{ "remedy", "remedy", SN_CELL_TEXT, 0 },
};

enum state { OK, LIMITED, MISSING };

struct examination {
	struct sn_table table;
	bool has_perf_clock, has_timer;
};

__attribute__((format(printf, 6, 7))) static void row(struct examination *x, const char *check,
						      enum state state, const char *meaning,
						      const char *remedy, const char *finding, ...)
{
	static const char *const states[] = { "ok", "limited", "missing" };
	char text[512];
	va_list args;

	va_start(args, finding);
	vsnprintf(text, sizeof(text), finding, args);
	va_end(args);
	sn_table_add_row(&x->table);
	sn_table_set_text(&x->table, D_CHECK, check);
	sn_table_set_text(&x->table, D_STATE, states[state]);
	sn_table_set_text(&x->table, D_FINDING, text);
	if (state != OK) {
		sn_table_set_text(&x->table, D_MEANING, meaning);
		sn_table_set_text(&x->table, D_REMEDY, remedy);
	}
}

/* First line of a small file, without its end; false if it cannot be read. */
static bool line_read(const char *path, char *out, size_t size)
{
	FILE *in = fopen(path, "re");
	bool found = in && fgets(out, (int)size, in);

	if (in)
		fclose(in);
	if (found)
		out[strcspn(out, "\n")] = 0;
	return found;
}

/* ---- the machine ---- */

static bool cpuinfo_value(const char *key, char *out, size_t size)
{
	FILE *in = fopen("/proc/cpuinfo", "re");
	char line[8192];
	bool found = false;

	while (in && !found && fgets(line, sizeof(line), in)) {
		char *colon = strchr(line, ':');

		if (!sn_starts_with(line, key) || !colon)
			continue;
		colon++;
		while (*colon == ' ')
			colon++;
		colon[strcspn(colon, "\n")] = 0;
		snprintf(out, size, "%s", colon);
		found = true;
	}
	if (in)
		fclose(in);
	return found;
}

static bool flag_is_set(const char *flags, const char *flag)
{
	size_t length = strlen(flag);

	for (const char *at = strstr(flags, flag); at; at = strstr(at + 1, flag))
		if ((at == flags || at[-1] == ' ') && (!at[length] || at[length] == ' '))
			return true;
	return false;
}

/* Of this processor, or of the one that stands in for it. */
static void caches_check(struct examination *x)
{
	const char *native = sn_machine_native_name(), *here = sn_machine_processor_name();
	bool is_here = !getenv("SONDE_NATIVE_ARCH") || !native || (here && !strcmp(native, here));
	struct sn_caches caches;
	struct sn_text text = { 0 };
	struct sn_error err;

	if (is_here) {
		sn_caches_native(&caches);
	} else if (sn_caches_of(native, &caches, &err) != SN_OK) {
		row(x, "caches", LIMITED, err.sentence, "see 'sonde help cqa' for the names", "%s",
		    native);
		return;
	}
	sn_caches_describe(&caches, &text);
	if (!caches.count)
		row(x, "caches", LIMITED,
		    "'sonde trace' and searches do not know which accesses miss which cache",
		    "name them: sonde trace --caches L1=48k/12,L2=2m/16,line=64",
		    "neither the kernel nor CPUID tells of caches");
	else
		row(x, "caches", OK, "", "", "%s%s%s", text.chars, is_here ? "" : " of ",
		    is_here ? "" : native);
	sn_text_free(&text);
}

static void machine_check(struct examination *x)
{
	char model[256] = "unknown", flags[8192] = "";
	struct utsname names;
	int major = 0, minor = 0;

	cpuinfo_value("model name", model, sizeof(model));
	cpuinfo_value("flags", flags, sizeof(flags));
	row(x, "cpu", OK, "", "", "%s, %ld processors%s", model, sysconf(_SC_NPROCESSORS_ONLN),
	    flag_is_set(flags, "hypervisor") ? ", virtual machine" : "");
	caches_check(x);
	uname(&names);
	sscanf(names.release, "%d.%d", &major, &minor);
	if (major > 5 || (major == 5 && minor >= 4))
		row(x, "kernel", OK, "", "", "Linux %s", names.release);
	else
		row(x, "kernel", LIMITED, "sonde is tested on kernels from 5.4 on",
		    "use a newer kernel if something is missing", "Linux %s", names.release);
	if (!access("/.dockerenv", F_OK) || !access("/run/.containerenv", F_OK) ||
	    getenv("container"))
		row(x, "container", LIMITED,
		    "the container's seccomp profile often refuses perf_event_open",
		    "docker run --security-opt seccomp=unconfined --cap-add PERFMON, or accept the "
		    "timer clock",
		    "this is a container");
}

/* Share of time that the hypervisor gave to others, since boot. */
static void steal_check(struct examination *x)
{
	unsigned long long v[8] = { 0 }, sum = 0;
	char line[512];
	double share;

	if (!line_read("/proc/stat", line, sizeof(line)) ||
	    sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3],
		   &v[4], &v[5], &v[6], &v[7]) != 8)
		return;
	for (int i = 0; i < 8; i++)
		sum += v[i];
	share = sum ? (double)v[7] / (double)sum : 0;
	row(x, "steal", share > 0.01 ? LIMITED : OK,
	    "other guests take processor time away: elapsed times and comparisons are noisy",
	    "measure on a quiet host, and repeat runs for 'sonde diff'",
	    "%.2f %% of processor time since boot went to other guests", 100 * share);
}

/* ---- clocks ---- */

static int perf_open(uint32_t type, uint64_t config, bool with_kernel)
{
	struct perf_event_attr attr = { .type = type,
					.size = sizeof(attr),
					.config = config,
					.sample_period = 1000000,
					.disabled = 1,
					.exclude_kernel = !with_kernel,
					.exclude_hv = 1 };

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool perf_works(uint32_t type, uint64_t config, bool with_kernel, int *error)
{
	int fd = perf_open(type, config, with_kernel);

	*error = errno;
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void clock_check(struct examination *x)
{
	char paranoid[32] = "not readable";
	int error;

	line_read("/proc/sys/kernel/perf_event_paranoid", paranoid, sizeof(paranoid));
	x->has_perf_clock = perf_works(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, false, &error);
	if (x->has_perf_clock)
		row(x, "clock", OK, "", "",
		    "perf events on CPU time work (perf_event_paranoid %s): any rate up to 10 kHz",
		    paranoid);
	else
		row(x, "clock", LIMITED,
		    "the clock falls back to POSIX timers, bound to the kernel's tick (about 250 "
		    "Hz)",
		    error == ENOSYS || error == EPERM
			    ? "allow perf_event_open in the seccomp profile of the container"
			    : "sysctl kernel.perf_event_paranoid=2 (as root)",
		    "perf events are refused: %s (perf_event_paranoid %s)", strerror(error),
		    paranoid);
}

static void timer_check(struct examination *x)
{
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	timer_t timer;

	x->has_timer = !timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer);
	if (x->has_timer)
		timer_delete(timer);
	row(x, "timers", x->has_timer ? OK : MISSING,
	    "system time cannot be sampled and there is no fall-back for the clock",
	    "allow timer_create in the sandbox",
	    x->has_timer ? "CPU-time timers work" : "CPU-time timers are refused");
}

static void counters_check(struct examination *x)
{
	int error;

	if (perf_works(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false, &error))
		row(x, "counters", OK, "", "", "hardware counters work");
	else
		row(x, "counters", MISSING,
		    "no cycles, cache or branch counts; time is measured as well as ever",
		    error == ENOENT ? "measure on bare metal, or give the virtual machine a vPMU"
				    : "sysctl kernel.perf_event_paranoid=2 (as root)",
		    "hardware counters are not available: %s", strerror(error));
	if (perf_works(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, true, &error))
		row(x, "kernel-samples", OK, "", "", "samples inside the kernel are allowed");
	else
		row(x, "kernel-samples", LIMITED,
		    "kernel time is counted, but not told apart by kernel function",
		    "sysctl kernel.perf_event_paranoid=1 (as root) for 'record --pid'",
		    "samples inside the kernel are refused: %s", strerror(error));
}

static void accounting_check(struct examination *x)
{
	char line[256];

	if (line_read("/proc/self/schedstat", line, sizeof(line)))
		row(x, "schedstat", OK, "", "", "time spent waiting for a CPU is known");
	else
		row(x, "schedstat", MISSING, "waiting for a CPU cannot be told from being blocked",
		    "a kernel with CONFIG_SCHED_INFO", "/proc/self/schedstat cannot be read");
	if (line_read("/sys/devices/system/clocksource/clocksource0/current_clocksource", line,
		      sizeof(line)))
		row(x, "clocksource",
		    !strcmp(line, "tsc") || !strcmp(line, "kvm-clock") ? OK : LIMITED,
		    "reading the time costs a system call, so tracing costs more",
		    "boot with clocksource=tsc if the machine's TSC is stable",
		    "the kernel's clock source is %s", line);
}

static void breakpoints_check(struct examination *x)
{
	if (sn_breakpoints_fire())
		row(x, "breakpoints", OK, "", "",
		    "'sonde search --phase' can watch any function or line");
	else
		row(x, "breakpoints", LIMITED,
		    "'sonde search --phase' can watch functions and lines where code can be put, and no others",
		    "name another line, or measure on a machine with debug registers",
		    "hardware breakpoints can be set, but are never hit");
}

static void ptrace_check(struct examination *x)
{
	char scope[32] = "0";

	line_read("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope));
	if (geteuid() == 0 || scope[0] == '0')
		row(x, "attach", OK, "", "", "running processes can be attached to%s",
		    geteuid() == 0 ? " (root)" : " (your own)");
	else
		row(x, "attach", LIMITED,
		    "'record --pid' may be refused for processes that are not "
		    "children of sonde",
		    "sysctl kernel.yama.ptrace_scope=0 (as root)", "yama's ptrace_scope is %s",
		    scope);
}

/* ---- space ---- */

static const char *file_system_name(long type)
{
	static const struct {
		long type;
		const char *name;
	} names[] = { { 0x6969, "NFS" },	 { 0x0bd00bd0, "Lustre" }, { 0x01021994, "tmpfs" },
		      { 0xef53, "ext4" },	 { 0x58465342, "XFS" },	   { 0x9123683e, "btrfs" },
		      { 0x794c7630, "overlay" }, { 0x47504653, "GPFS" },   { 0x19830326, "BeeGFS" },
		      { 0xff534d42, "CIFS" },	 { 0x65735546, "FUSE" },   { 0x2fc12fc1, "ZFS" } };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].type == type)
			return names[i].name;
	return "a file system";
}

static bool file_system_is_remote(const char *name)
{
	static const char *const remote[] = { "NFS", "Lustre", "GPFS", "BeeGFS", "CIFS", "FUSE" };

	for (size_t i = 0; i < sizeof(remote) / sizeof(*remote); i++)
		if (!strcmp(name, remote[i]))
			return true;
	return false;
}

static void space_check(struct examination *x, const char *check, const char *path)
{
	struct statfs fs;
	const char *name;
	double free_mb;

	if (statfs(path, &fs) || access(path, W_OK)) {
		row(x, check, MISSING, "data cannot be written there",
		    !strcmp(check, "folder") ? "record into another folder: sonde record -o DIR"
					     : "set TMPDIR to a folder with space",
		    "'%s' is not writable: %s", path, strerror(errno));
		return;
	}
	name = file_system_name((long)fs.f_type);
	free_mb = (double)fs.f_bavail * (double)fs.f_bsize / 1e6;
	if (free_mb < 200)
		row(x, check, LIMITED,
		    "a long run loses samples when space is out (they are counted)",
		    "free some space, or limit the run: --max-size", "'%s' (%s) has %.0f MB left",
		    path, name, free_mb);
	else if (file_system_is_remote(name))
		row(x, check, LIMITED,
		    "writing there is slow; data are collected in TMPDIR and copied at the end",
		    "have TMPDIR on a local disk or tmpfs", "'%s' is on %s", path, name);
	else
		row(x, check, OK, "", "", "'%s' (%s) has %.0f MB left", path, name, free_mb);
}

static void limits_check(struct examination *x)
{
	struct rlimit files = { 0, 0 };

	getrlimit(RLIMIT_NOFILE, &files);
	row(x, "descriptors", files.rlim_cur < 64 ? LIMITED : OK,
	    "opening one event a thread may fail; the clock then falls back", "ulimit -n 1024",
	    "%llu descriptors may be open", (unsigned long long)files.rlim_cur);
}

/* ---- software ---- */

static bool path_find(const char *program, char *out, size_t size)
{
	const char *path = getenv("PATH");

	while (path && *path) {
		size_t length = strcspn(path, ":");

		snprintf(out, size, "%.*s/%s", (int)length, path, program);
		if (!access(out, X_OK))
			return true;
		path += length + (path[length] == ':');
	}
	return false;
}

/* The launcher's real name tells whose it is: mpirun.openmpi, mpiexec.hydra, orterun, prterun. */
static void mpi_check(struct examination *x)
{
	static const char *const launchers[] = { "mpirun", "mpiexec", "mpirun.openmpi",
						 "mpirun.mpich", "srun" };
	struct sn_text found = { 0 };

	for (size_t i = 0; i < sizeof(launchers) / sizeof(*launchers); i++) {
		char path[PATH_MAX], real[PATH_MAX];
		const char *whose = "";

		if (!path_find(launchers[i], path, sizeof(path)) || !realpath(path, real))
			continue;
		if (strstr(real, "orte") || strstr(real, "prte") || strstr(real, "openmpi"))
			whose = " (Open MPI)";
		else if (strstr(real, "hydra") || strstr(real, "mpich"))
			whose = " (MPICH)";
		else if (!strcmp(launchers[i], "srun"))
			whose = " (Slurm)";
		sn_text_addf(&found, "%s%s%s", found.length ? ", " : "", launchers[i], whose);
	}
	if (found.length)
		row(x, "mpi", OK, "", "", "%s", found.chars);
	else
		row(x, "mpi", MISSING, "programs of many ranks cannot be started here",
		    "apt-get install openmpi-bin, or load your site's MPI module",
		    "no MPI launcher is in PATH");
	sn_text_free(&found);
}

static void debug_check(struct examination *x)
{
	bool has_folder = !access("/usr/lib/debug/.build-id", F_OK);
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (has_folder)
		row(x, "debug-files", OK, "", "",
		    "debug files of packages are under /usr/lib/debug");
	else
		row(x, "debug-files", LIMITED,
		    "functions inside stripped system libraries have no names and lines",
		    "apt-get install libc6-dbg and the -dbgsym packages of what you look at",
		    "no debug files of packages are installed%s",
		    urls && urls[0] ? " (DEBUGINFOD_URLS is set, but used only when asked)" : "");
}

static void agents_check(struct examination *x)
{
	struct sn_error err;

	if (sn_link_check(&err) == SN_OK)
		row(x, "libzmq", OK, "", "", "agents of distributed searches can talk");
	else
		row(x, "libzmq", LIMITED,
		    "distributed searches (sonde search simulate) cannot be made",
		    "install libzmq5, and libzmq3-dev before sonde is built", "%s", err.sentence);
}

static void otf2_check(struct examination *x)
{
	struct sn_error err;

	if (sn_export_otf2_check(&err) == SN_OK)
		row(x, "libotf2", OK, "", "", "traces can be written in OTF2");
	else
		row(x, "libotf2", LIMITED, "sonde export --to otf2 writes nothing",
		    "install libopen-trace-format2-10, and libotf2-trace-dev before sonde is built",
		    "%s", err.sentence);
}

static void runtime_check(struct examination *x)
{
	if (!sn_can_unpack_xz())
		row(x, "liblzma", LIMITED,
		    "functions of stripped programs that carry .gnu_debugdata have no names",
		    "build sonde with liblzma (liblzma-dev)", "built without liblzma");

	char *path = sn_own_runtime("libsonde-runtime.so");

	if (path)
		row(x, "runtime", OK, "", "", "the library for targets is in place");
	else
		row(x, "runtime", MISSING, "programs cannot be recorded from inside",
		    "build or install sonde again", "libsonde-runtime.so was not found");
	free(path);
}

/* ---- one program ---- */

static void program_check(struct examination *x, const char *name)
{
	struct sn_image *image = NULL;
	struct sn_image_facts facts;
	char path[PATH_MAX];
	struct sn_error err;

	if (strchr(name, '/') || !path_find(name, path, sizeof(path)))
		snprintf(path, sizeof(path), "%s", name);
	if (sn_image_open(path, NULL, &image, &err) != SN_OK) {
		row(x, "program", MISSING, "it cannot be analysed",
		    "name a 64-bit x86 executable; scripts are measured through their interpreter",
		    "%s", err.sentence);
		return;
	}
	facts = sn_image_facts(image);
	row(x, "program", facts.is_static ? LIMITED : OK,
	    "a static program is measured from outside: CPU samples, no traced calls",
	    "link it dynamically for the full view", "'%s' is linked %s", path,
	    facts.is_static ? "statically" : "dynamically");
	row(x, "program-lines", facts.has_debug_lines ? OK : LIMITED,
	    "loops and functions have no source lines, inlined functions are not seen",
	    "compile with -g (it costs no speed)",
	    facts.has_debug_lines ? "it has line tables" : "it has no line tables");
	row(x, "program-symbols", facts.has_symtab ? OK : LIMITED,
	    "functions that are not exported are named by address", "do not strip it",
	    facts.has_symtab ? "it has a symbol table" : "its symbol table was stripped");
	row(x, "program-unwind", facts.has_unwind ? OK : LIMITED,
	    "call paths are followed by frame pointers only, where there are any",
	    "compile with -fasynchronous-unwind-tables",
	    facts.has_unwind ? "it has unwind tables" : "it has no unwind tables");
	sn_image_free(image);
}

/* ---- printing ---- */

static void page_print(const struct examination *x)
{
	static const char *const utf8[] = { "✓", "!", "✗" }, *const ascii[] = { "+", "!", "-" };
	bool is_utf8 = sn_locale_is_utf8();

	for (size_t r = 0; r < x->table.row_count; r++) {
		const struct sn_cell *cells = &x->table.cells.items[r * x->table.column_count];
		enum state state = cells[D_STATE].text[0] == 'o'   ? OK
				   : cells[D_STATE].text[0] == 'l' ? LIMITED
								   : MISSING;
		struct sn_text finding = { 0 };

		sn_text_add_printable(&finding, cells[D_FINDING].text,
				      strlen(cells[D_FINDING].text));
		printf(" %s %-16s %-8s %s\n", (is_utf8 ? utf8 : ascii)[state], cells[D_CHECK].text,
		       cells[D_STATE].text, finding.chars ? finding.chars : "");
		sn_text_free(&finding);
		if (state != OK)
			printf("%29s%s\n%29stry: %s\n", "", cells[D_MEANING].text, "",
			       cells[D_REMEDY].text);
	}
}

static void examine(struct examination *x, const struct sn_args *args)
{
	const char *temporary = getenv("TMPDIR");

	machine_check(x);
	steal_check(x);
	runtime_check(x);
	agents_check(x);
	otf2_check(x);
	clock_check(x);
	timer_check(x);
	counters_check(x);
	accounting_check(x);
	breakpoints_check(x);
	ptrace_check(x);
	limits_check(x);
	space_check(x, "folder", ".");
	space_check(x, "temporary", temporary && temporary[0] ? temporary : "/tmp");
	debug_check(x);
	mpi_check(x);
	for (size_t i = 0; i < args->operand_count; i++)
		program_check(x, args->operands[i]);
}

static int doctor_run(const struct sn_args *args)
{
	struct sn_table_view view = { 0 };
	struct examination x = { 0 };
	struct sn_error err;
	sn_status status = sn_args_table_view(args, &view, &err);
	bool is_plain;

	if (status != SN_OK)
		return sn_error_print(&err);
	view.schema = "sonde.doctor/1";
	view.top = sn_args_value(args, "top") ? view.top : 0;
	sn_table_init(&x.table, doctor_columns, sizeof(doctor_columns) / sizeof(*doctor_columns));
	examine(&x, args);
	is_plain = view.format == SN_FORMAT_TEXT && !view.columns && !view.filter && !view.sort &&
		   !view.top;
	if (is_plain)
		page_print(&x);
	else
		status = sn_table_write(&x.table, &view, stdout, NULL, NULL, &err);
	sn_table_free(&x.table);
	if (status != SN_OK)
		return sn_error_print(&err);
	return x.has_perf_clock || x.has_timer ? SN_EXIT_OK : SN_EXIT_UNSUPPORTED;
}

static const struct sn_option doctor_options[] = { SN_TABLE_OPTIONS, { 0 } };

static const char *const doctor_examples[] = {
	"sonde doctor",
	"what works on this machine",
	"sonde doctor ./app",
	"and whether ./app has what sonde can use",
	"sonde doctor --format json",
	"the same for scripts",
	NULL,
};

const struct sn_command sn_command_doctor = {
	.name = "doctor",
	.operands = "[PROGRAM...]",
	.summary = "Says what works here, what does not, and the remedy",
	.description =
		"Looks at the machine, its kernel and limits, and at programs if any are named; "
		"changes nothing. Each row has a state: ok, limited (sonde measures less, or less "
		"well) or missing. The exit status is 0, or 4 if no clock works at all.",
	.options = doctor_options,
	.examples = doctor_examples,
	.run = doctor_run,
};

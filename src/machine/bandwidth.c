/*
 * Measures memory, and keeps the figures in a file. Each working set is swept in short pieces. The
 * fast pieces count, as other programs on the machine only ever add time.
 */
#include "machine/bandwidth.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/stats.h"
#include "base/text.h"
#include "machine/core_profile.h"
#include "machine/machine.h"
#include "machine/timing.h"

enum {
	LINE = 64,
	PIECE_BYTES = 128 * 1024,
	PIECES_MAX = 2000,
	PIECES_A_CLOCK = 32,
	CHASE_STEPS = 1000,
	ACCESS_STEPS = 4000,
	ACCESS_PIECES = 300
};

const unsigned sn_memory_strides_bytes[SN_MEMORY_STRIDES] = { 128, 576, 2112, 4096 };

static const char *const level_names[SN_MEMORY_LEVELS] = { "L1", "L2", "L3", "RAM" };

/* The working set of each level: half of it, so that the level holds it beside other data. Of an L3
 * that others share only what is sure to be left is counted on: twice the L2, the least that the L2
 * does not hold. (Of 32 MB, 2 MB always stayed and 4 MB often not, on a virtual machine.) */
static void choose_sizes(size_t bytes[SN_MEMORY_LEVELS])
{
	long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
	long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);

	bytes[0] = l1 > 0 ? (size_t)l1 / 2 : 16384;
	bytes[1] = l2 > 0 ? (size_t)l2 / 2 : 131072;
	bytes[2] = 4 * bytes[1];
	if (l3 > 0 && bytes[2] > (size_t)l3 / 2)
		bytes[2] = (size_t)l3 / 2;
	bytes[3] = (size_t)192 << 20;
	for (unsigned i = 0; i < SN_MEMORY_LEVELS; i++)
		bytes[i] &= ~(size_t)4095;
}

typedef void (*sweep)(char *memory, size_t bytes);

static void sweep_unit(char *memory, size_t bytes)
{
	for (char *at = memory; at < memory + bytes; at += 4 * LINE)
		__asm__ volatile(
			"movups (%0), %%xmm0; movups 16(%0), %%xmm1; movups 32(%0), %%xmm2;"
			"movups 48(%0), %%xmm3; movups 64(%0), %%xmm0; movups 80(%0), %%xmm1;"
			"movups 96(%0), %%xmm2; movups 112(%0), %%xmm3;"
			"movups 128(%0), %%xmm0; movups 144(%0), %%xmm1;"
			"movups 160(%0), %%xmm2; movups 176(%0), %%xmm3;"
			"movups 192(%0), %%xmm0; movups 208(%0), %%xmm1;"
			"movups 224(%0), %%xmm2; movups 240(%0), %%xmm3" ::"r"(at)
			: "xmm0", "xmm1", "xmm2", "xmm3");
}

static void sweep_line(char *memory, size_t bytes)
{
	for (char *at = memory; at < memory + bytes; at += 4 * LINE)
		__asm__ volatile("mov (%0), %%rax; mov 64(%0), %%rcx; mov 128(%0), %%rax;"
				 "mov 192(%0), %%rcx" ::"r"(at)
				 : "rax", "rcx");
}

/* The second half of the set from the first. */
static void sweep_copy(char *memory, size_t bytes)
{
	size_t half = bytes / 2;

	for (char *at = memory; at < memory + half; at += LINE)
		__asm__ volatile(
			"movups (%0), %%xmm0; movups 16(%0), %%xmm1; movups 32(%0), %%xmm2;"
			"movups 48(%0), %%xmm3; movups %%xmm0, (%1); movups %%xmm1, 16(%1);"
			"movups %%xmm2, 32(%1); movups %%xmm3, 48(%1)" ::"r"(at),
			"r"(at + half)
			: "xmm0", "xmm1", "xmm2", "xmm3", "memory");
}

/* The time of a piece, from many pieces. Other programs on the processor or the memory make single
 * pieces long, so one of the shortest is taken. It belongs to the fastest clock: a processor that
 * is lent out for moments seems to have a slow one then. */
struct pieces {
	double ticks[PIECES_MAX];
	size_t count;
	double clocks[PIECES_MAX / PIECES_A_CLOCK + 1]; /* core cycles per tick, now and then */
	size_t clock_count;
};

static void pieces_add(struct pieces *pieces, uint64_t ticks)
{
	if (pieces->count < PIECES_MAX)
		pieces->ticks[pieces->count++] = (double)ticks;
}

/* The clock is taken anew every few pieces. */
static void pieces_clock(struct pieces *pieces)
{
	if (pieces->count % PIECES_A_CLOCK == 0 &&
	    pieces->clock_count < sizeof(pieces->clocks) / sizeof(*pieces->clocks))
		pieces->clocks[pieces->clock_count++] = sn_timing_cycles_per_tick();
}

/* Core cycles of one of the shortest pieces. */
static double pieces_cycles(struct pieces *pieces, double quantile)
{
	return sn_quantile(pieces->ticks, pieces->count, quantile) *
	       sn_quantile(pieces->clocks, pieces->clock_count, 0.8);
}

/* Core cycles to sweep all of the memory, piece by piece in order. */
static double cycles_of(sweep run, char *memory, size_t bytes)
{
	size_t piece = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
	size_t repeats = PIECE_BYTES / piece, number = bytes / piece;
	struct pieces *pieces = sn_alloc_zeroed(1, sizeof(*pieces));
	double result;

	for (size_t i = 0; i < number; i++)
		run(memory + i * piece, piece);
	for (size_t round = 0; round < 60 || pieces->count < 300; round++) {
		for (size_t i = 0; i < number && pieces->count < PIECES_MAX; i++) {
			uint64_t start;

			pieces_clock(pieces);
			start = __rdtsc();
			for (size_t k = 0; k < repeats; k++)
				run(memory + i * piece, piece);
			_mm_lfence();
			pieces_add(pieces, __rdtsc() - start);
		}
		if (pieces->count == PIECES_MAX)
			break;
	}
	result = pieces_cycles(pieces, 0.03) * (double)number / (double)repeats;
	free(pieces);
	return result;
}

/* The numbers below `lines` in a random order that is one cycle (Sattolo's shuffle). */
static void shuffle(uint32_t *order, size_t lines)
{
	struct sn_random random;

	sn_random_seed(&random, 1);
	for (size_t i = 0; i < lines; i++)
		order[i] = (uint32_t)i;
	for (size_t i = lines - 1; i > 0; i--) {
		size_t k = (size_t)sn_random_below(&random, i);
		uint32_t kept = order[i];

		order[i] = order[k];
		order[k] = kept;
	}
}

/* One random cycle through all lines. */
static void link_lines(char *memory, size_t lines)
{
	uint32_t *order = sn_alloc(lines * sizeof(*order));

	shuffle(order, lines);
	for (size_t i = 0; i < lines; i++)
		*(void **)(void *)(memory + (size_t)order[i] * LINE) =
			memory + (size_t)order[(i + 1) % lines] * LINE;
	free(order);
}

static double latency_of(char *memory, size_t bytes)
{
	size_t lines = bytes / LINE;
	struct pieces *pieces = sn_alloc_zeroed(1, sizeof(*pieces));
	void *at = memory;
	double result;

	link_lines(memory, lines);
	for (size_t i = 0; i < lines && i < 400000; i++)
		at = *(void **)at;
	while (pieces->count < 300) {
		uint64_t start;

		pieces_clock(pieces);
		start = __rdtsc();
		for (size_t i = 0; i < CHASE_STEPS; i++)
			at = *(void **)at;
		__asm__ volatile("" ::"r"(at));
		_mm_lfence();
		pieces_add(pieces, __rdtsc() - start);
	}
	result = pieces_cycles(pieces, 0.05) / CHASE_STEPS;
	free(pieces);
	return result;
}

static void sweep_store(char *memory, size_t bytes)
{
	for (char *at = memory; at < memory + bytes; at += 4 * LINE)
		__asm__ volatile("mov %%rax, (%0); mov %%rax, 64(%0); mov %%rax, 128(%0);"
				 "mov %%rax, 192(%0)" ::"r"(at)
				 : "memory");
}

/* A copy as far as lines go: wide vectors copy a line in few instructions too. */
static void sweep_copy_line(char *memory, size_t bytes)
{
	size_t half = bytes / 2;

	for (char *at = memory; at < memory + half; at += 2 * LINE)
		__asm__ volatile("mov (%0), %%rax; mov 64(%0), %%rcx; mov %%rax, (%1);"
				 "mov %%rcx, 64(%1)" ::"r"(at),
				 "r"(at + half)
				 : "rax", "rcx", "memory");
}

/* Whole lines by non-temporal stores; they wait for memory, not for a cache. */
static void sweep_past_caches(char *memory, size_t bytes)
{
	for (char *at = memory; at < memory + bytes; at += LINE)
		__asm__ volatile("movntps %%xmm0, (%0); movntps %%xmm0, 16(%0);"
				 "movntps %%xmm0, 32(%0); movntps %%xmm0, 48(%0)" ::"r"(at)
				 : "memory");
	_mm_sfence();
}

/* The loads feed additions as a loop's would, in two sums that do not hold them up and are kept
 * from the optimizer. `count` is even. */
static void add_strided(const char *memory, size_t stride, size_t count)
{
	double even = 0, odd = 0;

	for (size_t i = 0; i < count; i += 2) {
		even += *(const double *)(const void *)(memory + i * stride);
		odd += *(const double *)(const void *)(memory + (i + 1) * stride);
	}
	__asm__ volatile("" ::"x"(even), "x"(odd));
}

static void add_listed(const char *memory, const uint32_t *lines, size_t count)
{
	double even = 0, odd = 0;

	for (size_t i = 0; i < count; i += 2) {
		even += *(const double *)(const void *)(memory + (size_t)lines[i] * LINE);
		odd += *(const double *)(const void *)(memory + (size_t)lines[i + 1] * LINE);
	}
	__asm__ volatile("" ::"x"(even), "x"(odd));
}

static double access_cycles(struct pieces *pieces, size_t piece)
{
	double result = pieces_cycles(pieces, 0.1) / (double)piece;

	free(pieces);
	return result;
}

/* Cycles an access of one line each, a stride apart; every walk over the memory begins a line after
 * the last, so that all of it is used. */
static double strided_cycles(const char *memory, size_t bytes, size_t stride)
{
	size_t count = (bytes / stride - 1) & ~(size_t)1;
	size_t piece = count < ACCESS_STEPS ? count : ACCESS_STEPS, at = 0, shift = 0;
	size_t turns = ACCESS_STEPS / piece;
	struct pieces *pieces = sn_alloc_zeroed(1, sizeof(*pieces));

	while (pieces->count < ACCESS_PIECES) {
		uint64_t start;

		pieces_clock(pieces);
		_mm_lfence();
		start = __rdtsc();
		for (size_t turn = 0; turn < turns; turn++) {
			add_strided(memory + shift + at * stride, stride, piece);
			at += piece;
			if (at + piece > count) {
				at = 0;
				shift = (shift + LINE) % stride;
			}
		}
		_mm_lfence();
		pieces_add(pieces, __rdtsc() - start);
	}
	return access_cycles(pieces, piece * turns);
}

/* The same in random order. The list of lines is brought near before each piece. */
static double random_cycles(const char *memory, size_t bytes)
{
	size_t count = bytes / LINE & ~(size_t)1;
	size_t piece = count < ACCESS_STEPS ? count : ACCESS_STEPS, at = 0;
	uint32_t *lines = sn_alloc(count * sizeof(*lines));
	struct pieces *pieces = sn_alloc_zeroed(1, sizeof(*pieces));

	shuffle(lines, count);
	while (pieces->count < ACCESS_PIECES) {
		uint64_t start;
		uint32_t sum = 0;

		at = at + piece > count ? 0 : at;
		pieces_clock(pieces);
		for (size_t i = 0; i < piece; i += LINE / sizeof(*lines))
			sum += lines[at + i];
		__asm__ volatile("" ::"r"(sum));
		_mm_lfence();
		start = __rdtsc();
		add_listed(memory, lines + at, piece);
		_mm_lfence();
		pieces_add(pieces, __rdtsc() - start);
		at += piece;
	}
	free(lines);
	return access_cycles(pieces, piece);
}

static void measure_accesses(char *memory, size_t bytes, struct sn_memory_level *level)
{
	for (unsigned k = 0; k < SN_MEMORY_STRIDES; k++)
		level->stride_cycles[k] = strided_cycles(memory, bytes, sn_memory_strides_bytes[k]);
	level->random_cycles = random_cycles(memory, bytes);
}

sn_status sn_memory_measure(struct sn_memory_profile *out, struct sn_error *err)
{
	size_t bytes[SN_MEMORY_LEVELS];
	const char *native = sn_machine_processor_name();
	char *memory;

	memset(out, 0, sizeof(*out));
	choose_sizes(bytes);
	memory = mmap(NULL, bytes[SN_MEMORY_LEVELS - 1], PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return sn_error_errno(err, "calibrate: cannot get %zu bytes of memory",
				      bytes[SN_MEMORY_LEVELS - 1]);
	/* pages as programs get them that ask for nothing: where those are small, their tables cost
	   time too */
	memset(memory, 1, bytes[SN_MEMORY_LEVELS - 1]);
	snprintf(out->machine, sizeof(out->machine), "%s", native ? native : "unknown");
	for (unsigned i = 0; i < SN_MEMORY_LEVELS; i++) {
		struct sn_memory_level *level = &out->levels[i];

		level->name = level_names[i];
		level->working_set_bytes = (double)bytes[i];
		level->unit_bytes_per_cycle =
			(double)bytes[i] / cycles_of(sweep_unit, memory, bytes[i]);
		level->line_bytes_per_cycle =
			(double)bytes[i] / cycles_of(sweep_line, memory, bytes[i]);
		level->copy_bytes_per_cycle =
			(double)bytes[i] / cycles_of(sweep_copy, memory, bytes[i]);
		level->copy_bytes_per_cycle =
			fmax(level->copy_bytes_per_cycle,
			     (double)bytes[i] / cycles_of(sweep_copy_line, memory, bytes[i]));
		level->past_caches_bytes_per_cycle =
			(double)bytes[i] / cycles_of(sweep_past_caches, memory, bytes[i]);
		level->store_bytes_per_cycle =
			(double)bytes[i] / cycles_of(sweep_store, memory, bytes[i]);
		measure_accesses(memory, bytes[i], level);
		level->latency_cycles = latency_of(memory, bytes[i]);
	}
	munmap(memory, bytes[SN_MEMORY_LEVELS - 1]);
	return SN_OK;
}

char *sn_memory_profile_path(void)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	struct sn_text path = { 0 };

	if (config && config[0] == '/')
		sn_text_addf(&path, "%s/sonde/machine.tsv", config);
	else
		sn_text_addf(&path, "%s/.config/sonde/machine.tsv", home ? home : "");
	return sn_text_take(&path);
}

static void today(char date[16])
{
	time_t now = time(NULL);
	struct tm parts;

	date[0] = '\0';
	if (localtime_r(&now, &parts))
		strftime(date, 16, "%Y-%m-%d", &parts);
}

static sn_status make_folder_of(const char *path, struct sn_error *err)
{
	char *folder = sn_strdup(path);
	sn_status status;

	if (strrchr(folder, '/'))
		*strrchr(folder, '/') = '\0';
	status = sn_make_folders(folder, err);
	free(folder);
	return status;
}

sn_status sn_memory_profile_check_writable(const char *path, struct sn_error *err)
{
	struct sn_file_writer writer;
	sn_status status = make_folder_of(path, err);

	if (!status)
		status = sn_file_writer_open(&writer, path, err);
	if (!status)
		sn_file_writer_abandon(&writer);
	return status;
}

sn_status sn_memory_profile_write(const struct sn_memory_profile *profile,
				  const struct sn_core_profile *core, const char *path,
				  struct sn_error *err)
{
	struct sn_file_writer writer;
	sn_status status = make_folder_of(path, err);
	char date[16];

	if (!status)
		status = sn_file_writer_open(&writer, path, err);
	if (status)
		return status;
	today(date);
	fprintf(writer.out,
		"# Written by 'sonde calibrate': this machine's memory, per core, and its core.\n"
		"machine\t%s\ndate\t%s\n",
		profile->machine, date);
	for (unsigned i = 0; i < SN_MEMORY_LEVELS; i++) {
		const struct sn_memory_level *level = &profile->levels[i];

		fprintf(writer.out, "%s\t%.0f\t%.3f\t%.3f\t%.3f\t%.1f\n", level->name,
			level->working_set_bytes, level->unit_bytes_per_cycle,
			level->line_bytes_per_cycle, level->copy_bytes_per_cycle,
			level->latency_cycles);
	}
	for (unsigned i = 0; i < SN_MEMORY_LEVELS; i++) {
		const struct sn_memory_level *level = &profile->levels[i];

		fprintf(writer.out, "access\t%s", level->name);
		for (unsigned k = 0; k < SN_MEMORY_STRIDES; k++)
			fprintf(writer.out, "\t%.3f", level->stride_cycles[k]);
		fprintf(writer.out, "\t%.3f\t%.3f\t%.3f\n", level->random_cycles,
			level->past_caches_bytes_per_cycle, level->store_bytes_per_cycle);
	}
	if (core)
		sn_core_profile_print(core, writer.out);
	return sn_file_writer_commit(&writer, err);
}

static unsigned level_number(const char *name)
{
	for (unsigned i = 0; i < SN_MEMORY_LEVELS; i++)
		if (strcmp(name, level_names[i]) == 0)
			return i;
	return SN_MEMORY_LEVELS;
}

static bool all_positive(const double *values, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (!(values[i] > 0 && values[i] < 1e12))
			return false;
	return true;
}

/* Lines of other kinds and damaged ones say nothing. A bit for each level whose first line is here.
 */
static unsigned read_level(const char *line, struct sn_memory_level levels[SN_MEMORY_LEVELS])
{
	char name[32];
	double v[SN_MEMORY_STRIDES + 3];
	unsigned at;

	if (sscanf(line, "access %31s %lf %lf %lf %lf %lf %lf %lf", name, &v[0], &v[1], &v[2],
		   &v[3], &v[4], &v[5], &v[6]) == 8) {
		at = level_number(name);
		if (at == SN_MEMORY_LEVELS || !all_positive(v, SN_MEMORY_STRIDES + 3))
			return 0;
		memcpy(levels[at].stride_cycles, v, sizeof(levels[at].stride_cycles));
		levels[at].random_cycles = v[SN_MEMORY_STRIDES];
		levels[at].past_caches_bytes_per_cycle = v[SN_MEMORY_STRIDES + 1];
		levels[at].store_bytes_per_cycle = v[SN_MEMORY_STRIDES + 2];
		return 0;
	}
	if (sscanf(line, "%31s %lf %lf %lf %lf %lf", name, &v[0], &v[1], &v[2], &v[3], &v[4]) != 6)
		return 0;
	at = level_number(name);
	if (at == SN_MEMORY_LEVELS || !all_positive(v, 5))
		return 0;
	levels[at].name = level_names[at];
	levels[at].working_set_bytes = v[0];
	levels[at].unit_bytes_per_cycle = v[1];
	levels[at].line_bytes_per_cycle = v[2];
	levels[at].copy_bytes_per_cycle = v[3];
	levels[at].latency_cycles = v[4];
	return 1U << at;
}

/* A date that a user may be shown: digits and hyphens. */
static bool is_date(const char *text)
{
	return strlen(text) == 10 && strspn(text, "0123456789-") == 10;
}

static sn_status no_profile(const char *path, const struct sn_memory_profile *profile,
			    unsigned found, unsigned strange_line, struct sn_error *err)
{
	struct sn_text lacks = { 0 };

	for (unsigned i = 0; i < SN_MEMORY_LEVELS; i++)
		if (!(found & 1U << i))
			sn_text_addf(&lacks, "%s%s", lacks.length ? ", " : "", level_names[i]);
	if (!profile->machine[0])
		sn_text_addf(&lacks, "%sits machine", lacks.length ? ", " : "");
	sn_error_set(err, SN_ERR_FORMAT,
		     "'%s' is no machine profile (it lacks %s; line %u is not as 'sonde calibrate' "
		     "writes it)",
		     path, lacks.chars, strange_line);
	sn_text_free(&lacks);
	return SN_ERR_FORMAT;
}

/* Lines that other parts of sonde read, and comments. */
static bool is_line_of_others(const char *line)
{
	static const char *const beginnings[] = { "#",	     "\n",	"form\t", "loop_buffer\t",
						  "probe\t", "access\t" };

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++)
		if (strncmp(line, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return false;
}

sn_status sn_memory_profile_read(const char *path, struct sn_memory_profile *out,
				 struct sn_error *err)
{
	FILE *in = fopen(path, "re");
	char line[256];
	unsigned found = 0, number = 0, strange_line = 0;

	memset(out, 0, sizeof(*out));
	if (!in && (errno == ENOENT || errno == ENOTDIR))
		return sn_error_set(err, SN_ERR_NOT_FOUND, "there is no '%s'", path);
	if (!in)
		return sn_error_errno(err, "cannot read the machine profile '%s'", path);
	while (fgets(line, sizeof(line), in)) {
		unsigned bit;

		number++;
		if (sscanf(line, "machine\t%31s", out->machine) == 1)
			continue;
		if (sscanf(line, "date\t%15s", out->date) == 1) {
			if (!is_date(out->date))
				out->date[0] = '\0';
			continue;
		}
		bit = read_level(line, out->levels);
		found |= bit;
		if (!bit && !strange_line && !is_line_of_others(line))
			strange_line = number;
	}
	fclose(in);
	if (found == (1U << SN_MEMORY_LEVELS) - 1 && out->machine[0])
		return SN_OK;
	return no_profile(path, out, found, strange_line ? strange_line : number + 1, err);
}

bool sn_memory_profile_of(const char *machine, struct sn_memory_profile *out)
{
	static atomic_flag is_told = ATOMIC_FLAG_INIT;
	struct sn_error err;
	char *path = sn_memory_profile_path();
	sn_status status = sn_memory_profile_read(path, out, &err);

	free(path);
	if (status && status != SN_ERR_NOT_FOUND && !atomic_flag_test_and_set(&is_told))
		sn_warn("%s: usual values are taken; 'sonde calibrate' writes it anew",
			err.sentence);
	return !status && strcmp(out->machine, machine) == 0;
}

void sn_memory_profile_describe(const char *machine, struct sn_text *out)
{
	const char *native = sn_machine_processor_name();
	struct sn_memory_profile profile;
	char *path;

	if (!sn_memory_profile_of(machine, &profile)) {
		sn_text_addf(out, "usual values; 'sonde calibrate' %s",
			     native && strcmp(native, machine) == 0
				     ? "measures this machine's"
				     : "measures them on such a machine");
		return;
	}
	path = sn_memory_profile_path();
	sn_text_add(out, "measured by 'sonde calibrate'");
	if (profile.date[0])
		sn_text_addf(out, " on %s", profile.date);
	sn_text_add(out, " (");
	sn_text_add_printable(out, path, strlen(path));
	sn_text_add_char(out, ')');
	free(path);
}

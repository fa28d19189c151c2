#include "machine/bandwidth.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/stats.h"
#include "base/text.h"
#include "machine/core_profile.h"
#include "machine/machine.h"
#include "machine/timing.h"

enum { LINE = 64, PIECE_BYTES = 128 * 1024, PIECES_MAX = 2000, CHASE_STEPS = 1000 };

static const char *const level_names[SN_MEMORY_LEVELS] = { "L1", "L2", "L3", "RAM" };

/* Half of each level, so that it holds the set with room for the rest of the world; a virtual
 * machine shares its L3, so only a part of it is counted on. */
static void choose_sizes(size_t bytes[SN_MEMORY_LEVELS])
{
	long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
	long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);

	bytes[0] = l1 > 0 ? (size_t)l1 / 2 : 16384;
	bytes[1] = l2 > 0 ? (size_t)l2 / 2 : 131072;
	bytes[2] = l3 > 0 ? (size_t)l3 / 8 : 4u << 20;
	if (bytes[2] < 2 * bytes[1])
		bytes[2] = 2 * bytes[1];
	if (bytes[2] > (size_t)4 << 20)
		bytes[2] = (size_t)4 << 20;
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

/* The time of a piece, in core cycles of its moment, from many pieces: whoever else has the
 * processor or the memory in between makes single pieces long, so one of the shortest is taken. */
struct pieces {
	double cycles[PIECES_MAX];
	size_t count;
	double per_tick;
};

static void pieces_add(struct pieces *pieces, uint64_t ticks)
{
	if (pieces->count < PIECES_MAX)
		pieces->cycles[pieces->count++] = (double)ticks * pieces->per_tick;
}

/* The clock is taken anew every few pieces. */
static void pieces_clock(struct pieces *pieces)
{
	if (pieces->count % 32 == 0)
		pieces->per_tick = sn_timing_cycles_per_tick();
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
	result =
		sn_quantile(pieces->cycles, pieces->count, 0.03) * (double)number / (double)repeats;
	free(pieces);
	return result;
}

/* One random cycle through all lines (Sattolo's shuffle). */
static void link_lines(char *memory, size_t lines)
{
	struct sn_random random;
	uint32_t *order = sn_alloc(lines * sizeof(*order));

	sn_random_seed(&random, 1);
	for (size_t i = 0; i < lines; i++)
		order[i] = (uint32_t)i;
	for (size_t i = lines - 1; i > 0; i--) {
		size_t k = (size_t)sn_random_below(&random, i);
		uint32_t kept = order[i];

		order[i] = order[k];
		order[k] = kept;
	}
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
	result = sn_quantile(pieces->cycles, pieces->count, 0.2) / CHASE_STEPS;
	free(pieces);
	return result;
}

sn_status sn_memory_measure(struct sn_memory_profile *out, struct sn_error *err)
{
	size_t bytes[SN_MEMORY_LEVELS];
	const char *native = sn_machine_native_name();
	char *memory;

	memset(out, 0, sizeof(*out));
	choose_sizes(bytes);
	memory = mmap(NULL, bytes[SN_MEMORY_LEVELS - 1], PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return sn_error_errno(err, "calibrate: cannot get %zu bytes of memory",
				      bytes[SN_MEMORY_LEVELS - 1]);
	madvise(memory, bytes[SN_MEMORY_LEVELS - 1], MADV_HUGEPAGE);
	memset(memory, 1, bytes[SN_MEMORY_LEVELS - 1]);
	snprintf(out->machine, sizeof(out->machine), "%s", native ? native : "");
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

sn_status sn_memory_profile_write(const struct sn_memory_profile *profile,
				  const struct sn_core_profile *core, const char *path,
				  struct sn_error *err)
{
	struct sn_file_writer writer;
	char *folder = sn_strdup(path);
	sn_status status;

	if (strrchr(folder, '/'))
		*strrchr(folder, '/') = '\0';
	status = sn_make_folders(folder, err);
	free(folder);
	if (!status)
		status = sn_file_writer_open(&writer, path, err);
	if (status)
		return status;
	fprintf(writer.out,
		"# Written by 'sonde calibrate': this machine's memory, per core, and its core.\n"
		"machine\t%s\n",
		profile->machine);
	for (unsigned i = 0; i < SN_MEMORY_LEVELS; i++) {
		const struct sn_memory_level *level = &profile->levels[i];

		fprintf(writer.out, "%s\t%.0f\t%.3f\t%.3f\t%.3f\t%.1f\n", level->name,
			level->working_set_bytes, level->unit_bytes_per_cycle,
			level->line_bytes_per_cycle, level->copy_bytes_per_cycle,
			level->latency_cycles);
	}
	if (core)
		sn_core_profile_print(core, writer.out);
	return sn_file_writer_commit(&writer, err);
}

bool sn_memory_profile_read(const char *path, struct sn_memory_profile *out)
{
	FILE *in = fopen(path, "re");
	char line[256];
	unsigned found = 0;

	memset(out, 0, sizeof(*out));
	while (in && fgets(line, sizeof(line), in)) {
		char name[32];
		double values[5];

		if (sscanf(line, "machine\t%31s", out->machine) == 1)
			continue;
		if (sscanf(line, "%31s %lf %lf %lf %lf %lf", name, &values[0], &values[1],
			   &values[2], &values[3], &values[4]) != 6)
			continue;
		for (unsigned i = 0; i < SN_MEMORY_LEVELS; i++)
			if (strcmp(name, level_names[i]) == 0 && values[1] > 0 && values[2] > 0 &&
			    values[3] > 0) {
				out->levels[i] =
					(struct sn_memory_level){ level_names[i], values[0],
								  values[1],	  values[2],
								  values[3],	  values[4] };
				found |= 1u << i;
			}
	}
	if (in)
		fclose(in);
	return found == 15 && out->machine[0];
}

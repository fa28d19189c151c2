/*
 * Code that no module has, because the program mapped it itself: compilers at run time, loaders of
 * their own, a second copy of the program's file. The kernel's list of mappings tells what it is.
 * It is read when a sample falls there, at most some times a second, and at the end.
 */
#include "runtime/core/runtime.h"

#include <elf.h>
#include <fcntl.h>

#include "runtime/core/parse.h"

enum { SOON_NS = 50000000, LATER_NS = 1000000000, HEAD_BYTES = 4096, LINES_BYTES = 8192 };

/* One line of /proc/self/maps. */
struct line {
	uint64_t start, end, offset;
	const char *path; /* "" for anonymous memory */
	bool is_executable, is_deleted;
};

static struct scratch {
	char lines[LINES_BYTES + 1];
	uint8_t head[HEAD_BYTES], note[256];
} scratch; /* under maps_lock */

static const char *next_word(const char *at)
{
	while (*at && *at != ' ')
		at++;
	while (*at == ' ')
		at++;
	return at;
}

/* Cuts " (deleted)" off. */
static bool cut_deleted(char *path)
{
	static const char words[] = " (deleted)";
	size_t length = 0, count = sizeof words - 1;

	while (path[length])
		length++;
	if (length <= count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (path[length - count + i] != words[i])
			return false;
	path[length - count] = '\0';
	return true;
}

/* 7f89f7600000-7f89f7792000 r-xp 014c4000 fe:00 247823   /usr/bin/node */
static struct line line_parse(char *text)
{
	const char *at = text;
	struct line line = { .start = sn_parse_hex(&at) };

	at += *at == '-';
	line.end = sn_parse_hex(&at);
	at = next_word(at);
	line.is_executable = at[0] && at[1] && at[2] == 'x';
	at = next_word(at);
	line.offset = sn_parse_hex(&at);
	at = next_word(next_word(next_word(at)));
	line.path = at;
	line.is_deleted = cut_deleted(text + (at - text));
	return line;
}

static bool starts_with(const char *text, const char *prefix)
{
	while (*prefix && *text == *prefix)
		text++, prefix++;
	return !*prefix;
}

static bool is_recorded(const struct line *line)
{
	struct sn_module_table *table = atomic_load(&sn_state->table);
	struct sn_unwind_target target = { .modules = table->modules,
					   .module_count = table->count };
	uint32_t count = atomic_load_explicit(&sn_state->own_map_count, memory_order_acquire);

	if (sn_unwind_find_module(&target, line->start))
		return true;
	for (uint32_t i = 0; i < count; i++)
		if (line->start >= sn_state->own_maps[i].start &&
		    line->end <= sn_state->own_maps[i].end)
			return true;
	return false;
}

static bool is_met(uint64_t pc)
{
	uint32_t count = atomic_load_explicit(&sn_state->own_map_count, memory_order_acquire);

	for (uint32_t i = count; i-- > 0;)
		if (pc - sn_state->own_maps[i].start <
		    sn_state->own_maps[i].end - sn_state->own_maps[i].start)
			return true;
	return false;
}

/* The build-id in the notes of a file, as far as they lie in its first bytes. */
static void find_build_id(const Elf64_Phdr *notes, struct sn_map_facts *facts)
{
	if (!facts->build_id && notes->p_offset <= HEAD_BYTES &&
	    notes->p_filesz <= HEAD_BYTES - notes->p_offset)
		facts->build_id = sn_build_id_find(scratch.head + notes->p_offset, notes->p_filesz,
						   SN_BUILD_ID_MAX, &facts->build_id_bytes);
}

/* What the headers of an ELF file say of the piece that is mapped. */
static void look_into_file(const struct line *line, struct sn_map_facts *facts)
{
	long fd = SYS(openat, AT_FDCWD, line->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	long length = fd >= 0 ? SYS(pread64, fd, scratch.head, HEAD_BYTES, 0) : 0;
	const Elf64_Ehdr *elf = (const void *)scratch.head;
	const Elf64_Phdr *phdrs;

	if (fd >= 0)
		SYS(close, fd);
	if (length < HEAD_BYTES || elf->e_ident[0] != ELFMAG0 || elf->e_ident[1] != ELFMAG1 ||
	    elf->e_machine != EM_X86_64 || elf->e_phentsize != sizeof *phdrs || elf->e_phoff % 8 ||
	    elf->e_phoff > HEAD_BYTES || elf->e_phnum > (HEAD_BYTES - elf->e_phoff) / sizeof *phdrs)
		return;
	phdrs = (const void *)(scratch.head + elf->e_phoff);
	for (uint32_t i = 0; i < elf->e_phnum; i++) {
		const Elf64_Phdr *phdr = &phdrs[i];

		if (phdr->p_type == PT_NOTE)
			find_build_id(phdr, facts);
		else if (phdr->p_type == PT_LOAD && line->offset + 4096 > phdr->p_offset &&
			 line->offset < phdr->p_offset + phdr->p_filesz)
			facts->load_bias =
				line->start - (phdr->p_vaddr + line->offset - phdr->p_offset);
	}
}

static void line_record(struct sn_writer *writer, const struct line *line, int64_t now_ns)
{
	struct sn_map_facts facts = { .path = line->path,
				      .load_start = line->start,
				      .load_end = line->end,
				      .load_bias = line->start - line->offset,
				      .file_offset = line->offset };
	uint32_t at = sn_state->own_map_count;

	if (at == SN_OWN_MAPS_MAX)
		return;
	if (line->is_deleted || *line->path != '/' || starts_with(line->path, "/memfd:") ||
	    starts_with(line->path, "/dev/"))
		facts.flags = SN_RECORD_MAP_ANONYMOUS;
	else
		look_into_file(line, &facts);
	sn_map_write(writer, &facts, now_ns);
	sn_state->own_maps[at].start = line->start;
	sn_state->own_maps[at].end = line->end;
	atomic_store_explicit(&sn_state->own_map_count, at + 1, memory_order_release);
}

/* Records the lines that are complete; gives how many bytes of an unfinished one are left. */
static size_t take_lines(struct sn_writer *writer, size_t length, int64_t now_ns)
{
	char *begin = scratch.lines, *end = scratch.lines + length;

	for (char *at = begin; at < end; at++) {
		struct line line;

		if (*at != '\n')
			continue;
		*at = '\0';
		line = line_parse(begin);
		begin = at + 1;
		if (line.is_executable && !starts_with(line.path, "[v") && !is_recorded(&line))
			line_record(writer, &line, now_ns);
	}
	length = (size_t)(end - begin);
	for (size_t i = 0; i < length; i++)
		scratch.lines[i] = begin[i];
	return length;
}

static void read_maps(struct sn_writer *writer, int64_t now_ns)
{
	long fd = SYS(openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t kept = 0;
	long got;

	if (fd < 0)
		return;
	while (kept < LINES_BYTES &&
	       (got = SYS(read, fd, scratch.lines + kept, LINES_BYTES - kept)) > 0)
		kept = take_lines(writer, kept + (size_t)got, now_ns);
	SYS(close, fd);
}

static bool lock_maps(void)
{
	uint32_t free_now = 0;

	return atomic_compare_exchange_strong(&sn_state->maps_lock, &free_now, 1);
}

void sn_maps_meet(struct sn_thread *self, uint64_t pc, int64_t now_ns)
{
	if (pc < 4096 || pc >> 47 || is_met(pc) || sn_state->own_map_count == SN_OWN_MAPS_MAX)
		return;
	atomic_store_explicit(&sn_state->has_unknown_code, 1, memory_order_relaxed);
	if (sn_state->is_sealed ||
	    now_ns < atomic_load_explicit(&sn_state->next_maps_ns, memory_order_relaxed) ||
	    !lock_maps())
		return;
	read_maps(&self->writer, now_ns);
	/* what is not there now is no code, or will be there later */
	atomic_store_explicit(&sn_state->next_maps_ns, now_ns + (is_met(pc) ? SOON_NS : LATER_NS),
			      memory_order_relaxed);
	atomic_store_explicit(&sn_state->maps_lock, 0, memory_order_release);
	sn_count_overhead(now_ns);
}

void sn_maps_finish(struct sn_thread *self, int64_t now_ns)
{
	if (!self || sn_state->is_sealed ||
	    !atomic_load_explicit(&sn_state->has_unknown_code, memory_order_relaxed) ||
	    !lock_maps())
		return;
	read_maps(&self->writer, now_ns);
	atomic_store_explicit(&sn_state->maps_lock, 0, memory_order_release);
}

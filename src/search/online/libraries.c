/* The loader lists what it would map, as for ldd(1). */
#include "search/online/libraries.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

enum { BYTES_MOST = 1 << 20 };

/* "libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f...)", or the path alone. */
static void line_read(const char *line, size_t length, sn_strings *out)
{
	const char *end = memmem(line, length, " (0x", 4);
	const char *arrow = end ? memmem(line, (size_t)(end - line), " => ", 4) : NULL;
	const char *path = arrow ? arrow + 4 : line + strspn(line, "\t ");

	if (end && path < end && memchr(path, '/', (size_t)(end - path)))
		sn_vec_push(out, strndup(path, (size_t)(end - path)));
}

void sn_libraries_read(const char *chars, sn_strings *out)
{
	for (const char *line = chars, *end; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		line_read(line, (size_t)(end - line), out);
	}
}

/* The program's loader; the caller frees. NULL: it has none, so it could not be asked without being run. */
static char *loader_of(const char *program)
{
	struct sn_file_view view;
	Elf64_Ehdr head = { 0 };
	char *loader = NULL;

	if (sn_file_map(program, &view, NULL) != SN_OK)
		return NULL;
	if (view.length >= sizeof(head))
		memcpy(&head, view.bytes, sizeof(head));
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_phentsize != sizeof(Elf64_Phdr))
		head.e_phnum = 0;
	for (uint16_t i = 0; i < head.e_phnum && !loader; i++) {
		Elf64_Phdr segment;
		uint64_t at = (uint64_t)i * sizeof(segment);

		if (head.e_phoff > view.length || view.length - head.e_phoff < at + sizeof(segment))
			break;
		memcpy(&segment, view.bytes + head.e_phoff + at, sizeof(segment));
		if (segment.p_type == PT_INTERP && segment.p_offset < view.length &&
		    segment.p_filesz <= view.length - segment.p_offset)
			loader = strndup((const char *)view.bytes + segment.p_offset,
					 segment.p_filesz);
	}
	sn_file_unmap(&view);
	return loader;
}

__attribute__((noreturn)) static void loader_run(const char *loader, const char *program, int fd)
{
	const char *const words[] = { loader, "--list", program, NULL };
	int none = open("/dev/null", O_RDWR);

	dup2(none, STDIN_FILENO);
	dup2(none, STDERR_FILENO);
	dup2(fd, STDOUT_FILENO);
	execv(loader, (char *const *)(uintptr_t)words);
	_exit(127);
}

void sn_libraries_list(const char *program, sn_strings *out)
{
	struct sn_text text = { 0 };
	char bytes[4096];
	ssize_t length;
	char *loader = loader_of(program);
	int ends[2];
	pid_t pid;

	if (!loader || pipe2(ends, O_CLOEXEC)) {
		free(loader);
		return;
	}
	pid = fork();
	if (!pid)
		loader_run(loader, program, ends[1]);
	free(loader);
	close(ends[1]);
	while ((length = read(ends[0], bytes, sizeof(bytes))) > 0 && text.length < BYTES_MOST)
		sn_text_add_bytes(&text, bytes, (size_t)length);
	close(ends[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	if (text.chars)
		sn_libraries_read(text.chars, out);
	sn_text_free(&text);
}

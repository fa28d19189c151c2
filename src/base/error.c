/*
 * An error is a status and one sentence. Here the sentence is made, printed as one line to
 * standard error, and turned into the exit code that belongs to its status.
 */
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/progress.h"
#include "base/text.h"

__attribute__((format(printf, 3, 0))) static void error_fill(struct sn_error *err, sn_status status,
							     const char *format, va_list args)
{
	err->status = status;
	vsnprintf(err->sentence, sizeof(err->sentence), format, args);
}

sn_status sn_error_set(struct sn_error *err, sn_status status, const char *format, ...)
{
	if (err) {
		va_list args;

		va_start(args, format);
		error_fill(err, status, format, args);
		va_end(args);
	}
	return status;
}

static void file_limit_tell(char *out, size_t room)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY)
		snprintf(out, room, "; its file system allows no larger file: name another place");
	else
		snprintf(out, room,
			 "; the limit on file sizes is %llu kB here: raise it (ulimit -f)",
			 (unsigned long long)limit.rlim_cur / 1024);
}

const char *sn_errno_remedy(int number, char *out, size_t room)
{
	static const struct {
		int number;
		const char *remedy;
	} remedies[] = {
		{ ENOSPC, "; free some space or name another place" },
		{ EDQUOT, "; delete what your quota counts or name another place" },
		{ EROFS, "; name another place" },
		{ EMFILE, "; raise the limit on open files (ulimit -n)" },
		{ ENFILE, "; the whole machine has too many open files" },
	};

	out[0] = '\0';
	if (number == EFBIG)
		file_limit_tell(out, room);
	for (size_t i = 0; i < sizeof(remedies) / sizeof(*remedies); i++)
		if (remedies[i].number == number)
			snprintf(out, room, "%s", remedies[i].remedy);
	return out;
}

sn_status sn_error_errno(struct sn_error *err, const char *format, ...)
{
	int saved = errno;
	sn_status status = saved == ENOMEM   ? SN_ERR_NOMEM
			   : saved == ENOENT ? SN_ERR_NOT_FOUND
					     : SN_ERR_IO;

	if (err) {
		char remedy[128];
		size_t used;
		va_list args;

		va_start(args, format);
		error_fill(err, status, format, args);
		va_end(args);
		used = strlen(err->sentence);
		snprintf(err->sentence + used, sizeof(err->sentence) - used, ": %s%s",
			 strerror(saved), sn_errno_remedy(saved, remedy, sizeof(remedy)));
	}
	return status;
}

enum sn_exit_code sn_status_exit_code(sn_status status)
{
	switch (status) {
	case SN_OK:
		return SN_EXIT_OK;
	case SN_ERR_NOMEM:
		return SN_EXIT_NOMEM;
	case SN_ERR_UNSUPPORTED:
		return SN_EXIT_UNSUPPORTED;
	case SN_ERR_NO_DATA:
		return SN_EXIT_NO_DATA;
	case SN_ERR_USAGE:
		return SN_EXIT_USAGE;
	case SN_ERR_IO:
	case SN_ERR_FORMAT:
	case SN_ERR_RANGE:
	case SN_ERR_NOT_FOUND:
		break;
	}
	return SN_EXIT_BAD_INPUT;
}

static void line_print(const char *sentence)
{
	struct sn_text text = { 0 };

	sn_text_add(&text, "sonde: ");
	sn_text_add_printable(&text, sentence, strlen(sentence));
	sn_text_add(&text, "\n");
	fflush(stdout);
	sn_progress_make_room();
	fputs(text.chars, stderr);
	sn_text_free(&text);
}

int sn_error_print(const struct sn_error *err)
{
	line_print(err->sentence);
	return sn_status_exit_code(err->status);
}

void sn_warn(const char *format, ...)
{
	char sentence[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	line_print(sentence);
}

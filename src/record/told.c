/* Signals by which somebody asks this command for an end. */
#include "record/told.h"

#include <signal.h>
#include <stddef.h>

static const int enders[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

bool sn_is_ender(int number)
{
	for (size_t i = 0; i < sizeof(enders) / sizeof(*enders); i++)
		if (enders[i] == number)
			return true;
	return false;
}

bool sn_is_told_to_end(void)
{
	sigset_t waiting, blocked;

	sigpending(&waiting);
	sigprocmask(SIG_SETMASK, NULL, &blocked);
	for (size_t i = 0; i < sizeof(enders) / sizeof(*enders); i++)
		if (sigismember(&waiting, enders[i]) == 1 && sigismember(&blocked, enders[i]) == 1)
			return true;
	return false;
}

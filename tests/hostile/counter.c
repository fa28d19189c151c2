/* Gives up the time-stamp counter in one of four ways, computes, and ends without libc's exit. */
#include "burn.h"
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int give_up(const char *how)
{
	if (!strcmp(how, "strict"))
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	if (!strcmp(how, "syscall"))
		return (int)syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
	if (!strcmp(how, "seccomp"))
		return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL);
	return prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
}

int main(int count, char **words)
{
	burn(0.1);
	int result = give_up(count > 1 ? words[1] : "counter");
	for (long i = 0; i < 200000000; i++)
		burn_sink += 1;
	if (write(1, result == 0 ? "computed\n" : "refused!\n", 9) != 9)
		syscall(SYS_exit, 1);
	syscall(SYS_exit, 5);
}

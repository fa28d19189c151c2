/* Installs a seccomp filter that kills on everything but write, exit_group and (argument 1) the
 * return from signal handlers, then computes; in a child if there is a third argument. */
#include "burn.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALLOW(name)                                                                                \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1),                                     \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

int main(int count, char **words)
{
	int returns = count > 1 ? atoi(words[1]) : 1;
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(write),
		ALLOW(exit_group),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, returns ? SYS_rt_sigreturn : 99999, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof filter / sizeof *filter, filter };

	if (count > 3 && fork() > 0) {
		int status;
		wait(&status);
		return WEXITSTATUS(status);
	}
	if (count <= 3)
		burn(0.1);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	int result = count > 2 ? (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)
			       : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	for (long i = 0; i < 300000000; i++)
		burn_sink += 1;
	const char *text = result == 0 ? "computed\n" : "no filter\n";
	write(1, text, 9);
	_exit(5);
}

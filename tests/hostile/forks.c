#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <string.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <wordexp.h>
extern char **environ;
volatile double sink;
void burn(double s)
{
	struct timespec a, b;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	do {
		for (int i = 0; i < 10000; i++)
			sink += i;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	} while ((b.tv_sec - a.tv_sec) + (b.tv_nsec - a.tv_nsec) * 1e-9 < s);
}
int main(int c, char **v)
{
	if (c > 1) {
		burn(atof(v[1]));
		printf("child %s LD=%s RT=%s\n", v[2], getenv("LD_PRELOAD"),
		       getenv("SONDE_RUNTIME"));
		return 0;
	}
	setvbuf(stdout, 0, _IOLBF, 0);
	burn(.02);
	int st;
	pid_t p = fork();
	if (!p) {
		burn(.03);
		_exit(3);
	}
	waitpid(p, &st, 0);
	printf("fork %d\n", WEXITSTATUS(st));
	p = fork();
	if (!p) {
		execl(v[0], v[0], "0.01", "execl", (char *)0);
	}
	waitpid(p, &st, 0);
	p = fork();
	if (!p) {
		execlp(v[0], v[0], "0.01", "execlp", (char *)0);
	}
	waitpid(p, &st, 0);
	p = fork();
	if (!p) {
		char *e[] = { "A=b", 0 };
		execle(v[0], v[0], "0.01", "execle", (char *)0, e);
	}
	waitpid(p, &st, 0);
	p = vfork();
	if (!p) {
		char *a[] = { v[0], "0.01", "vfork-execv", 0 };
		execv(v[0], a);
		_exit(1);
	}
	waitpid(p, &st, 0);
	p = vfork();
	if (!p) {
		_exit(5);
	}
	waitpid(p, &st, 0);
	printf("vfork exit %d\n", WEXITSTATUS(st));
	char *a[] = { v[0], "0.01", "spawn", 0 };
	posix_spawn(&p, v[0], 0, 0, a, environ);
	waitpid(p, &st, 0);
	char buf[999];
	snprintf(buf, 999, "%s 0.01 system", v[0]);
	st = system(buf);
	printf("system %d\n", st);
	snprintf(buf, 999, "%s 0.01 popen", v[0]);
	FILE *f = popen(buf, "r");
	char l[999];
	while (fgets(l, 999, f))
		fputs(l, stdout);
	printf("pclose %d\n", pclose(f));
	wordexp_t w;
	snprintf(buf, 999, "$(%s 0.01 wordexp)", v[0]);
	wordexp(buf, &w, 0);
	for (int i = 0; i < w.we_wordc; i++)
		puts(w.we_wordv[i]);
	p = fork();
	if (!p) {
		execlp("/nonexist", "x", (char *)0);
		burn(.01);
		_exit(9);
	}
	waitpid(p, &st, 0);
	printf("failed exec %d\n", WEXITSTATUS(st));
	setenv("LATER", "1", 1);
	char *aa[] = { v[0], "0.02", "final", 0 };
	execvp(v[0], aa);
}

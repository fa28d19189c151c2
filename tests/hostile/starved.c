/* Lives with a malloc that fails; its threads and children too. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile double sink;

static void *work(void *out)
{
	for (int i = 0; i < 20000000; i++)
		sink += i;
	*(int *)out = 1;
	return out;
}

int main(void)
{
	int failed = 0, done[4] = { 0 };
	pthread_t thread[4];

	for (int i = 0; i < 300; i++) {
		void *p = malloc(100);
		failed += !p;
		free(p);
	}
	for (int i = 0; i < 4; i++)
		if (pthread_create(&thread[i], NULL, work, &done[i]) == 0)
			pthread_join(thread[i], NULL);
	pid_t child = fork();
	if (child == 0) {
		work(done);
		_exit(done[0]);
	}
	int status;
	waitpid(child, &status, 0);
	char line[100];
	int n = snprintf(line, sizeof line, "%d failed, threads %d %d %d %d, child %d\n", failed,
			 done[0], done[1], done[2], done[3], WEXITSTATUS(status));
	return write(1, line, (size_t)n) != n;
}

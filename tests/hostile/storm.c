/* A storm of forks: each child forks one more, which ends at once. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **words)
{
	int n = count > 1 ? atoi(words[1]) : 200, good = 0, status;

	for (int i = 0; i < n; i++) {
		pid_t child = fork();
		if (child == 0) {
			pid_t inner = fork();
			if (inner == 0)
				_exit(5);
			waitpid(inner, &status, 0);
			_exit(WEXITSTATUS(status) + 1);
		}
	}
	while (wait(&status) > 0)
		good += WIFEXITED(status) && WEXITSTATUS(status) == 6;
	printf("%d of %d\n", good, n);
	return 9;
}

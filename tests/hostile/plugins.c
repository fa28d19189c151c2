/* dlopen and dlclose in a loop while another thread is sampled; asked for "fork", in a child that
 * begins with the plug-in loaded. */
#include "burn.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int is_over;

static void *other(void *unused)
{
	while (!is_over)
		burn(0.001);
	return unused;
}

int main(int count, char **words)
{
	pthread_t thread;

	if (count > 2) {
		void *inherited = dlopen(words[1], RTLD_NOW);
		pid_t child = fork();
		if (child != 0) {
			waitpid(child, NULL, 0);
			return 0;
		}
		dlclose(inherited);
	}
	pthread_create(&thread, NULL, other, NULL);
	for (int i = 0; i < 60; i++) {
		void *handle = dlopen(words[1], RTLD_NOW);
		void (*plugin)(void) = handle ? (void (*)(void))dlsym(handle, "plugin_burn") : NULL;
		if (!plugin) {
			printf("%s\n", dlerror());
			return 1;
		}
		plugin();
		dlclose(handle);
	}
	is_over = 1;
	pthread_join(thread, NULL);
	printf("done %d\n", count);
	return 0;
}

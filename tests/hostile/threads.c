#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double cpu(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}
volatile double sink;
double burn_s;
__attribute__((noinline)) void burn(void)
{
	double e = cpu() + burn_s;
	do {
		for (int i = 0; i < 2000; i++)
			sink += i * 0.5;
	} while (cpu() < e);
}
void *th(void *a)
{
	burn();
	return a;
}
int main(int c, char **v)
{
	int n = atoi(v[1]), par = atoi(v[3]);
	burn_s = atof(v[2]) * 1e-3;
	pthread_t t[8192];
	for (int i = 0; i < n; i += par) {
		for (int j = 0; j < par; j++)
			if (pthread_create(&t[j], 0, th, 0)) {
				puts("fail");
				return 1;
			}
		for (int j = 0; j < par; j++)
			pthread_join(t[j], 0);
	}
	printf("ok\n");
	return 0;
}

/* OpenMP regions, one inside a function that workers' stacks must show. */
#include "burn.h"
#include <omp.h>
#include <stdio.h>

__attribute__((noinline)) static void body(void)
{
	burn(0.3);
}

__attribute__((noinline)) void region_creator(void)
{
#pragma omp parallel num_threads(4)
	body();
	burn_sink += 1;
}

__attribute__((noinline)) void loop_creator(void)
{
#pragma omp parallel for schedule(dynamic, 1) num_threads(4)
	for (int i = 0; i < 8; i++)
		burn(0.05);
	burn_sink += 1;
}

int main(void)
{
	region_creator();
	loop_creator();
	printf("done\n");
	return 0;
}

/* A parallel region whose threads have unequal work: 10 and 6 units. By construction the larger gives
 * 0.4 at most, the smaller nothing. */
#include <omp.h>

#include "program.h"

PART(large)
PART(small)

int main(int count, char **words)
{
	program_begins(count, words);
	for (int i = 0; i < steps; i++) {
#pragma omp parallel num_threads(2)
		{
			if (omp_get_thread_num() == 0)
				large(10);
			else
				small(6);
			rest();
		}
		step_is_done();
	}
	return program_ends();
}

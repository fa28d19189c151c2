/* Work whose division is known by construction: an inlined kernel called twice as often by one
 * caller as by the other, a loop nest, a recursion, and some waiting. argv[1]: how much. */
#include <stdlib.h>
#include <unistd.h>

static double cells[512];

static inline __attribute__((always_inline)) void kernel(double factor)
{
	for (int i = 0; i < 512; i++) /* each turn waits for the one before: as long on any core */
		cells[0] = cells[0] * factor + 1e-9;
}

__attribute__((noinline)) void caller_one(void)
{
	kernel(0.5);
	kernel(0.25);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void caller_two(void)
{
	kernel(0.5);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) double nest(int rows)
{
	double sum = 0;

	for (int row = 0; row < rows; row++) {
		for (int i = 0; i < 512; i++)
			sum = sum * 0.999 + cells[i];
	}
	return sum;
}

__attribute__((noinline)) double descend(int depth, int rows)
{
	double sum;

	if (!depth)
		return nest(rows);
	sum = descend(depth - 1, rows);
	__asm__ volatile("" ::: "memory");
	return sum + 1;
}

int main(int argc, char **argv)
{
	int turns = argc > 1 ? atoi(argv[1]) : 1;
	volatile double sink = 0;

	for (int turn = 0; turn < turns; turn++) {
		for (int i = 0; i < 50; i++) {
			caller_one();
			caller_two();
		}
		sink += nest(100);
		sink += descend(30, 100);
	}
	usleep(200000);
	return sink == 42;
}

/*
 * Work of many frame shapes for test_shapes.c: deep recursion, callbacks through libc, alloca,
 * arrays of variable size, stacks realigned to 64 bytes, exceptions with and without cleanups,
 * virtual and indirect calls, tail calls. Compiled by several compilers, without frame pointers.
 */
#include <alloca.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" long shapes_work(int rounds);

#define NOINLINE __attribute__((noinline))
#define KEEP(value) __asm__ volatile("" : "+r"(value))

static NOINLINE long spin(long count)
{
	for (long i = 0; i < count; i++)
		KEEP(i);
	return count;
}

static NOINLINE long on_the_heap_of_the_stack(long bytes)
{
	char *room = static_cast<char *>(alloca(static_cast<size_t>(bytes)));
	long sum;

	memset(room, 1, static_cast<size_t>(bytes));
	sum = spin(bytes & 63);
	KEEP(room);
	return sum + room[bytes / 2];
}

static NOINLINE long realigned(long depth)
{
	alignas(64) volatile long lanes[8];
	long sum = 0;

	for (int i = 0; i < 8; i++)
		lanes[i] = depth + i;
	sum = depth > 0 ? realigned(depth - 1) : on_the_heap_of_the_stack(300);
	for (int i = 0; i < 8; i++)
		sum += lanes[i];
	return sum;
}

static NOINLINE long realigned_and_sized(long count)
{
	alignas(64) volatile long lanes[8] = { 0 };
	long *sized = static_cast<long *>(alloca(static_cast<size_t>(count) * sizeof(long)));

	for (long i = 0; i < count; i++)
		sized[i] = spin(i & 7) + lanes[i & 7];
	return realigned(3) + sized[count / 2];
}

static int by_long(const void *a, const void *b)
{
	long x = *static_cast<const long *>(a), y = *static_cast<const long *>(b);

	spin(5);
	return x < y ? -1 : x > y;
}

static NOINLINE long through_libc(long seed)
{
	long numbers[100];
	char text[200];

	for (long i = 0; i < 100; i++)
		numbers[i] = (i * 7919 + seed) % 101;
	qsort(numbers, 100, sizeof(long), by_long);
	/* No floating point: glibc's own backtrace() crashes in the undescribed routines behind it. */
	snprintf(text, sizeof(text), "%ld %lx %s %-20ld|", numbers[0], seed * 12345, "text", seed);
	return static_cast<long>(strlen(text)) + realigned_and_sized(20);
}

struct guard {
	long &count;
	~guard()
	{
		count += spin(3);
	}
};

static NOINLINE long throws(long depth, long &cleanups)
{
	guard cleanup{ cleanups };
	long sum;

	if (depth == 0)
		throw std::runtime_error("at the bottom");
	sum = throws(depth - 1, cleanups);
	KEEP(sum);
	return sum + 1;
}

static NOINLINE long catches(long depth)
{
	long cleanups = 0;

	try {
		return throws(depth, cleanups);
	} catch (const std::exception &error) {
		return cleanups + error.what()[0];
	}
}

struct shape {
	virtual ~shape() = default;
	virtual NOINLINE long area(long depth) = 0;
};

static NOINLINE long descend(long depth, std::vector<shape *> &shapes);

struct square : shape {
	std::vector<shape *> *all;
	long area(long depth) override
	{
		std::string name(static_cast<size_t>(depth % 50), 'x');
		long sum = descend(depth - 1, *all);

		KEEP(sum);
		return sum + static_cast<long>(name.size());
	}
};

static NOINLINE long descend(long depth, std::vector<shape *> &shapes)
{
	long locals[12], sum = 0;

	if (depth <= 0)
		return through_libc(depth) + catches(9);
	for (long i = 0; i < 12; i++) {
		locals[i] = depth * i;
		KEEP(locals[i]);
	}
	sum = shapes[static_cast<size_t>(depth) % shapes.size()]->area(depth);
	for (long i = 0; i < 12; i++)
		sum += locals[i];
	return sum;
}

static NOINLINE long many_arguments(long a, long b, long c, long d, long e, long f, long g, long h,
				    long i)
{
	return spin(a & 15) + b + c + d + e + f + g + h + i;
}

static NOINLINE long tail(long depth)
{
	if (depth > 0)
		return tail(depth - 1);
	return many_arguments(9, 8, 7, 6, 5, 4, 3, 2, 1);
}

long shapes_work(int rounds)
{
	std::vector<shape *> shapes;
	square one, two;
	long sum = 0;

	one.all = two.all = &shapes;
	shapes.push_back(&one);
	shapes.push_back(&two);
	for (int i = 0; i < rounds; i++)
		sum += descend(10 + i % 30, shapes) + tail(5) + through_libc(i) + catches(i % 12);
	return sum;
}

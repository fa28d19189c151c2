// Heartbeats around what throws: caught within, passed through, rethrown.
#include <cstdio>
#include <stdexcept>
#include <string>
#ifdef SOURCE
#include <sonde/heartbeat.h>
#define BEAT(name) sonde::heartbeat_scope beat_##name(sonde_heartbeat_register(#name, 0))
#else
#define BEAT(name)
#endif
#define LOOP BEAT
#define BODY BEAT

static volatile int sink;

struct guard {
	explicit guard(int n) : value(n)
	{
	}
	~guard()
	{
		sink = sink + value;
	}
	int value;
};

__attribute__((noinline)) static int throws(int n)
{
	BODY(throws);
	guard g(n);

	if (n % 3 == 0)
		throw std::runtime_error("three " + std::to_string(n));
	return sink + n;
}

__attribute__((noinline)) static int passes(int n)
{
	BODY(passes);
	return throws(n) + throws(n + 1) + 1;
}

__attribute__((noinline)) static int catches(int n)
{
	BODY(catches);
	int sum = 0;

	for (int i = 0; i < n; i++) {
		LOOP(tries);
		try {
			sum += passes(i);
		} catch (const std::exception &e) {
			sum += e.what()[0];
			if (i % 2)
				continue;
			sum++;
		}
		sum += i;
	}
	return sum;
}

__attribute__((noinline)) static int leaves(int n)
{
	BODY(leaves);
	int sum = 0;

	try {
		for (int i = 1; i < n; i++) {
			LOOP(left);
			sum += throws(i);
		}
	} catch (const std::runtime_error &) {
		sum += 100;
	}
	return sum;
}

int main()
{
	int sum = 0;

	for (int i = 0; i < 100; i++) {
		sum += catches(i % 11);
		sum += leaves(i % 5);
	}
	std::printf("%d %d\n", sum, sink);
	return 0;
}

/**
 * The unit-test harness: TAP on standard output, a fork per test, a crash is a failed test.
 *
 *	TEST(cursor_stops_at_the_end)
 *	{
 *		...
 *		CHECK(cur.status == SN_ERR_FORMAT);
 *		CHECK_INT(value, 42);
 *	}
 *
 * A failed CHECK prints what it saw and the test goes on; REQUIRE ends the test. SKIP(reason) ends
 * it as skipped. Tests register themselves in an ELF section and run in the order of the file.
 * `TEST_PROGRAM NAME...` runs only the tests named.
 */
#ifndef SN_TESTS_TAP_H
#define SN_TESTS_TAP_H

#include <stdbool.h>
#include <stdint.h>

struct tap_test {
	const char *name;
	void (*run)(void);
};

#define TEST(test_name)                                                                            \
	static void test_##test_name(void);                                                        \
	static const struct tap_test tap_entry_##test_name = { #test_name, test_##test_name };     \
	static const struct tap_test *const tap_pointer_##test_name                                \
		__attribute__((section("tap_tests"), used)) = &tap_entry_##test_name;              \
	static void test_##test_name(void)

void tap_check(bool holds, const char *file, int line, const char *what);
void tap_check_int(int64_t got, int64_t want, const char *file, int line, const char *what);
void tap_check_real(double got, double want, double within, const char *file, int line,
		    const char *what);
void tap_check_string(const char *got, const char *want, const char *file, int line,
		      const char *what);
__attribute__((noreturn)) void tap_end_test(void);
__attribute__((noreturn)) void tap_skip(const char *reason);

#define CHECK(cond) tap_check((cond), __FILE__, __LINE__, #cond)
#define CHECK_INT(got, want)                                                                       \
	tap_check_int((int64_t)(got), (int64_t)(want), __FILE__, __LINE__, #got)
#define CHECK_REAL(got, want, within)                                                              \
	tap_check_real((got), (want), (within), __FILE__, __LINE__, #got)
#define CHECK_STRING(got, want) tap_check_string((got), (want), __FILE__, __LINE__, #got)
#define REQUIRE(cond)                                                                              \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			tap_check(false, __FILE__, __LINE__, #cond);                               \
			tap_end_test();                                                            \
		}                                                                                  \
	} while (0)
#define SKIP(reason) tap_skip(reason)

#ifndef __has_feature
#define __has_feature(name) 0 /* gcc */
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
enum { TAP_IS_SANITIZED = true };
#else
enum { TAP_IS_SANITIZED = false };
#endif
/**
 * Trials of a simulation. A sanitizer sees in a hundredth of them what there is to see of memory;
 * what the trials say is judged in the build without, by CHECK_OF_TRIALS.
 */
static inline int tap_trials(int count)
{
	return TAP_IS_SANITIZED ? count / 100 + 1 : count;
}
#define CHECK_OF_TRIALS(cond) CHECK((cond) || TAP_IS_SANITIZED)

#endif

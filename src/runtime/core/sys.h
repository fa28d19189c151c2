/**
 * System calls made directly: no errno, no cancellation point, nothing that a target may interpose.
 * All return what the kernel returns: -errno on failure. Safe in handlers.
 */
#ifndef SN_RUNTIME_CORE_SYS_H
#define SN_RUNTIME_CORE_SYS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#ifdef __clang_analyzer__ /* it does not know what assembly writes */
long sn_sys(long number, long a, long b, long c, long d, long e, long f);
#else
static inline long sn_sys(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}
#endif

#define SN_SYS_COUNT(_0, _1, _2, _3, _4, _5, _6, n, ...) n
#define SN_SYS_0(n)					 sn_sys(n, 0, 0, 0, 0, 0, 0)
#define SN_SYS_1(n, a)					 sn_sys(n, (long)(a), 0, 0, 0, 0, 0)
#define SN_SYS_2(n, a, b)				 sn_sys(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define SN_SYS_3(n, a, b, c)				 sn_sys(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define SN_SYS_4(n, a, b, c, d)				 sn_sys(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define SN_SYS_5(n, a, b, c, d, e)                                                                 \
	sn_sys(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define SN_SYS_6(n, a, b, c, d, e, f)                                                              \
	sn_sys(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define SN_SYS_GLUE(count) SN_SYS_##count
#define SN_SYS_PICK(count) SN_SYS_GLUE(count)
/** SYS(openat, AT_FDCWD, path, flags): arguments are cast to long. */
#define SYS(name, ...)                                                                             \
	SN_SYS_PICK(SN_SYS_COUNT(0 __VA_OPT__(, ) __VA_ARGS__, 6, 5, 4, 3, 2, 1, 0))               \
	(SYS_##name __VA_OPT__(, ) __VA_ARGS__)

#endif

/**
 * Control of a measurement from inside the measured program.
 *
 *	sonde_sample("read input");		a sample packet with a label, now
 *	sonde_pause(); ... sonde_resume();	what is between is not measured
 *	sonde_terminate();			nothing more is measured
 *
 * No library is needed to link with. Where sonde does not measure the program, a call is a load and
 * a branch that is not taken (1 ns). With SONDE_CONTROL_DISABLE defined all of it compiles to
 * nothing.
 *
 * How it works: each module that includes this header has one hidden pointer, and a note in its file
 * (owner "sonde", type 1: where the pointer lies, relative to the note's description). The runtime
 * of `sonde record` reads the notes of modules that are loaded when the program begins, and sets
 * the pointers. In a library that is loaded later, calls work from the first sample in it on.
 *
 * All functions may be called by any thread, and in signal handlers, which they then leave alone if
 * they interrupt sonde itself: such a call does nothing. None changes errno.
 */
#ifndef SONDE_CONTROL_H
#define SONDE_CONTROL_H

#ifdef __cplusplus
extern "C" {
#endif

/** What the pointer points to. Members are only ever added, at the end, with a new version. */
struct sonde_control {
	unsigned version; /* 1 */
	void (*sample)(const char *label);
	void (*pause)(void);
	void (*resume)(void);
	void (*terminate)(void);
};

#ifdef SONDE_CONTROL_FUNCTIONS /* of sonde's runtime, which defines them */

void sonde_sample(const char *label);
void sonde_pause(void);
void sonde_resume(void);
void sonde_terminate(void);

#elif !defined(SONDE_CONTROL_DISABLE) && defined(__x86_64__) && defined(__ELF__)

extern const struct sonde_control *volatile sonde_control_slot;
__attribute__((weak, used, visibility("hidden")))
const struct sonde_control *volatile sonde_control_slot = 0;

__asm__(".pushsection .note.sonde,\"a\",@note\n"
	"	.balign 4\n"
	"	.long 6, 8, 1\n" /* bytes of the name and of the description, type */
	"	.asciz \"sonde\"\n"
	"	.balign 4\n"
	"	.quad sonde_control_slot - .\n"
	"	.popsection\n");

/** Writes a sample packet, the global data of this process, with a label. `sonde show packets` has
 * it, and `--time @LABEL-` begins there. `label` is copied, up to 255 bytes of it; NULL is "". */
static inline void sonde_sample(const char *label)
{
	const struct sonde_control *control = sonde_control_slot;

	if (__builtin_expect(control != 0, 0))
		control->sample(label);
}

/** Stops measuring in this process until sonde_resume(); twice is once. */
static inline void sonde_pause(void)
{
	const struct sonde_control *control = sonde_control_slot;

	if (__builtin_expect(control != 0, 0))
		control->pause();
}

/** Goes on after sonde_pause() or a start with --pause-signal; else it does nothing. */
static inline void sonde_resume(void)
{
	const struct sonde_control *control = sonde_control_slot;

	if (__builtin_expect(control != 0, 0))
		control->resume();
}

/** Ends the measurement of this process for good; the process runs on. */
static inline void sonde_terminate(void)
{
	const struct sonde_control *control = sonde_control_slot;

	if (__builtin_expect(control != 0, 0))
		control->terminate();
}

#else

static inline void sonde_sample(const char *label)
{
	(void)label;
}
static inline void sonde_pause(void)
{
}
static inline void sonde_resume(void)
{
}
static inline void sonde_terminate(void)
{
}

#endif

#ifdef __cplusplus
}
#endif

#endif

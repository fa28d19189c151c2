/*
 * A seccomp filter may kill at any system call. Once one is in place we make none but the return
 * from our handlers, and if the filter would not have that either, our events are taken away
 * before.
 */
#include "runtime/core/seccomp.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>

#include "runtime/core/collector.h"
#include "runtime/core/real.h"

enum { FILTER_WORDS = 16 };

static const char FILTER[] =
	"the program installed a seccomp filter: from then on sonde makes no system call; new threads "
	"are not sampled";
static const char NO_COUNTER[] =
	"the program gave up the time-stamp counter (PR_SET_TSC, or strict seccomp), without which there "
	"are no clocks: from then on the process and its children are not measured";

static uint32_t load(const struct seccomp_data *data, uint32_t offset)
{
	uint32_t word = 0;

	if (offset <= sizeof *data - 4)
		__builtin_memcpy(&word, (const uint8_t *)data + offset, 4);
	return word;
}

static uint32_t calculate(uint16_t code, uint32_t a, uint32_t b)
{
	switch (BPF_OP(code)) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return b ? a / b : 0;
	case BPF_OR:
		return a | b;
	case BPF_AND:
		return a & b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return b < 32 ? a << b : 0;
	case BPF_RSH:
		return b < 32 ? a >> b : 0;
	case BPF_NEG:
		return -a;
	default:
		return a;
	}
}

static bool jumps(uint16_t code, uint32_t a, uint32_t b)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return a == b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	default:
		return (a & b) != 0; /* BPF_JSET */
	}
}

/* Runs the classic BPF program (linux/filter.h) as the kernel would. Jumps only go forwards. */
static uint32_t run_filter(const struct sock_fprog *program, const struct seccomp_data *data)
{
	uint32_t a = 0, x = 0, memory[FILTER_WORDS] = { 0 };

	for (uint32_t at = 0; at < program->len; at++) {
		const struct sock_filter *step = &program->filter[at];
		uint32_t operand = BPF_SRC(step->code) == BPF_X ? x : step->k;
		switch (BPF_CLASS(step->code)) {
		case BPF_LD:
			a = BPF_MODE(step->code) == BPF_ABS   ? load(data, step->k)
			    : BPF_MODE(step->code) == BPF_MEM ? memory[step->k % FILTER_WORDS]
			    : BPF_MODE(step->code) == BPF_LEN ? sizeof *data
							      : step->k;
			break;
		case BPF_LDX:
			x = BPF_MODE(step->code) == BPF_MEM   ? memory[step->k % FILTER_WORDS]
			    : BPF_MODE(step->code) == BPF_LEN ? sizeof *data
							      : step->k;
			break;
		case BPF_ST:
			memory[step->k % FILTER_WORDS] = a;
			break;
		case BPF_STX:
			memory[step->k % FILTER_WORDS] = x;
			break;
		case BPF_ALU:
			a = calculate(step->code, a, operand);
			break;
		case BPF_JMP:
			if (BPF_OP(step->code) == BPF_JA)
				at += step->k;
			else
				at += jumps(step->code, a, operand) ? step->jt : step->jf;
			break;
		case BPF_RET:
			return BPF_RVAL(step->code) == BPF_A ? a : step->k;
		default:
			if (BPF_MISCOP(step->code) == BPF_TAX)
				x = a;
			else
				a = x;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

static bool allows_sigreturn(const struct sock_fprog *program)
{
	struct seccomp_data data = { .nr = SYS_rt_sigreturn, .arch = AUDIT_ARCH_X86_64 };
	uint32_t action = run_filter(program, &data) & SECCOMP_RET_ACTION_FULL;

	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}

void sn_seccomp_prepare(const struct sock_fprog *program)
{
	if (!sn_is_active() || sn_state->is_sealed)
		return;
	if (program && !allows_sigreturn(program)) {
		struct sn_held held = sn_hold(sn_self);
		sn_collect_pause_all();
		sn_let_go(sn_self, &held);
	}
	if (sn_self)
		sn_collect_seal(sn_self);
	/* from here on no handler makes a call, though the filter comes a moment later */
	sn_state->is_sealed = 1;
	sn_config.is_sealed = true;
}

void sn_seccomp_conclude(bool is_installed)
{
	if (!sn_is_active())
		return;
	if (is_installed) {
		sn_warn(FILTER);
		return;
	}
	sn_state->is_sealed = 0;
	sn_config.is_sealed = false;
	if (sn_self)
		sn_collect_resume(sn_self);
}

/*
 * The vDSO's clocks and rdtsc kill a thread that may not read the time-stamp counter. Strict mode
 * takes it away, too, and it fails if there is a filter already. What is known to succeed is
 * prepared for; it need not be taken back.
 */
static bool takes_counter(int option, unsigned long a)
{
	if (option == PR_SET_TSC)
		return a == PR_TSC_SIGSEGV;
	return option == PR_SET_SECCOMP && a == SECCOMP_MODE_STRICT && !sn_state->is_sealed &&
	       SYS(prctl, PR_GET_SECCOMP) == 0;
}

SN_EXPORT int prctl(int option, ...)
{
	va_list arguments;
	va_start(arguments, option);
	unsigned long a = va_arg(arguments, unsigned long), b = va_arg(arguments, unsigned long),
		      c = va_arg(arguments, unsigned long), d = va_arg(arguments, unsigned long);
	va_end(arguments);

	if (sn_is_active() && takes_counter(option, a))
		sn_finish_early(NO_COUNTER);
	if (option != PR_SET_SECCOMP || a != SECCOMP_MODE_FILTER)
		return REAL(prctl)(option, a, b, c, d);
	bool was_sealed = sn_state->is_sealed;
	sn_seccomp_prepare((const struct sock_fprog *)b);
	int result = REAL(prctl)(option, a, b, c, d);
	if (!was_sealed)
		sn_seccomp_conclude(result == 0);
	return result;
}

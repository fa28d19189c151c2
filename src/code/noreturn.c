/*
 * Whether a call to an address ever returns. Known names answer for libraries. For other code all
 * paths are walked, within limits of depth and size. Where that is not certain, the call returns.
 */
#include "code/noreturn.h"

#include <stdlib.h>
#include <string.h>

#include "code/structure_parts.h"

/* Sorted. Names of libc, libstdc++, libgcc, libgfortran, libgomp, Rust and GLib; versions and @plt
 * are off. */
static const char *const known[] = {
	"_Exit",
	"_Unwind_Resume",
	"_Unwind_Resume_or_Rethrow",
	"_ZN10__cxxabiv115__terminateEPFvvE",
	"_ZN4core6result13unwrap_failed",
	"_ZN4core9panicking",
	"_ZSt10unexpectedv",
	"_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE",
	"_ZSt21__glibcxx_assert_failPKciS0_S0_",
	"_ZSt9terminatev",
	"__assert",
	"__assert_fail",
	"__assert_perror_fail",
	"__chk_fail",
	"__cxa_bad_cast",
	"__cxa_bad_typeid",
	"__cxa_call_terminate",
	"__cxa_call_unexpected",
	"__cxa_pure_virtual",
	"__cxa_rethrow",
	"__cxa_throw",
	"__cxa_throw_bad_array_new_length",
	"__fortify_fail",
	"__libc_fatal",
	"__libc_start_call_main",
	"__longjmp_chk",
	"__stack_chk_fail",
	"_exit",
	"_gfortran_error_stop_numeric",
	"_gfortran_error_stop_string",
	"_gfortran_exit_i4",
	"_gfortran_exit_i8",
	"_gfortran_os_error",
	"_gfortran_os_error_at",
	"_gfortran_runtime_error",
	"_gfortran_runtime_error_at",
	"_gfortran_stop_numeric",
	"_gfortran_stop_string",
	"_longjmp",
	"abort",
	"err",
	"errx",
	"exit",
	"g_abort",
	"g_assertion_message",
	"g_assertion_message_expr",
	"longjmp",
	"pthread_exit",
	"quick_exit",
	"rust_begin_unwind",
	"rust_panic",
	"siglongjmp",
	"thrd_exit",
	"verr",
	"verrx",
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, *(const char *const *)b);
}

static bool name_is_known(const char *name)
{
	char plain[128];
	size_t length = strlen(name);

	if (length > 4 && !strcmp(name + length - 4, "@plt"))
		length -= 4;
	/* std::__throw_bad_alloc and its dozens of siblings, whose parameters vary */
	if (length > 11 && !strncmp(name, "_ZSt", 4) && memmem(name, length, "__throw_", 8))
		return true;
	/* core::panicking::..., with a hash at the end */
	if (length > 17 && (!strncmp(name, "_ZN4core9panicking", 18) ||
			    !strncmp(name, "_ZN4core6result13unwrap_failed", 30) ||
			    !strncmp(name, "_ZN4core6option13expect_failed", 30) ||
			    !strncmp(name, "_ZN4core5slice5index", 20)))
		return strstr(name, "fail") || strstr(name, "panic");
	if (length >= sizeof(plain))
		return false;
	memcpy(plain, name, length);
	plain[length] = 0;
	return bsearch(plain, known, sizeof(known) / sizeof(*known), sizeof(*known),
		       compare_names) != NULL;
}

enum verdict { UNKNOWN, RETURNS, NEVER_RETURNS, IN_HAND };

enum { DEPTH_MAX = 12, BYTES_MAX = 16 * 1024, STEPS_MAX = 4096, PENDING_MAX = 256 };

struct question {
	struct sn_structure *structure;
	/* the answer leans on the limits or on a cycle: right, but not to be kept */
	bool is_tainted;
};

static bool asks(struct question *question, const struct sn_function *function, unsigned depth);

/* Any ret at all, as a byte: a cheap no for nearly every function. */
static bool may_return_by_bytes(const struct sn_structure *structure,
				const struct sn_function *function)
{
	for (uint32_t i = 0; i < function->range_count; i++) {
		size_t length =
			function->ranges[i].end_link_addr - function->ranges[i].first_link_addr;
		size_t available;
		const uint8_t *bytes = sn_structure_bytes(
			structure, function->ranges[i].first_link_addr, &available);

		if (!bytes || available < length || memchr(bytes, 0xc3, length) ||
		    memchr(bytes, 0xc2, length))
			return true;
	}
	return false;
}

/* Does a jump or call that leaves for this address never come back? */
static bool target_never_returns(struct question *question, uint64_t link_addr, unsigned depth)
{
	int64_t index = sn_structure_find(question->structure, link_addr);
	const struct sn_function *target;

	if (index < 0)
		return false;
	target = &question->structure->functions[index];
	return target->link_addr == link_addr && asks(question, target, depth);
}

/* Walks all paths; true if none comes to a return. */
static bool all_paths_end(struct question *question, const struct sn_function *function,
			  unsigned depth)
{
	struct sn_map seen = { 0 };
	uint64_t pending[PENDING_MAX];
	size_t count = 0, steps = 0;
	bool ends = true;

	pending[count++] = function->link_addr;
	while (count && ends) {
		uint64_t addr = pending[--count];

		for (;;) {
			struct sn_instruction insn;
			size_t available;
			const uint8_t *bytes;
			bool is_new, goes_on = true;

			if (!function_holds(function, addr))
				break; /* fell out at the end: what was called did not come back */
			sn_map_put(&seen, addr, &is_new);
			if (!is_new)
				break;
			bytes = sn_structure_bytes(question->structure, addr, &available);
			if (++steps > STEPS_MAX || !bytes ||
			    !sn_instruction_decode(bytes, available, addr, &insn)) {
				ends = false;
				break;
			}
			switch (insn.flow) {
			case SN_FLOW_RETURN:
			case SN_FLOW_JUMP_INDIRECT:
				ends = false;
				break;
			case SN_FLOW_BRANCH:
			case SN_FLOW_JUMP:
				if (!function_holds(function, insn.target_link_addr))
					ends = target_never_returns(question, insn.target_link_addr,
								    depth + 1);
				else if (count < PENDING_MAX)
					pending[count++] = insn.target_link_addr;
				else
					ends = false;
				goes_on = insn.flow == SN_FLOW_BRANCH;
				break;
			case SN_FLOW_CALL:
				goes_on = !target_never_returns(question, insn.target_link_addr,
								depth + 1);
				break;
			case SN_FLOW_STOP:
				goes_on = false;
				break;
			default:
				break;
			}
			if (!ends || !goes_on)
				break;
			addr += insn.length;
		}
	}
	sn_map_free(&seen);
	return ends;
}

static bool asks(struct question *question, const struct sn_function *function, unsigned depth)
{
	uint64_t *verdict = sn_map_get(&question->structure->returns, function->index);
	bool never;

	if (verdict && *verdict == IN_HAND) {
		question->is_tainted = true;
		return false;
	}
	if (verdict && *verdict != UNKNOWN)
		return *verdict == NEVER_RETURNS;
	if (function->linkage_name && name_is_known(function->linkage_name)) {
		never = true;
	} else if (function->kind == SN_FUNCTION_PLT || function->size_bytes > BYTES_MAX ||
		   may_return_by_bytes(question->structure, function)) {
		never = false;
	} else if (depth >= DEPTH_MAX) {
		question->is_tainted = true;
		return false;
	} else {
		bool was_tainted = question->is_tainted;

		question->is_tainted = false;
		*sn_map_put(&question->structure->returns, function->index, NULL) = IN_HAND;
		never = all_paths_end(question, function, depth);
		*sn_map_put(&question->structure->returns, function->index, NULL) = UNKNOWN;
		if (question->is_tainted && !never)
			return false;
		/* "never" leaned only on callees that were taken to come back: it is certain */
		question->is_tainted = was_tainted;
	}
	*sn_map_put(&question->structure->returns, function->index, NULL) =
		never ? NEVER_RETURNS : RETURNS;
	return never;
}

bool sn_never_returns(struct sn_structure *structure, uint64_t link_addr)
{
	struct question question = { .structure = structure };

	return target_never_returns(&question, link_addr, 0);
}

/* Where loops access memory, as their tables say it, and which cannot have a copy that records. */
#include <string.h>

#include "rewrite/rewrite.h"

#include "../code/assembled.h"
#include "wire/accesses.h"
#include "wire/plan.h"

/* 8 bytes further an iteration, read behind the step */
ASSEMBLED("strided", "xor %eax, %eax\n"
		     "1: add $2, %rax\n"
		     "add -8(%rdi,%rax,4), %rcx\n"
		     "cmp %rsi, %rax\n"
		     "jb 1b\n"
		     "ret");
/* an index, then what it says: two groups, as the first changes the second's register */
ASSEMBLED("indexed", "xor %eax, %eax\n"
		     "1: movslq (%rdx,%rax,4), %r8\n"
		     "add (%rdi,%r8,8), %rcx\n"
		     "add $1, %rax\n"
		     "cmp %rsi, %rax\n"
		     "jne 1b\n"
		     "ret");
/* two ways around: no line; three accesses that nothing lies between */
ASSEMBLED("branched", "xor %eax, %eax\n"
		      "1: mov (%rdi,%rax,8), %rcx\n"
		      "mov %rcx, (%rdx,%rax,8)\n"
		      "incq 8(%rdx)\n"
		      "add $1, %rax\n"
		      "test %rcx, %rcx\n"
		      "je 1b\n"
		      "cmp %rsi, %rax\n"
		      "jne 1b\n"
		      "ret");
ASSEMBLED("calls_it", "push %rbx\n"
		      "mov %edi, %ebx\n"
		      "1: lea 4(%rbx), %rdi\n"
		      "call strided\n"
		      "sub $1, %ebx\n"
		      "jne 1b\n"
		      "pop %rbx\n"
		      "ret");
ASSEMBLED("repeats", "1: mov $9, %ecx\n"
		     "rep stosb\n"
		     "sub $1, %esi\n"
		     "jne 1b\n"
		     "ret");
ASSEMBLED("registers_only", "1: add $3, %eax\n"
			    "sub $1, %esi\n"
			    "jne 1b\n"
			    "ret");

static void check_refusal(const char *name, const char *want)
{
	struct assembled a = assembled_open(name);
	const char *why = sn_loop_recorder_refusal(a.structure, &a.function->loops[0]);

	CHECK_STRING(why ? why : "", want);
	assembled_close(&a);
}

TEST(what_cannot_be_recorded_is_refused)
{
	check_refusal("strided", "");
	check_refusal("branched", "");
	check_refusal("calls_it", "it calls functions, whose accesses would be missing");
	check_refusal("repeats", "it has a string instruction that repeats");
	check_refusal("registers_only", "it does not access memory");
}

struct tables {
	struct sn_text bytes;
	const struct sn_access_table *head;
	const struct sn_access_site *sites;
	const struct sn_access_group *groups;
	const struct sn_access_line *lines;
	const struct sn_access_member *members;
};

static void open_tables(const char *name, struct tables *out)
{
	struct assembled a = assembled_open(name);
	struct sn_rewriter *rewriter = sn_rewriter_new(a.image, a.structure);
	const struct sn_loop *loop = &a.function->loops[0];
	const char *why = NULL;
	struct sn_plan plan;

	*out = (struct tables){ 0 };
	CHECK_INT(sn_rewriter_plan(rewriter, &loop, 1, SN_REWRITER_RECORDER, &why, &out->bytes), 1);
	CHECK(!why);
	REQUIRE(sn_plan_read(out->bytes.chars, out->bytes.length, &plan));
	REQUIRE(plan.loops[0].recorder && plan.loops[0].table_bytes);
	out->head = (const void *)(plan.tables + plan.loops[0].table);
	out->sites = (const void *)(out->head + 1);
	out->groups = (const void *)(out->sites + out->head->site_count);
	out->lines = (const void *)(out->groups + out->head->group_count);
	out->members = (const void *)(out->lines + out->head->line_count);
	CHECK((const uint8_t *)(out->members + out->head->member_count) ==
	      plan.tables + plan.loops[0].table + plan.loops[0].table_bytes);
	sn_rewriter_free(rewriter);
	assembled_close(&a);
}

TEST(a_constant_step_makes_a_line)
{
	struct tables t;

	open_tables("strided", &t);
	CHECK_INT(t.head->site_count, 1);
	CHECK_INT(t.head->group_count, 0);
	REQUIRE(t.head->line_count == 1 && t.head->member_count == 1);
	CHECK_INT(t.sites[0].stride_bytes, 8);
	CHECK_INT(t.sites[0].size_bytes, 8);
	CHECK_INT(t.sites[0].kind, SN_ACCESS_READ);
	CHECK_INT(t.lines[0].step, 2);
	CHECK_INT(t.lines[0].first_count, 1);
	sn_text_free(&t.bytes);
}

TEST(what_was_loaded_tells_no_stride)
{
	struct tables t;

	open_tables("indexed", &t);
	CHECK_INT(t.head->site_count, 2);
	CHECK_INT(t.head->group_count, 1);
	REQUIRE(t.head->member_count == 2);
	CHECK_INT(t.members[0].is_group, 0);
	CHECK_INT(t.members[1].is_group, 1);
	CHECK_INT(t.sites[t.members[0].index].stride_bytes, 4);
	CHECK_INT(t.lines[0].first_count, 1);
	sn_text_free(&t.bytes);
}

TEST(several_ways_around_are_recorded_group_by_group)
{
	struct tables t;

	open_tables("branched", &t);
	CHECK_INT(t.head->line_count, 0);
	REQUIRE(t.head->group_count == 1 && t.groups[0].site_count == 3);
	CHECK_INT(t.sites[0].kind, SN_ACCESS_READ);
	CHECK_INT(t.sites[1].kind, SN_ACCESS_WRITE);
	CHECK_INT(t.sites[2].kind, SN_ACCESS_BOTH);
	sn_text_free(&t.bytes);
}

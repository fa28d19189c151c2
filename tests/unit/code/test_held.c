/* Which variable holds what a call returns, in programs that gcc, clang and gfortran compile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code/decode.h"
#include "code/held.h"
#include "harness/tap.h"

static const char c_source[] =
	"#include <stdlib.h>\n"
	"struct grid { long n; double *cells; };\n"
	"double *lasting;\n"
	"static double *kept;\n"
	"double *peek(void) { return kept; }\n"
	"__attribute__((noinline)) void use(void *p, int n) { volatile char *c = p; for (int i = 0; i < n; i++) c[i] = 1; }\n"
	"int to_global(int n) { lasting = malloc(n); if (!lasting) return 1; return 0; }\n"
	"int to_static(int n) { kept = malloc(n); if (!kept) exit(1); use(kept, n); return 0; }\n"
	"int to_local(int n) { char *mine = malloc(n); if (!mine) return 1; use(mine, n); "
	"use(mine, n); free(mine); return 0; }\n"
	"int to_member(struct grid *g, int n) { g->cells = malloc(n); return g->cells == 0; }\n"
	"__attribute__((noinline)) void *wrapped(int n) { void *p = malloc(n); if (!p) abort(); "
	"return p; }\n"
	"int to_wrapper(int n) { char *outer = wrapped(n); use(outer, n); use(outer, n); free(outer); "
	"return 0; }\n"
	"static inline __attribute__((always_inline)) void *inlined(int n) { void *p = malloc(n); if "
	"(!p) abort(); return p; }\n"
	"int to_caller(int n) { char *outer = inlined(n); use(outer, n); use(outer, n); free(outer); "
	"return 0; }\n"
	"struct grid whole;\n"
	"int to_whole(int n) { whole.cells = malloc(n); return whole.cells == 0; }\n"
	"int to_part(int n) { struct { long n; struct grid in; } mine; mine.in.cells = malloc(n); "
	"use(&mine, 8); return mine.in.cells == 0; }\n"
	"int to_nobody(int n) { use(malloc(n), n); return 0; }\n"
	"int main(void) { struct grid g; return to_global(8) + to_static(8) + to_local(8) + "
	"to_member(&g, 8) + to_wrapper(8) + to_caller(8) + to_whole(8) + to_part(8) + to_nobody(8); }\n";

static const char fortran_source[] = "module fields\n"
				     "  real(8), allocatable :: unew(:, :)\n"
				     "  type both\n"
				     "    real(8), allocatable :: old(:), new(:)\n"
				     "  end type\n"
				     "  type(both) :: pair\n"
				     "end module\n"
				     "subroutine to_module(n)\n"
				     "  use fields\n"
				     "  integer :: n\n"
				     "  allocate(unew(n, n))\n"
				     "  unew = 1\n"
				     "end subroutine\n"
				     "subroutine to_type(n)\n"
				     "  use fields\n"
				     "  integer :: n\n"
				     "  allocate(pair%new(n))\n"
				     "  pair%new = 1\n"
				     "end subroutine\n"
				     "program test\n"
				     "  use fields\n"
				     "  call to_module(5)\n"
				     "  call to_type(5)\n"
				     "  print *, unew(1, 1)\n"
				     "end program\n";

struct compiled {
	char folder[32];
	struct sn_image *image;
	struct sn_variables *variables;
	struct sn_arena arena;
};

static void compile(struct compiled *c, const char *compiler, const char *suffix,
		    const char *source)
{
	char path[64], command[256];
	struct sn_error err;
	FILE *out;

	*c = (struct compiled){ .folder = "/tmp/sonde-held-XXXXXX" };
	snprintf(command, sizeof(command), "command -v %s > /dev/null 2>&1",
		 compiler[0] == 'g' && compiler[1] == 'f' ? "gfortran"
		 : compiler[0] == 'g'			  ? "gcc"
							  : "clang");
	if (system(command) != 0)
		SKIP("the compiler is not there");
	REQUIRE(mkdtemp(c->folder));
	snprintf(path, sizeof(path), "%s/a.%s", c->folder, suffix);
	out = fopen(path, "w");
	REQUIRE(out);
	fputs(source, out);
	fclose(out);
	snprintf(command, sizeof(command), "cd %s && %s -g a.%s -o a.out 2>errors", c->folder,
		 compiler, suffix);
	REQUIRE(system(command) == 0);
	snprintf(path, sizeof(path), "%s/a.out", c->folder);
	REQUIRE(sn_image_open(path, NULL, &c->image, &err) == SN_OK);
	REQUIRE(sn_variables_read(c->image, &c->variables, &err) == SN_OK);
}

static void clean(struct compiled *c)
{
	char command[64];

	sn_variables_free(c->variables);
	sn_image_free(c->image);
	sn_arena_free(&c->arena);
	snprintf(command, sizeof(command), "rm -r %s", c->folder);
	CHECK(system(command) == 0);
}

static bool calls_it(struct compiled *c, const struct sn_instruction *insn, const char *callee)
{
	const struct sn_symbol *symbol =
		insn->flow == SN_FLOW_CALL ? sn_image_symbol_at(c->image, insn->target_link_addr)
					   : NULL;

	return symbol && symbol->name && strstr(symbol->name, callee);
}

/* Behind the function's first call of the callee. */
static struct sn_held held_in(struct compiled *c, const char *function, const char *callee)
{
	const struct sn_symbol *symbol = sn_image_symbol_named(c->image, function);
	struct sn_instruction insn;

	REQUIRE(symbol);
	for (uint64_t pc = symbol->link_addr; pc < symbol->link_addr + symbol->size_bytes;
	     pc += insn.length) {
		size_t available;
		const uint8_t *bytes = sn_image_bytes(c->image, pc, &available);

		REQUIRE(bytes && sn_instruction_decode(bytes, available, pc, &insn));
		if (calls_it(c, &insn, callee))
			return sn_held_find(c->image, c->variables, pc + insn.length, &c->arena);
	}
	printf("# %s does not call %s\n", function, callee);
	CHECK(false);
	tap_end_test();
}

static void check(struct compiled *c, const char *function, const char *callee, const char *name)
{
	struct sn_held held = held_in(c, function, callee);

	if (strcmp(held.name ? held.name : "", name) != 0)
		printf("# in %s\n", function);
	CHECK_STRING(held.name ? held.name : "", name);
}

static void check_c(const char *compiler)
{
	struct compiled c;

	compile(&c, compiler, "c", c_source);
	check(&c, "to_global", "malloc", "lasting");
	check(&c, "to_static", "malloc", "kept");
	check(&c, "to_local", "malloc", "mine");
	check(&c, "to_member", "malloc", "g->cells");
	check(&c, "to_wrapper", "wrapped", "outer");
	check(&c, "to_caller", "malloc", "outer");
	check(&c, "to_whole", "malloc", "whole.cells");
	check(&c, "to_part", "malloc", "mine.in.cells");
	check(&c, "to_nobody", "malloc", "");
	CHECK(held_in(&c, "wrapped", "malloc").is_returned);
	CHECK(!held_in(&c, "to_local", "malloc").is_returned);
	clean(&c);
}

TEST(gcc_unoptimised)
{
	check_c("gcc -O0");
}

TEST(gcc_optimised)
{
	check_c("gcc -O2");
}

TEST(clang_unoptimised)
{
	check_c("clang -O0");
}

TEST(clang_optimised)
{
	check_c("clang -O2");
}

TEST(descriptors_of_fortran)
{
	struct compiled c;

	compile(&c, "gfortran -O2", "f90", fortran_source);
	check(&c, "to_module_", "malloc", "unew");
	check(&c, "to_type_", "malloc", "pair%new");
	clean(&c);
	compile(&c, "gfortran -O0", "f90", fortran_source);
	check(&c, "to_module_", "malloc", "unew");
	check(&c, "to_type_", "malloc", "pair%new");
	clean(&c);
}

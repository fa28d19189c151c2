/* Variables of programs that gcc, clang and gfortran compile: names, types, sizes and places. */
#include "code/variables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "code/image.h"
#include "harness/tap.h"

static const char c_source[] =
	"struct node { struct node *next; double value[4]; };\n"
	"double grid[512][256];\n"
	"static struct node pool[100];\n"
	"const char *names[3];\n"
	"int count = 3; extern int elsewhere;\n"
	"\n"
	"static float tail[7] = { 1 };\n"
	"double sum(const double *v, int n)\n"
	"{\n"
	"	static long calls;\n"
	"	double local[8] = { 0 };\n"
	"	calls++;\n"
	"	for (int i = 0; i < n; i++) local[i & 7] += v[i];\n"
	"	return local[0] + local[3] + (double)calls + tail[n & 3];\n"
	"}\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	(void)argv; pool[argc].value[1] = grid[argc][2];\n"
	"	return (int)sum(&grid[0][0], count) + (names[0] != 0) + (pool[0].next != 0);\n"
	"}\n";

static const char fortran_source[] = "module fields\n"
				     "  implicit none\n"
				     "  real(8) :: pressure(100, 50)\n"
				     "  integer :: steps = 4\n"
				     "end module\n"
				     "subroutine work(n)\n"
				     "  use fields\n"
				     "  implicit none\n"
				     "  integer :: n, i\n"
				     "  real(8) :: u(514,514), v(514,514)\n"
				     "  logical :: done(3)\n"
				     "  common /velocity/ u, v\n"
				     "  do i = 1, n\n"
				     "    u(i, 1) = v(1, i) + pressure(i, 1)\n"
				     "  end do\n"
				     "  done = .false.\n"
				     "  print *, u(1, 1), done(1)\n"
				     "end subroutine\n"
				     "program test\n"
				     "  call work(5)\n"
				     "end program\n";

static bool has(const char *compiler)
{
	char command[128];

	snprintf(command, sizeof(command), "command -v %s > /dev/null 2>&1", compiler);
	return system(command) == 0;
}

/* Compiles a source into a fresh file and reads its variables. */
static struct sn_variables *compiled(const char *compiler, const char *suffix, const char *source)
{
	char folder[] = "/tmp/sonde-variables-XXXXXX", path[64], command[256];
	struct sn_variables *variables = NULL;
	struct sn_image *image = NULL;
	struct sn_error err;
	FILE *out;

	if (!has(compiler))
		SKIP("the compiler is not there");
	REQUIRE(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/a.%s", folder, suffix);
	out = fopen(path, "w");
	REQUIRE(out);
	fputs(source, out);
	fclose(out);
	snprintf(command, sizeof(command), "cd %s && %s -g -O1 a.%s -o a.out 2>errors", folder,
		 compiler, suffix);
	REQUIRE(system(command) == 0);
	snprintf(path, sizeof(path), "%s/a.out", folder);
	REQUIRE(sn_image_open(path, NULL, &image, &err) == SN_OK);
	if (sn_variables_read(image, &variables, &err) != SN_OK)
		CHECK_STRING(err.sentence, "");
	sn_image_free(image);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	CHECK(system(command) == 0);
	REQUIRE(variables);
	return variables;
}

static const struct sn_variable *named(const struct sn_variables *variables, const char *name)
{
	for (size_t i = 0; i < variables->items.count; i++)
		if (!strcmp(variables->items.items[i].name, name))
			return &variables->items.items[i];
	printf("# there is no variable %s\n", name);
	CHECK(false);
	tap_end_test();
}

static void check_c(const char *compiler)
{
	struct sn_variables *vs = compiled(compiler, "c", c_source);
	const struct sn_variable *v = named(vs, "grid");

	CHECK_STRING(v->type, "double [512][256]");
	CHECK_INT(v->scope, SN_VARIABLE_GLOBAL);
	CHECK_INT(v->kind, SN_VARIABLE_REAL);
	CHECK_INT(v->size_bytes, 512 * 256 * 8);
	CHECK_INT(v->element_count, 512 * 256);
	CHECK_INT(v->rank, 2);
	CHECK_INT(v->extents[1], 256);
	CHECK_INT(v->line, 2);
	CHECK(v->has_link_addr);
	CHECK(sn_variables_at(vs, v->link_addr + 100) == v);
	CHECK(sn_variables_at(vs, v->link_addr + v->size_bytes) != v);
	v = named(vs, "pool");
	CHECK_STRING(v->type, "struct node [100]");
	CHECK_INT(v->scope, SN_VARIABLE_STATIC);
	CHECK_INT(v->kind, SN_VARIABLE_STRUCTURE);
	CHECK_INT(v->element_bytes, 40);
	CHECK_STRING(named(vs, "names")->type, "char * [3]");
	CHECK_INT(named(vs, "names")->kind, SN_VARIABLE_POINTER);
	CHECK_INT(named(vs, "tail")->element_count, 7);
	CHECK_INT(named(vs, "count")->size_bytes, 4);
	CHECK_INT(named(vs, "calls")->scope, SN_VARIABLE_STATIC);
	CHECK_STRING(named(vs, "calls")->function, "sum");
	CHECK_INT(named(vs, "local")->scope, SN_VARIABLE_LOCAL);
	CHECK_INT(named(vs, "local")->size_bytes, 64);
	CHECK(named(vs, "local")->function_link_addr != 0);
	CHECK_INT(named(vs, "n")->scope, SN_VARIABLE_PARAMETER);
	CHECK_STRING(named(vs, "v")->type, "double *");
	sn_variables_free(vs);
}

TEST(a_program_of_gcc)
{
	check_c("gcc");
}

TEST(a_program_of_clang)
{
	check_c("clang");
}

TEST(a_program_of_gcc_with_dwarf_4)
{
	check_c("gcc -gdwarf-4");
}

TEST(a_program_of_gfortran)
{
	struct sn_variables *vs = compiled("gfortran", "f90", fortran_source);
	const struct sn_variable *u = named(vs, "u"), *v = named(vs, "v"),
				 *p = named(vs, "pressure");

	CHECK_INT(u->scope, SN_VARIABLE_COMMON);
	CHECK_STRING(u->container, "velocity");
	CHECK_INT(u->size_bytes, 514 * 514 * 8);
	CHECK_INT(v->link_addr - u->link_addr, 514 * 514 * 8);
	CHECK(sn_variables_at(vs, v->link_addr + 8) == v);
	CHECK_INT(p->scope, SN_VARIABLE_MODULE);
	CHECK_STRING(p->container, "fields");
	CHECK_INT(p->element_count, 5000);
	CHECK_INT(p->rank, 2);
	CHECK_INT(p->kind, SN_VARIABLE_REAL);
	CHECK_INT(named(vs, "steps")->scope, SN_VARIABLE_MODULE);
	CHECK_INT(named(vs, "done")->kind, SN_VARIABLE_LOGICAL);
	CHECK_INT(named(vs, "done")->element_count, 3);
	sn_variables_free(vs);
}

TEST(without_debug_information_there_are_none)
{
	struct sn_variables *variables = NULL;
	struct sn_image_options options = { .only_this_file = true };
	struct sn_image *image = NULL;
	struct sn_error err;

	if (sn_image_open("/bin/true", &options, &image, &err) != SN_OK)
		SKIP("no /bin/true");
	CHECK(sn_variables_read(image, &variables, &err) == SN_ERR_NO_DATA);
	CHECK(strstr(err.sentence, "-g") != NULL);
	sn_image_free(image);
}

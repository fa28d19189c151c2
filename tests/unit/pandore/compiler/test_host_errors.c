/* What C compilers and linkers say about calls of things that are nowhere. */
#include "pandore/compiler/host_errors.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "harness/tap.h"

static const char TEXT[] = "dist myphase() {}\nint main(void)\n{\n\tmyphaze(1); myphaze_2();\n"
			   "\tshow(2);\n}\n";
static const char *const PHASES[] = { "other", "myphase" };
static struct sn_arena arena;
static struct sn_pnd_diags diags;

/* All findings as lines "LINE:COLUMN CODE TEXT", and whether that explains everything. */
static const char *told(const char *said, bool *is_explained)
{
	static struct sn_text lines;

	diags = (struct sn_pnd_diags){ .arena = &arena };
	sn_vec_push(&diags.files, ((struct sn_pnd_file){ "dir/a.pnd", TEXT, sizeof(TEXT) - 1 }));
	*is_explained = sn_pnd_explain_host_errors(&diags, said, PHASES, 2);
	sn_text_clear(&lines);
	sn_text_add(&lines, "");
	for (size_t i = 0; i < diags.items.count; i++) {
		const struct sn_pnd_diag *d = &diags.items.items[i];

		sn_text_addf(&lines, "%d:%d P%02d %.30s\n", d->pos.line, d->pos.column, d->code,
			     d->text);
	}
	return lines.chars;
}

TEST(a_linker_that_names_lines)
{
	bool is_explained;

	CHECK_STRING(told("dir/a.pnd: In function 'pd_host_main':\n"
			  "/usr/bin/ld: /tmp/x.o: in function `pd_host_main':\n"
			  "/home/u/dir/a.pnd:4: undefined reference to `myphaze'\n"
			  "/usr/bin/ld: /home/u/dir/a.pnd:5: undefined reference to `show'\n"
			  "collect2: error: ld returned 1 exit status\n",
			  &is_explained),
		     "4:2 P12 'myphaze' is neither a phase n\n"
		     "5:2 P12 'show' is neither a phase nor \n");
	CHECK(is_explained);
	CHECK(strstr(diags.items.items[0].text, "did you mean the phase 'myphase'?"));
	CHECK(!strstr(diags.items.items[1].text, "did you mean"));
}

TEST(a_linker_that_names_none_but_the_compiler_saw_the_call)
{
	bool is_explained;

	CHECK_STRING(told("dir/a.pnd:5:2: warning: call to undeclared function 'show'; ISO C99\n"
			  "ld.lld: error: x\n",
			  &is_explained),
		     "");
	CHECK(!is_explained);
	CHECK_STRING(told("dir/a.pnd:5:2: warning: implicit declaration of function 'show'\n"
			  "x.o: in function `f': (.text+0x5): undefined reference to `show'\n"
			  "clang: error: linker command failed with exit code 1\n",
			  &is_explained),
		     "5:2 P12 'show' is neither a phase nor \n");
	CHECK(is_explained);
}

TEST(other_errors_are_left_to_be_shown)
{
	bool is_explained;

	told("dir/a.pnd:4:1: error: 'x' undeclared (first use in this function)\n", &is_explained);
	CHECK(!is_explained);
	told("", &is_explained);
	CHECK(!is_explained);
	told("dir/a.pnd:5: undefined reference to `show'\ndir/a.pnd:4:1: error: 'x' undeclared\n",
	     &is_explained);
	CHECK(!is_explained);
	/* a place that is not in the source, a name that is not on its line, no name */
	told("dir/a.pnd:99: undefined reference to `show'\n", &is_explained);
	CHECK(!is_explained);
	told("dir/a.pnd:4: undefined reference to `show'\n", &is_explained);
	CHECK(!is_explained);
	told("dir/a.pnd:4: undefined reference to ", &is_explained);
	CHECK(!is_explained);
	told("otherdir/a.pnd:5: undefined reference to `show'\n", &is_explained);
	CHECK(!is_explained);
}

/* Files that name hosts, as launchers have them. */
#include "search/online/host_list.h"

#include <string.h>

#include "harness/tap.h"

static sn_status read_text(const char *text, sn_strings *out, struct sn_error *err)
{
	return sn_host_list_read_memory("f", text, strlen(text), out, err);
}

TEST(names_are_the_first_words)
{
	sn_strings list = { 0 };
	struct sn_error err;

	REQUIRE(read_text("# ours\n\n a slots=4\nme@b.site.org:8\r\n\tc#d\na max-slots=2\nd", &list,
			  &err) == SN_OK);
	CHECK_INT(list.count, 4);
	CHECK_STRING(list.items[0], "a");
	CHECK_STRING(list.items[1], "b.site.org");
	CHECK_STRING(list.items[2], "c");
	CHECK_STRING(list.items[3], "d");
	sn_vec_free_owned(&list);
}

TEST(a_file_without_hosts_is_a_mistake)
{
	sn_strings list = { 0 };
	struct sn_error err;

	CHECK_INT(read_text("", &list, &err), SN_ERR_USAGE);
	CHECK_INT(read_text("\n# none\n  \n@\n:4\n", &list, &err), SN_ERR_USAGE);
	CHECK(strstr(err.sentence, "names no host"));
	CHECK(sn_host_list_read("/nowhere/hosts", &list, &err) != SN_OK &&
	      strstr(err.sentence, "/nowhere/hosts"));
	sn_vec_free_owned(&list);
}

TEST(a_name_without_its_domain_is_the_same_host)
{
	CHECK(sn_host_is("a", "a") && sn_host_is("a", "a.site.org") &&
	      sn_host_is("a.site.org", "a"));
	CHECK(!sn_host_is("a", "ab") && !sn_host_is("a.b", "a.b.c") && !sn_host_is("", "a") &&
	      !sn_host_is("a.x", "a.y"));
}

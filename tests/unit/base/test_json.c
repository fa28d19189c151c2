#include "base/json.h"

#include <math.h>
#include <stdlib.h>

#include "harness/tap.h"

TEST(values_nest_with_commas_where_they_belong)
{
	char *chars = NULL;
	size_t length;
	FILE *out = open_memstream(&chars, &length);
	struct sn_json json = { .out = out };

	sn_json_object(&json);
	sn_json_member_int(&json, "a", -3);
	sn_json_key(&json, "b");
	sn_json_array(&json);
	sn_json_double(&json, 0.1);
	sn_json_double(&json, NAN);
	sn_json_string(&json, NULL);
	sn_json_object(&json);
	sn_json_close(&json);
	sn_json_close(&json);
	sn_json_member_bool(&json, "c", true);
	sn_json_close(&json);
	sn_json_finish(&json);
	fclose(out);
	CHECK_STRING(chars, "{\"a\":-3,\"b\":[0.1,null,null,{}],\"c\":true}\n");
	free(chars);
}

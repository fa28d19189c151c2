/* Chrome's trace events: a slice for what successive samples share. */
#include "exchange/exported.h"

TEST(chrome_has_a_slice_for_what_successive_samples_share)
{
	check_exported(
		"chrome", &(struct sn_export_options){ 0 },
		"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[{\"ph\":\"M\",\"pid\":100,\"tid\":100,"
		"\"ts\":0,\"name\":\"process_name\",\"args\":{\"name\":\"/home/u/app\"}},"
		"{\"ph\":\"M\",\"pid\":100,\"tid\":100,\"ts\":0,\"name\":\"thread_name\","
		"\"args\":{\"name\":\"app\"}},"
		"{\"ph\":\"B\",\"pid\":100,\"tid\":100,\"ts\":0,\"name\":\"main\",\"cat\":\"function\"},"
		"{\"ph\":\"B\",\"pid\":100,\"tid\":100,\"ts\":0,\"name\":\"kernel\",\"cat\":\"function\"},"
		"{\"ph\":\"E\",\"pid\":100,\"tid\":100,\"ts\":2000},"
		"{\"ph\":\"B\",\"pid\":100,\"tid\":100,\"ts\":2000,\"name\":\"leaf\",\"cat\":\"function\"},"
		"{\"ph\":\"B\",\"pid\":100,\"tid\":100,\"ts\":3000,\"name\":\"malloc\","
		"\"cat\":\"function\"},{\"ph\":\"E\",\"pid\":100,\"tid\":100,\"ts\":9000},"
		"{\"ph\":\"E\",\"pid\":100,\"tid\":100,\"ts\":9000},"
		"{\"ph\":\"E\",\"pid\":100,\"tid\":100,\"ts\":9000}]}\n");
}

TEST(chrome_has_waits_as_slices_with_their_length)
{
	check_exported(
		"chrome", &(struct sn_export_options){ .with_blocked = true },
		"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[{\"ph\":\"M\",\"pid\":100,\"tid\":100,"
		"\"ts\":0,\"name\":\"process_name\",\"args\":{\"name\":\"/home/u/app\"}},"
		"{\"ph\":\"M\",\"pid\":100,\"tid\":100,\"ts\":0,\"name\":\"thread_name\","
		"\"args\":{\"name\":\"app\"}},"
		"{\"ph\":\"B\",\"pid\":100,\"tid\":100,\"ts\":0,\"name\":\"main\",\"cat\":\"function\"},"
		"{\"ph\":\"B\",\"pid\":100,\"tid\":100,\"ts\":0,\"name\":\"kernel\",\"cat\":\"function\"},"
		"{\"ph\":\"E\",\"pid\":100,\"tid\":100,\"ts\":2000},"
		"{\"ph\":\"B\",\"pid\":100,\"tid\":100,\"ts\":2000,\"name\":\"leaf\",\"cat\":\"function\"},"
		"{\"ph\":\"B\",\"pid\":100,\"tid\":100,\"ts\":3000,\"name\":\"malloc\","
		"\"cat\":\"function\"},{\"ph\":\"E\",\"pid\":100,\"tid\":100,\"ts\":9000},"
		"{\"ph\":\"E\",\"pid\":100,\"tid\":100,\"ts\":9000},"
		"{\"ph\":\"E\",\"pid\":100,\"tid\":100,\"ts\":9000},"
		"{\"ph\":\"X\",\"pid\":100,\"tid\":100,\"ts\":20000,\"dur\":5000,\"name\":\"io\","
		"\"cat\":\"blocked\"}]}\n");
}

/* speedscope's JSON: frames once, samples of each thread by frame numbers. */
#include "exchange/exported.h"

TEST(speedscope_has_frames_once_and_samples_in_time)
{
	check_exported(
		"speedscope", &(struct sn_export_options){ 0 },
		"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
		"\"exporter\":\"sonde\",\"name\":\"sonde.app.1\",\"activeProfileIndex\":0,"
		"\"shared\":{\"frames\":[{\"name\":\"main\",\"file\":\"/src/app.c\",\"line\":8},"
		"{\"name\":\"kernel\",\"file\":\"/src/kernel.h\",\"line\":1},"
		"{\"name\":\"leaf\",\"file\":\"/src/leaf.c\",\"line\":3},{\"name\":\"malloc\"},"
		"{\"name\":\"write\"},{\"name\":\"[no stack]\"},"
		"{\"name\":\"loop app.c:10-20\",\"file\":\"/src/app.c\",\"line\":10},"
		"{\"name\":\"loop app.c:12-15\",\"file\":\"/src/app.c\",\"line\":12},"
		"{\"name\":\"loop kernel.h:3-5\",\"file\":\"/src/kernel.h\",\"line\":3},"
		"{\"name\":\"loop leaf.c:5-9\",\"file\":\"/src/leaf.c\",\"line\":5}]},"
		"\"profiles\":[{\"type\":\"sampled\",\"name\":\"app 100 (process 0)\","
		"\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":9000000,\"samples\":[[0,1],"
		"[0,1],[0,2],[0,2,3],[0,2,3],[0,2,3]],"
		"\"weights\":[1000000,1000000,1000000,2000000,2000000,2000000]}]}\n");
}

TEST(speedscope_sums_blocked_time_apart)
{
	check_exported(
		"speedscope", &(struct sn_export_options){ .with_blocked = true },
		"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
		"\"exporter\":\"sonde\",\"name\":\"sonde.app.1\",\"activeProfileIndex\":0,"
		"\"shared\":{\"frames\":[{\"name\":\"main\",\"file\":\"/src/app.c\",\"line\":8},"
		"{\"name\":\"kernel\",\"file\":\"/src/kernel.h\",\"line\":1},"
		"{\"name\":\"leaf\",\"file\":\"/src/leaf.c\",\"line\":3},{\"name\":\"malloc\"},"
		"{\"name\":\"write\"},{\"name\":\"[no stack]\"},"
		"{\"name\":\"loop app.c:10-20\",\"file\":\"/src/app.c\",\"line\":10},"
		"{\"name\":\"loop app.c:12-15\",\"file\":\"/src/app.c\",\"line\":12},"
		"{\"name\":\"loop kernel.h:3-5\",\"file\":\"/src/kernel.h\",\"line\":3},"
		"{\"name\":\"loop leaf.c:5-9\",\"file\":\"/src/leaf.c\",\"line\":5}]},"
		"\"profiles\":[{\"type\":\"sampled\",\"name\":\"app 100 (process 0)\","
		"\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":9000000,\"samples\":[[0,1],"
		"[0,1],[0,2],[0,2,3],[0,2,3],[0,2,3]],"
		"\"weights\":[1000000,1000000,1000000,2000000,2000000,2000000]},"
		"{\"type\":\"sampled\",\"name\":\"blocked time of all threads (summed)\","
		"\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":5000000,\"samples\":[[0,"
		"4]],\"weights\":[5000000]}]}\n");
}

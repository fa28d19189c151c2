/**
 * Makes a page that compares, whose truth is known: four runs a side of eight functions, one of
 * them twice as slow in B, one gone, one new, with names that try to break out of markup.
 *
 *	make_compare FILE
 */
#include <stdio.h>
#include <string.h>

#include "base/stats.h"
#include "report/html/compare.h"

enum { RUNS = 4, FUNCTIONS = 8 };

static const char *const names[FUNCTIONS] = {
	"solve",
	"</script><script>document.title='pwned'</script>",
	"turn\xe2\x80\xaeround",
	"steady",
	"only_in_a",
	"only_in_b",
	"tiny",
	"ns::Klass<int, std::vector<int>>::method(int) const",
};

static double seconds_of(int function, int side, struct sn_random *dice)
{
	static const double base[FUNCTIONS] = { 1, 0.5, 0.3, 2, 0.4, 0.6, 0.001, 0.7 };
	double noise = 1 + 0.01 * (sn_random_unit(dice) - 0.5);

	if ((function == 4 && side == 1) || (function == 5 && side == 0))
		return 0;
	return base[function] * noise * (function == 0 && side == 1 ? 2 : 1);
}

static void fill(struct sn_compare_run *run, int side, struct sn_random *dice)
{
	double total = 0;

	run->name = side ? "sonde.new.1" : "sonde.<old>.1";
	run->arguments = "./app '<b>bold</b>'";
	run->started_realtime_ns = 1760000000000000000;
	run->samples = 6000;
	for (int f = 0; f < FUNCTIONS; f++) {
		struct sn_compare_entry entry = { .kind = SN_COMPARE_FUNCTION,
						  .module = "",
						  .function = names[f],
						  .name = names[f],
						  .cpu_s = seconds_of(f, side, dice) };

		entry.share = entry.cpu_s / 5.5;
		entry.deviation_s = entry.cpu_s * 0.02;
		total += entry.cpu_s;
		if (entry.cpu_s > 0)
			sn_vec_push(&run->entries, entry);
	}
	sn_vec_push(&run->entries, (struct sn_compare_entry){ .kind = SN_COMPARE_LOOP,
							      .module = "",
							      .function = "solve",
							      .name = "jacobi.c:4-9",
							      .file = "jacobi.c",
							      .line_first = 4,
							      .line_last = 9,
							      .depth = 1,
							      .share = 0.3,
							      .cpu_s = side ? 1.9 : 0.9 });
	sn_vec_push(&run->entries, (struct sn_compare_entry){ .kind = SN_COMPARE_TOTAL,
							      .module = "",
							      .function = "cpu",
							      .name = "CPU",
							      .share = 1,
							      .cpu_s = total });
}

static void fill_paths(struct sn_compare_paths *paths, const struct sn_comparison *comparison)
{
	struct sn_compare_path root = { .parent = UINT32_MAX };

	sn_vec_push(&paths->names, (struct sn_compare_path_name){ "main", "app" });
	sn_vec_push(&paths->paths, root);
	for (size_t i = 0; i < comparison->rows.count; i++) {
		const struct sn_compare_row *row = &comparison->rows.items[i];
		struct sn_compare_path path = { .name = (uint32_t)paths->names.count,
						.cpu_ns = { row->a_cpu_s * 1e9,
							    row->b_cpu_s * 1e9 } };

		if (row->entry.kind != SN_COMPARE_FUNCTION)
			continue;
		sn_vec_push(&paths->names, (struct sn_compare_path_name){ row->entry.name, "app" });
		sn_vec_push(&paths->paths, path);
		for (int side = 0; side < 2; side++)
			paths->paths.items[0].cpu_ns[side] += path.cpu_ns[side];
	}
}

int main(int argc, char **argv)
{
	struct sn_compare_run runs[2][RUNS] = { 0 };
	struct sn_compare_paths paths = { 0 };
	struct sn_compare_page page = { .paths = &paths, .version = "0.1.0" };
	struct sn_random dice;
	struct sn_comparison *comparison;
	struct sn_error err = { 0 };
	sn_status status;

	if (argc != 2) {
		fprintf(stderr, "usage: make_compare FILE\n");
		return 2;
	}
	sn_random_seed(&dice, 7);
	for (int side = 0; side < 2; side++) {
		for (int r = 0; r < RUNS; r++)
			fill(&runs[side][r], side, &dice);
		page.sides[side] = (struct sn_compare_side){ runs[side], RUNS };
	}
	comparison = sn_compare(runs[0], RUNS, runs[1], RUNS, NULL);
	fill_paths(&paths, comparison);
	page.comparison = comparison;
	status = sn_report_write_compare(&page, argv[1], false, &err);
	if (status != SN_OK)
		fprintf(stderr, "%s\n", err.sentence);
	sn_comparison_free(comparison);
	sn_compare_paths_free(&paths);
	for (int side = 0; side < 2; side++)
		for (int r = 0; r < RUNS; r++)
			sn_compare_run_free(&runs[side][r]);
	return status == SN_OK ? 0 : 1;
}

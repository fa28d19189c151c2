/* sonde scalability: what scales, what does not, and where efficiency ends. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "campaign/scaling/table.h"
#include "campaign/scaling/words.h"
#include "cli/command.h"

/* ---- JSON ---- */

static void fit_write(struct sn_json *json, const struct sn_scaling_fit *fit)
{
	sn_json_object(json);
	sn_json_member_string(json, "kind", sn_scaling_kind_name(fit->kind));
	sn_json_member_string(json, "name", fit->name);
	sn_json_member_string(json, "loop", fit->loop);
	sn_json_member_string(json, "series", fit->series);
	sn_scaling_write_law(&fit->fit, json);
	sn_json_close(json);
}

static const char *reference_of(const struct sn_scaling_campaign *s)
{
	return s->configurations[s->scaling->rows.items[0].reference].name;
}

static void sentences_write(struct sn_json *json, const char *key,
			    const struct sn_scaling_campaign *s, sn_scaling_sentence_adder *add)
{
	struct sn_text text = { 0 };
	size_t at = 0;

	sn_json_key(json, key);
	sn_json_array(json);
	for (; add(s->scaling, s->configurations, &at, &text); sn_text_clear(&text))
		sn_json_string(json, text.chars);
	sn_json_close(json);
	sn_text_free(&text);
}

static void extra_write(struct sn_json *json, void *context)
{
	const struct sn_scaling_campaign *s = context;

	sn_json_member_string(json, "campaign", sn_base_name(s->campaign->path));
	sn_json_member_string(json, "mode", s->scaling->is_weak ? "weak" : "strong");
	sn_json_member_string(json, "reference", reference_of(s));
	sentences_write(json, "answers", s, sn_scaling_add_answer);
	sentences_write(json, "warnings", s, sn_scaling_add_warning);
	sn_json_key(json, "fits");
	sn_json_array(json);
	for (size_t i = 0; i < s->scaling->fits.count; i++)
		fit_write(json, &s->scaling->fits.items[i]);
	sn_json_close(json);
}

/* ---- text ---- */

static void lost_print(const struct sn_scaling_campaign *s, const struct sn_scaling_row *row)
{
	printf("  %-24s n %-4.0f load balance %.2f x communication %.2f x computation %.2f; of workers' "
	       "time %.0f %% spun, %.0f %% blocked or not there, %.0f %% waited for a CPU, %.0f %% "
	       "system\n",
	       s->configurations[row->configuration].name, row->workers, row->load_balance,
	       row->communication, row->computation, 100 * row->spin_share,
	       100 * row->blocked_share, 100 * row->wait_cpu_share, 100 * row->system_share);
}

static void fit_print(const struct sn_scaling *scaling, const struct sn_scaling_fit *fit)
{
	const char *series = sn_scaling_law_series(scaling, fit);
	struct sn_text law = { 0 };

	sn_scaling_add_law(&fit->fit, &law);
	printf("  %s%s%s: %s\n", fit->name, series ? ", " : "", series ? series : "", law.chars);
	sn_text_free(&law);
}

static void sentences_print(const struct sn_scaling_campaign *s)
{
	struct sn_text text = { 0 };
	size_t at = 0;

	for (; sn_scaling_add_answer(s->scaling, s->configurations, &at, &text);
	     sn_text_clear(&text))
		printf("%s\n", text.chars);
	at = 0;
	for (; sn_scaling_add_warning(s->scaling, s->configurations, &at, &text);
	     sn_text_clear(&text))
		printf("Careful: %s\n", text.chars);
	sn_text_free(&text);
}

static void head_print(const struct sn_scaling_campaign *s)
{
	const struct sn_scaling *scaling = s->scaling;
	struct sn_scaling_laws laws;
	struct sn_text left_out = { 0 };

	printf("%s: %s scaling, %zu runs", sn_campaign_given_path(s->campaign),
	       scaling->is_weak ? "weak" : "strong", s->member_count);
	if (sn_scaling_is_flat(scaling)) {
		putchar('\n');
		sentences_print(s);
		putchar('\n');
		return;
	}
	printf(", against '%s'\n", reference_of(s));
	sentences_print(s);
	printf("\nThe application's efficiency:\n");
	for (size_t i = 0; i < scaling->rows.count; i++)
		if (scaling->rows.items[i].kind == SN_SCALING_APPLICATION)
			lost_print(s, &scaling->rows.items[i]);
	printf("\nLaws over the number of workers:\n");
	sn_scaling_choose_laws(scaling, &laws);
	for (size_t i = 0; i < laws.count; i++)
		fit_print(scaling, laws.items[i]);
	sn_scaling_add_left_out(&laws, &left_out);
	if (left_out.length)
		printf("  %s\n", left_out.chars);
	sn_text_free(&left_out);
	putchar('\n');
}

static sn_status scalability(const struct sn_args *args, struct sn_error *err)
{
	struct sn_table_view view = { .schema = "sonde.scalability/1",
				      .whole_column = "configuration,reason" };
	struct sn_scaling_campaign s;
	struct sn_table table;
	sn_status status = sn_args_table_view(args, &view, err);

	if (status == SN_OK)
		status = sn_scaling_campaign_open(args->operand_count ? args->operands[0] : NULL,
						  sn_args_value(args, "reference"),
						  sn_args_flag(args, "weak"), false, &s, err);
	if (status != SN_OK)
		return status;
	if (!s.scaling) {
		*err = s.none;
		sn_scaling_campaign_free(&s);
		return err->status;
	}
	sn_scaling_table(&s, &table);
	view.may_leave_out = !view.columns;
	if (view.format == SN_FORMAT_TEXT)
		head_print(&s);
	status = sn_table_write(&table, &view, stdout, extra_write, &s, err);
	sn_table_free(&table);
	sn_scaling_campaign_free(&s);
	return status;
}

static int scalability_run(const struct sn_args *args)
{
	struct sn_error err;

	return scalability(args, &err) == SN_OK ? SN_EXIT_OK : sn_error_print(&err);
}

static const struct sn_option scalability_options[] = {
	SN_TABLE_OPTIONS,
	{ "reference", 0, "NAME",
	  "the configuration to set others against, or fastest (default: fewest workers)", NULL },
	{ "weak", 0, NULL, "weak scaling: the work grew with the workers", NULL },
	{ 0 },
};

const struct sn_command sn_command_scalability = {
	.name = "scalability",
	.operands = "[CAMPAIGN]",
	.summary = "Says what scales and what does not, from the runs of a campaign",
	.description =
		"Workers are ranks times threads. Of the application time is elapsed time; of a "
		"function, loop or category the largest exclusive CPU time of one worker. "
		"Efficiency is speed-up over the ideal, and the exact product of work (CPU time "
		"against the reference) and balance (mean over largest of workers). The "
		"application's is also load balance x communication x computation, as POP has it.\n\n"
		"From four numbers of workers on, laws (Amdahl, USL, a + b ln n) are fitted and "
		"checked by leaving out the last; predictions are 95 % intervals of a run's time.\n\n"
		"'sonde show scalability' is the same. Failed and suspicious runs are left out.",
	.options = scalability_options,
	.examples =
		(const char *const[]){ "sonde scalability", "of the newest campaign in this folder",
				       "sonde scalability --filter 'kind=loop,efficiency<0.8'",
				       "loops that stop scaling", NULL },
	.run = scalability_run,
};

/* What the static model says of a loop, its paths weighed by the samples. */
#include "views/loop_parts.h"

#include "cqa/words/view.h"
#include "whatif/whatif.h"

/* Share of all CPU time: exclusive, without the kernel's part. */
static double user_share(const struct sn_loop_page *page)
{
	const struct sn_weight *own = &page->metrics->exclusive;

	return sn_share(own->cpu_ns - own->system_ns, page->profile->total.cpu_ns);
}

static const char no_model[] = "there is no model of this processor; --arch names another";

static void put_quality(const struct sn_loop_page *page, FILE *out)
{
	const struct sn_machine *machine = page->input->machine->machine;
	/* the page's advice stands above, beside what was measured */
	struct sn_cqa_page how = { .without_head = true,
				   .without_advice = true,
				   .share = user_share(page) };
	struct sn_cqa_loop quality = { .not_analysed = no_model };
	struct sn_error err;

	if (!machine) {
		fprintf(out, "\nstatic model: %s\n", no_model);
		return;
	}
	if (sn_whatif_quality(machine, page->profile, page->input->structures, page->number,
			      &quality, &err) != SN_OK) {
		sn_loop_put_name(out, "\nstatic model: ", err.sentence);
		fputc('\n', out);
		return;
	}
	fprintf(out, "\nstatic model of %s, data in L1%s:\n", machine->title,
		quality.is_weighed ? ", paths weighed by the samples" : "");
	sn_cqa_page_text(machine, page->structure, &quality, &how, out);
	sn_cqa_loop_free(&quality);
}

static void write_quality(const struct sn_loop_page *page, struct sn_json *json)
{
	const struct sn_machine *machine = page->input->machine->machine;
	struct sn_cqa_page how = { .share = user_share(page) };
	struct sn_cqa_loop quality = { .not_analysed = no_model };
	sn_advice_list advice = { 0 };
	struct sn_error err = { .sentence = "" };

	sn_json_key(json, "quality");
	if (!machine || sn_whatif_quality(machine, page->profile, page->input->structures,
					  page->number, &quality, &err) != SN_OK) {
		sn_json_null(json);
		return;
	}
	sn_whatif_advise(machine, page->profile, page->number, &quality, &advice);
	how.advice = &advice;
	sn_json_object(json);
	sn_json_member_string(json, "arch", machine->name);
	sn_cqa_json_memory_profile(machine, json);
	sn_cqa_page_json(machine, page->structure, &quality, &how, json);
	sn_vec_free(&advice);
	sn_json_close(json);
	sn_cqa_loop_free(&quality);
}

const struct sn_loop_part sn_loop_static = { .put = put_quality, .write = write_quality };

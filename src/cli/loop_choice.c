/* Reads --loops and --exclude. */
#include "cli/loop_choice.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/unmet_loops.h"
#include "profile/rank.h"
#include "views/find.h"

/* "share:5", "cumulated:90%": the number behind the word; false: it is another word. */
static bool percent_of(const char *which, const char *word, double *out)
{
	size_t length = strlen(word);
	char *end;

	if (strncmp(which, word, length) != 0 || !which[length])
		return false;
	*out = strtod(which + length, &end);
	end += *end == '%';
	return !*end && *out > 0 && *out <= 100;
}

/* "top:10" likewise. */
static bool number_of(const char *which, size_t *out)
{
	char *end;

	if (strncmp(which, "top:", 4) != 0 || which[4] < '0' || which[4] > '9')
		return false;
	*out = strtoul(which + 4, &end, 10);
	return !*end && *out;
}

static bool has_form(const char *which)
{
	return !strncmp(which, "top:", 4) || !strncmp(which, "share:", 6) ||
	       !strncmp(which, "cumulated:", 10);
}

/* How many of the hottest loops. */
struct amount {
	size_t most;
	double least_share, until_share; /* per cent */
	bool is_all;
};

static sn_status amount_read(const char *which, struct amount *out, struct sn_error *err)
{
	*out = (struct amount){ .most = SIZE_MAX,
				.until_share = 200,
				.is_all = !strcmp(which, "all") };
	if (out->is_all || number_of(which, &out->most) ||
	    percent_of(which, "share:", &out->least_share) ||
	    percent_of(which, "cumulated:", &out->until_share))
		return SN_OK;
	return sn_error_set(
		err, SN_ERR_USAGE,
		"--loops takes top:N, share:P or cumulated:P (per cent), all or loops (id, label, "
		"file:line, or #N of 'sonde show loops'), not '%s'",
		which);
}

static bool is_amount(const char *which)
{
	return !strcmp(which, "all") || has_form(which);
}

sn_status sn_cli_loop_words_check(const char *which, struct sn_error *err)
{
	struct amount amount;

	return is_amount(which) ? amount_read(which, &amount, err) : SN_OK;
}

sn_status sn_cli_loop_choice_check(const struct sn_args *args, struct sn_error *err)
{
	const char *which = sn_args_value(args, "loops");

	return which ? sn_cli_loop_words_check(which, err) : SN_OK;
}

/* The hottest loops, as many as the word says. */
static sn_status take_hottest(const struct sn_profile *profile, const char *which,
			      struct sn_loop_choice *out, struct sn_error *err)
{
	struct amount amount;
	sn_status status = amount_read(which, &amount, err);
	size_t count;
	double share = 0;
	uint32_t *order;

	if (status != SN_OK)
		return status;
	out->is_all = amount.is_all;
	order = sn_rank_loops(profile, true, &count);
	for (size_t i = 0;
	     i < count && out->loops.count < amount.most && 100 * share < amount.until_share; i++) {
		double own =
			sn_share(profile->loops[order[i]].exclusive.cpu_ns, profile->total.cpu_ns);

		if (100 * own < amount.least_share)
			continue;
		sn_vec_push(&out->loops, order[i]);
		share += own;
	}
	free(order);
	return SN_OK;
}

static sn_status take_one(const struct sn_profile *profile, const char *name,
			  struct sn_loop_numbers *out, struct sn_unmet_loops *unmet,
			  struct sn_error *err)
{
	uint32_t loop = SN_NONE;
	sn_status status = sn_find_loop(profile, name, true, &loop, err);

	if (status == SN_OK || status == SN_ERR_NOT_FOUND) {
		if (sn_cli_unmet_loops_find(profile, name, loop, unmet))
			return SN_OK;
	}
	if (status == SN_OK)
		sn_vec_push(out, loop);
	return status;
}

static sn_status take_named(const struct sn_profile *profile, const char *names,
			    struct sn_loop_numbers *out, struct sn_unmet_loops *unmet,
			    struct sn_error *err)
{
	sn_status status = SN_OK;

	while (status == SN_OK && *names) {
		size_t length = strcspn(names, ",");
		char *name = sn_strndup(names, length);

		status = take_one(profile, name, out, unmet, err);
		free(name);
		names += length + (names[length] == ',');
	}
	return status;
}

static void leave_out(struct sn_loop_choice *choice)
{
	size_t kept = 0;

	for (size_t i = 0; i < choice->loops.count; i++) {
		bool is_out = false;

		for (size_t k = 0; k < choice->excluded.count; k++)
			is_out |= choice->excluded.items[k] == choice->loops.items[i];
		if (!is_out)
			choice->loops.items[kept++] = choice->loops.items[i];
	}
	choice->loops.count = kept;
	kept = 0;
	for (size_t i = 0; i < choice->unmet.count; i++) {
		const struct sn_unmet_loop *one = &choice->unmet.items[i];
		bool is_out = false;

		for (size_t k = 0; k < choice->unmet_excluded.count; k++)
			is_out |= choice->unmet_excluded.items[k].module == one->module &&
				  choice->unmet_excluded.items[k].header_link_addr ==
					  one->header_link_addr;
		if (!is_out)
			choice->unmet.items[kept++] = *one;
	}
	choice->unmet.count = kept;
}

sn_status sn_cli_loop_choice(const struct sn_args *args, const struct sn_profile *profile,
			     const char *unless_said, struct sn_loop_choice *out,
			     struct sn_error *err)
{
	const char *which = sn_args_value(args, "loops"), *not = sn_args_value(args, "exclude");
	sn_status status;

	*out = (struct sn_loop_choice){ 0 };
	if (!which)
		which = unless_said;
	status = is_amount(which) ? take_hottest(profile, which, out, err)
				  : take_named(profile, which, &out->loops, &out->unmet, err);
	if (status == SN_OK && not )
		status = take_named(profile, not, &out->excluded, &out->unmet_excluded, err);
	leave_out(out);
	if (status != SN_OK)
		sn_loop_choice_free(out);
	return status;
}

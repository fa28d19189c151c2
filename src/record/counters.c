/* From names of counters to events that can be opened. */
#include "record/counters.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/spelling.h"
#include "record/counter_names.h"

enum {
	RAW_PERIOD = 1000003,	/* the manual's, of raw counters */
	HARDWARE_LEAST = 1000,	/* shorter ones leave the program no time between interrupts */
	CLOCK_LEAST_NS = 50000, /* likewise; docs/method/sampling.md */
	FREQUENCY_UNKNOWN_HZ = 1,
};

static int event_open(const struct perf_event_attr *attr, pid_t pid)
{
	return (int)syscall(SYS_perf_event_open, attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* ---- periods ---- */

static bool is_prime(uint64_t n)
{
	for (uint64_t d = 3; d * d <= n; d += 2)
		if (n % d == 0)
			return false;
	return n % 2 || n == 2;
}

/* Prime, so that no loop of the program is in step with it. */
static uint64_t prime_from(uint64_t n)
{
	while (n > 2 && !is_prime(n))
		n++;
	return n;
}

/* "hi", "on", "lo", or a number. False: neither. */
static bool period_parse(const char *word, uint64_t usual, uint64_t *out)
{
	char *end;

	if (!strcmp(word, "on"))
		*out = usual;
	else if (!strcmp(word, "hi"))
		*out = usual > 10 ? prime_from(usual / 10) : 1;
	else if (!strcmp(word, "lo"))
		*out = prime_from(usual * 10);
	else {
		errno = 0;
		*out = strtoull(word, &end, 10);
		return word[0] >= '1' && word[0] <= '9' && !*end && !errno &&
		       *out < (uint64_t)1 << 60;
	}
	return true;
}

/* ---- names ---- */

/* Of the CPUs' present clock rates the harmonic mean, as the manual says. */
static uint64_t clock_hz(void)
{
	FILE *in = fopen("/proc/cpuinfo", "re");
	char line[1024];
	double mhz, sum = 0;
	unsigned count = 0;

	while (in && fgets(line, sizeof(line), in))
		if (sscanf(line, "cpu MHz : %lf", &mhz) == 1 && mhz > 1) {
			sum += 1 / mhz;
			count++;
		}
	if (in)
		fclose(in);
	return count ? (uint64_t)(count / sum * 1e6) : FREQUENCY_UNKNOWN_HZ;
}

static const struct sn_counter_name *known_find(const char *name)
{
	for (const struct sn_counter_name *n = sn_counter_names; n->name; n++)
		if (!strcmp(n->name, name))
			return n;
	return NULL;
}

/* rUUEE: umask and event; more digits are what Linux calls the raw configuration. */
static bool raw_parse(const char *name, struct sn_counter_spec *spec)
{
	char *end;

	if (name[0] != 'r' || strlen(name) < 2 || strlen(name) > 17 ||
	    !strchr("0123456789abcdefABCDEF", name[1]))
		return false;
	spec->config = strtoull(name + 1, &end, 16);
	spec->type = PERF_TYPE_RAW;
	return !*end;
}

static sn_status name_unknown(const char *name, const char *why, struct sn_error *err)
{
	const char *colon = strrchr(name, ':');

	for (const struct sn_counter_name *n = sn_counter_names; colon && n->name; n++)
		if (strlen(n->name) == (size_t)(colon - name) &&
		    !strncmp(n->name, name, (size_t)(colon - name)))
			return sn_error_set(
				err, SN_ERR_USAGE,
				"-e %s:PERIOD takes hi, on, lo or a number of events from 1 "
				"on, not '%s'",
				n->name, colon + 1);
	for (const struct sn_counter_name *n = sn_counter_names; n->name; n++)
		if (sn_spelling_is_near(name, n->name))
			return sn_error_set(err, SN_ERR_USAGE,
					    "-e knows no '%s'; did you mean '%s'?", name, n->name);
	return sn_error_set(err, SN_ERR_USAGE,
			    "-e knows no '%s': %s ('sonde list counters' has the names)", name,
			    why);
}

static bool pfm_first(const char *const *names, struct sn_counter_spec *spec, const char **why)
{
	for (; *names; names++)
		if (sn_pfm_encode(*names, spec, why))
			return true;
	return false;
}

/* What `name` stands for. `usual`: its default period. */
static sn_status name_resolve(const char *name, bool wants_addresses, struct sn_counter_spec *spec,
			      uint64_t *usual, struct sn_error *err)
{
	const struct sn_counter_name *known = known_find(name);
	const char *why = "";

	*usual = RAW_PERIOD;
	if (!known) {
		if (!raw_parse(name, spec) && !sn_pfm_encode(name, spec, &why))
			return name_unknown(name, why, err);
		spec->flags = wants_addresses ? SN_COUNTER_ADDRESSES : 0;
		return SN_OK;
	}
	*usual = known->period;
	spec->type = known->type;
	spec->config = known->config;
	spec->flags = known->flags & ~(unsigned)SN_COUNTER_ADDRESSES;
	if (wants_addresses && !(known->flags & SN_COUNTER_ADDRESSES))
		return sn_error_set(err, SN_ERR_USAGE,
				    "-e +%s: '%s' has no data addresses; leave the '+' away", name,
				    name);
	if (wants_addresses) {
		spec->flags |= SN_COUNTER_ADDRESSES;
		if (known->pfm_address && !pfm_first(known->pfm_address, spec, &why))
			return sn_error_set(
				err, SN_ERR_UNSUPPORTED,
				"-e +%s: no event of this processor gives addresses for it: %s",
				name, why);
	} else if (known->pfm && !pfm_first(known->pfm, spec, &why)) {
		return sn_error_set(err, SN_ERR_UNSUPPORTED,
				    "-e %s: no event of this processor stands for it: %s", name,
				    why);
	}
	if (spec->flags & SN_COUNTER_CYCLES)
		spec->hz = spec->type == PERF_TYPE_SOFTWARE ? 1000000000 : clock_hz();
	return SN_OK;
}

/* ---- whether it can be had ---- */

static const char *reason_of(int fault, const struct sn_counter_spec *spec)
{
	switch (fault) {
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		return spec->type == PERF_TYPE_SOFTWARE
			       ? "this kernel has no such event"
			       : "this processor or virtual machine gives the program no such counter";
	case EACCES:
	case EPERM:
		return spec->flags & SN_COUNTER_KERNEL
			       ? "it happens in the kernel, which takes root, CAP_PERFMON, or a value of 1 at "
				 "most in /proc/sys/kernel/perf_event_paranoid"
			       : "the kernel refuses it (/proc/sys/kernel/perf_event_paranoid, or a sandbox)";
	case EINVAL:
		return "the kernel does not take it as it is (an event of the whole chip cannot be counted for "
		       "one program; Linux before 5.13 cannot signal by it)";
	case EMFILE:
	case ENFILE:
		return "there are too many open files";
	case ENOSPC:
	case EBUSY:
		return "its counter is taken by others";
	default:
		return strerror(fault);
	}
}

/* Opens it as the runtime will. 0, or the kernel's fault. */
static int try_open(const struct sn_counter_spec *spec)
{
	struct perf_event_attr attr = sn_counter_attr(spec, spec->period);
	int fd = event_open(&attr, 0);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* The processor's events have addresses with the instruction's own place only: as exact as can be had. */
static int try_exact(struct sn_counter_spec *spec)
{
	int fault = 0;

	for (spec->precise = 3; spec->precise >= 1; spec->precise--) {
		fault = try_open(spec);
		if (!fault)
			return 0;
	}
	return fault;
}

static int try_one(struct sn_counter_spec *spec)
{
	int fault;

	if (spec->type != PERF_TYPE_SOFTWARE)
		return spec->flags & SN_COUNTER_ADDRESSES ? try_exact(spec) : try_open(spec);
	if (spec->flags & SN_COUNTER_KERNEL || spec->flags & SN_COUNTER_CYCLES)
		return try_open(spec);
	/* faults of system calls are the program's, too, where they may be seen */
	spec->flags |= SN_COUNTER_KERNEL;
	fault = try_open(spec);
	if (!fault)
		return 0;
	spec->flags &= ~(uint32_t)SN_COUNTER_KERNEL;
	return try_open(spec);
}

static sn_status period_check(const struct sn_counter_spec *spec, struct sn_error *err)
{
	if (spec->type == PERF_TYPE_SOFTWARE && spec->flags & SN_COUNTER_CYCLES &&
	    spec->period < CLOCK_LEAST_NS)
		return sn_error_set(
			err, SN_ERR_USAGE,
			"-e %s: a period of %llu ns is shorter than its interrupt; ask for %d or more",
			spec->name, (unsigned long long)spec->period, CLOCK_LEAST_NS);
	if (spec->type != PERF_TYPE_SOFTWARE && spec->period < HARDWARE_LEAST)
		return sn_error_set(
			err, SN_ERR_USAGE,
			"-e %s: a period of %llu would interrupt the program all the time; ask for "
			"%d or more",
			spec->name, (unsigned long long)spec->period, HARDWARE_LEAST);
	return SN_OK;
}

/* ---- the list ---- */

/* Takes the period off the end of "NAME:PERIOD"; names of libpfm4's have colons, too. NULL: none. */
static char *period_cut(char *word)
{
	char *colon = strrchr(word, ':');
	uint64_t period;

	if (!colon || !period_parse(colon + 1, RAW_PERIOD, &period))
		return NULL;
	*colon = '\0';
	return colon + 1;
}

static sn_status one_read(char *word, struct sn_counters *out, struct sn_error *err)
{
	struct sn_counter_spec *spec = &out->specs[out->count];
	char *period = period_cut(word), *name = word + (word[0] == '+');
	uint64_t usual;
	sn_status status;
	int fault;

	if (!name[0] || strlen(name) + 1 > sizeof(spec->name) || strpbrk(name, ";= "))
		return sn_error_set(err, SN_ERR_USAGE,
				    "-e takes EVENT[:PERIOD],.. and '%s' is no event", word);
	*spec = (struct sn_counter_spec){ 0 };
	strcpy(spec->name, name);
	for (uint32_t i = 0; i < out->count; i++)
		if (!strcmp(out->specs[i].name, name))
			return sn_error_set(err, SN_ERR_USAGE, "-e has '%s' twice", name);
	status = name_resolve(name, word[0] == '+', spec, &usual, err);
	if (status != SN_OK)
		return status;
	period_parse(period ? period : "on", usual, &spec->period);
	status = period_check(spec, err);
	if (status != SN_OK)
		return status;
	fault = try_one(spec);
	if (fault)
		return sn_error_set(err, SN_ERR_UNSUPPORTED, "-e %s cannot be had here: %s (%s)",
				    word, reason_of(fault, spec), strerror(fault));
	out->count++;
	return SN_OK;
}

sn_status sn_counters_read(const char *list, struct sn_counters *out, struct sn_error *err)
{
	char *words = sn_strdup(list), *rest = words, *word;
	struct sn_text text = { 0 };
	sn_status status = SN_OK;

	*out = (struct sn_counters){ 0 };
	while (status == SN_OK && (word = strsep(&rest, ","))) {
		if (out->count == SN_COUNTERS_MAX)
			status = sn_error_set(err, SN_ERR_USAGE,
					      "-e takes %d events at most, and '%s' is one more",
					      SN_COUNTERS_MAX, word);
		else
			status = one_read(word, out, err);
	}
	free(words);
	sn_counters_add_text(out, &text);
	if (status == SN_OK && text.length >= SN_COUNTER_TEXT_BYTES)
		status = sn_error_set(err, SN_ERR_USAGE, "-e: the names are too long together");
	sn_text_free(&text);
	return status;
}

void sn_counters_add_text(const struct sn_counters *counters, struct sn_text *text)
{
	for (uint32_t i = 0; i < counters->count; i++) {
		const struct sn_counter_spec *s = &counters->specs[i];

		sn_text_addf(text, "%s%x:%x:%llx:%llx:%llx:%llx:%llx:%x:%s", i ? "," : "", s->type,
			     s->flags, (unsigned long long)s->config,
			     (unsigned long long)s->config1, (unsigned long long)s->config2,
			     (unsigned long long)s->period, (unsigned long long)s->hz, s->precise,
			     s->name);
	}
}

/* ---- counting beside ---- */

void sn_counters_count_begin(const struct sn_counters *counters, pid_t pid,
			     int fds[SN_COUNTERS_MAX])
{
	for (uint32_t i = 0; i < counters->count; i++) {
		struct perf_event_attr attr = sn_counter_attr(&counters->specs[i], 0);

		fds[i] = -1;
		if (attr.type != PERF_TYPE_SOFTWARE)
			continue;
		attr.inherit = 1;
		attr.enable_on_exec = 1;
		fds[i] = event_open(&attr, pid);
	}
}

/* What one counted; -1: unknown. Closes it. */
static int64_t count_take(int fd)
{
	uint64_t count;
	bool is_read;

	if (fd < 0)
		return -1;
	is_read = read(fd, &count, sizeof(count)) == sizeof(count);
	close(fd);
	return is_read && count <= INT64_MAX ? (int64_t)count : -1;
}

void sn_counters_count_end(const struct sn_counters *counters, const int fds[SN_COUNTERS_MAX],
			   struct sn_launch *launch)
{
	for (uint32_t i = 0; i < counters->count; i++) {
		struct sn_launch_event event = { counters->specs[i].name, count_take(fds[i]) };

		if (launch->is_windowed)
			event.count = -1;
		sn_vec_push(&launch->events, event);
	}
}

/* ---- all names ---- */

static void list_add(struct sn_counter_list *list, enum sn_counter_kind kind, const char *name,
		     const char *title, struct sn_counter_spec *spec, uint64_t period)
{
	struct sn_counter_listed item = { .kind = kind,
					  .name = sn_strdup(name),
					  .title = sn_strdup(title),
					  .period = period,
					  .is_clock = spec && spec->flags & SN_COUNTER_CYCLES };

	sn_vec_push(&list->items, item);
}

static void list_known(struct sn_counter_list *list, enum sn_counter_kind kind)
{
	for (const struct sn_counter_name *n = sn_counter_names; n->name; n++) {
		enum sn_counter_kind own = n->is_alias			   ? SN_COUNTER_ALIAS
					   : n->type == PERF_TYPE_SOFTWARE ? SN_COUNTER_SOFTWARE
									   : SN_COUNTER_RAW;
		struct sn_counter_spec spec = { 0 };
		struct sn_counter_listed *item;
		struct sn_error err;
		uint64_t usual;
		int fault;

		if (own != kind)
			continue;
		list_add(list, kind, n->name, n->title, NULL, n->period);
		item = &list->items.items[list->items.count - 1];
		item->is_clock = n->flags & SN_COUNTER_CYCLES;
		item->has_addresses = n->flags & SN_COUNTER_ADDRESSES;
		if (name_resolve(n->name, false, &spec, &usual, &err) != SN_OK) {
			item->refusal = sn_strdup(err.sentence);
			continue;
		}
		if (kind == SN_COUNTER_ALIAS) {
			char config[32];

			snprintf(config, sizeof(config), "%s%llx",
				 spec.type == PERF_TYPE_RAW ? "r" : "perf ",
				 (unsigned long long)spec.config);
			item->alias_for = sn_strdup(config);
		}
		spec.period = usual;
		fault = try_one(&spec);
		if (fault)
			item->refusal = sn_strdup(reason_of(fault, &spec));
	}
}

static void raw_take(void *context, const char *name, const char *words)
{
	list_add(context, SN_COUNTER_RAW, name, words, NULL, RAW_PERIOD);
}

void sn_counters_list(struct sn_counter_list *out)
{
	size_t first;
	const char *refusal = NULL;

	*out = (struct sn_counter_list){ 0 };
	list_known(out, SN_COUNTER_ALIAS);
	list_known(out, SN_COUNTER_SOFTWARE);
	list_known(out, SN_COUNTER_RAW);
	first = out->items.count;
	out->library = sn_pfm_list(raw_take, out);
	for (size_t i = first; i < out->items.count; i++) {
		struct sn_counter_listed *item = &out->items.items[i];

		if (i == first) {
			struct sn_counter_spec spec = { .period = RAW_PERIOD };
			const char *why;
			int fault =
				sn_pfm_encode(item->name, &spec, &why) ? try_open(&spec) : ENOENT;

			refusal = fault ? reason_of(fault, &spec) : NULL;
		}
		if (refusal)
			item->refusal = sn_strdup(refusal);
	}
}

void sn_counter_list_free(struct sn_counter_list *list)
{
	for (size_t i = 0; i < list->items.count; i++) {
		free(list->items.items[i].name);
		free(list->items.items[i].title);
		free(list->items.items[i].alias_for);
		free(list->items.items[i].refusal);
	}
	sn_vec_free(&list->items);
}

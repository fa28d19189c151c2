/**
 * A search: a strategy proposes candidates, a step evaluates them, what is proven is refined.
 */
#ifndef SN_SEARCH_ENGINE_SEARCH_H
#define SN_SEARCH_ENGINE_SEARCH_H

#include <stdio.h>

#include "search/evidence/recorded.h"
#include "search/properties/evaluate.h"
#include "sonde/strategy.h"

/** A finding's value in one process (and thread). */
struct sn_finding_member {
	uint32_t process, thread; /* members; SN_ALL: the property has no thread */
	double severity, confidence;
};

struct sn_finding {
	const struct sn_recorded *recorded;   /* that its members are of */
	struct sonde_strategy_candidate what; /* property: index in the library */
	uint32_t step;
	SN_VEC(struct sn_finding_member) members;
	double severity, confidence; /* of all members' lanes */
	const char *condition;
	struct sn_prop_value *evidence; /* sums: of all members; the rest: of the severest one */
	char *explanation; /* in words, open for sums (sn_prop_text_close); NULL: none */
	double remainder; /* its share of the property's loss, where more special rows have the rest; 0: they have none */
	bool refined;	  /* what is below it explains it */
	bool is_left_out; /* a part that its parent explains better */
};

struct sn_search_step {
	uint32_t candidates, proven, not_measurable;
	uint32_t executions; /* of the phase that were measured for it */
	double elapsed_s, overhead_share;
};

/** A property that could not be measured anywhere it was asked for. */
/** Why a property was noted as not measurable. */
enum sn_unmeasurable {
	SN_MEASURABLE,
	SN_NO_SOURCE, /* no source has what it needs: it is dropped everywhere */
	SN_KNOWN_AS_RANGE,
};

struct sn_not_measurable {
	uint32_t property, region; /* region: the first; of a range: where it may cost most */
	SN_VEC(uint32_t) needs;	   /* requests of the property */
	/* their values are ranges: the severity is 0 to this; 0: they are none */
	double severity_at_most;
};

struct sn_candidate {
	struct sonde_strategy_candidate what;
	double severity; /* of all lanes of the run; NaN: not proven */
	uint32_t step;	 /* which evaluated it first; 0: none has */
};

struct sn_search;

typedef struct sn_recorded *sn_measure_whole_fn(void *context, struct sn_search *search);

/** How a search comes to values that its tables lack. */
struct sn_measuring {
	void *context;
	uint32_t available; /* bit i: sn_sources[i] can still be measured */
	/** Measures sources, adds their values to the tables of the search, and says in the step what
	 *  that took. What it takes from `available` is not asked for again. */
	void (*measure)(void *context, struct sn_search *search, uint32_t sources,
			struct sn_search_step *step);
	/** Measures the phase anew for a step after the first; NULL: what is there must do. Gives new
	 *  values whose regions go on from those of the search (sn_recorded_of_part), which stay the
	 *  caller's; NULL: no more can be had. */
	struct sn_recorded *(*anew)(void *context, struct sn_search *search,
				    struct sn_search_step *step);
	/** After the last step: the values of all that `anew` has measured together, in the same way. The
	 *  candidates of all steps are evaluated on them. NULL: each step's own values are what there is. */
	sn_measure_whole_fn *whole;
};

struct sn_search_options {
	const char *strategy; /* a name, or a path of a shared object; NULL: "time" */
	const char *start;    /* a property; NULL: none */
	bool has_agents;      /* one on each host */
	bool is_simulated;    /* all values are a scenario's: nothing can be measured */
	bool is_of_host;      /* findings go to a front, which settles what explains what */
	double threshold;
	enum sn_severity severity;     /* what severities are, where properties have both */
	uint32_t steps_most;	       /* 0: no limit of the user's */
	const char *mode;	       /* "experiment", "restart" */
	struct sn_measuring measuring; /* all zero: what is there must do */
	struct sn_search_step first;   /* what the first step's values took */
	uint32_t barren;	       /* sn_search.barren, as far as it is known from the start */
	const char *experiment, *program; /* names, of values that no recorded run is behind */
};

/** What a search says of the program's phase. */
struct sn_search_phase {
	const char *name, *file; /* borrowed; name NULL: the whole program */
	uint32_t line;		 /* 0: unknown */
	uint32_t executions;	 /* that were measured */
	double mean_s;
};

/** Who took part in a search. All 0 where no agents are needed. */
struct sn_search_agents {
	uint32_t hosts, joined, lost, restarted, refused;
};

/** What came of the results that agents sent. All 0 where no agents are needed. */
struct sn_search_results {
	uint64_t received, repeated, lost;
};

/** What a host's own search says of one candidate, with members of the search that it goes to. */
struct sn_search_share {
	struct sonde_strategy_candidate what;
	uint32_t step;
	double loss; /* lanes lost in all the host's processes, also in those below the threshold */
	const struct sn_finding_member *members;
	size_t member_count;
	double worst;	       /* severity of the severest member, which the rest is of */
	const char *condition; /* borrowed for as long as the search; NULL: it has no name */
	const struct sn_prop_value
		*evidence; /* by the property's evidence; sums are of all the host's members */
	const char *explanation; /* open for sums; NULL: none */
};

struct sn_search {
	struct sn_recorded *recorded; /* of the latest step; borrowed, as is the library */
	const struct sn_library *library;
	struct sn_search_options options;
	struct sn_evaluator *evaluator;
	struct sonde_strategy_host host;
	const struct sonde_strategy *strategy;
	void *strategy_library; /* dlopen's */

	SN_VEC(struct sn_candidate) candidates; /* of all steps */
	/* properties of data at regions, proposed before any data was known */
	SN_VEC(struct sonde_strategy_candidate) of_data;
	struct sn_map seen;    /* hash of a candidate -> its index */
	struct sn_map found;   /* the same -> its finding, while hosts' shares are added */
	struct sn_map called;  /* property and region: which calls were proposed */
	uint8_t *unmeasurable; /* by property: enum sn_unmeasurable */
	uint8_t *
		silent; /* by property: it holds at no region, as none has a value of it (silent.c) */
	SN_VEC(struct sonde_strategy_candidate) waiting; /* of such: proposed, and not asked */
	struct sn_map waiting_of;	    /* hash of a candidate that waits, or did */
	SN_VEC(struct sn_finding) findings; /* by step; sn_search_run orders them by severity */
	SN_VEC(struct sn_search_step) steps;
	SN_VEC(struct sn_not_measurable) not_measurable;
	struct sn_search_phase phase;
	struct sn_search_agents agents;
	struct sn_search_results results; /* of agents that send them */
	bool is_left;	  /* the strategy did not come back, and is called no more */
	bool is_partial;  /* agents did not come to their end */
	uint32_t offered, /* bit i: sn_sources[i] could be measured when the search began */
		refused, /* bit i: sn_sources[i] was measured and cost more than the budget allows */
		barren,	 /* bit i: no start can give values of sn_sources[i] (none) */
		failed,	 /* bit i: the start for sn_sources[i] failed, so its values are left out */
		joined;	 /* bit i: sn_sources[i] had a start, whose values are here */
	int exit_status; /* of the program's last start; -1: unknown */
};

/** Whether strategy and property of the options are there: to be asked before a program is run. */
sn_status sn_search_check(const struct sn_library *library, const struct sn_search_options *options,
			  struct sn_error *err);
/** Searches. SN_ERR_USAGE for a strategy or property that is not there, SN_ERR_UNSUPPORTED for a
 *  strategy of another ABI, SN_ERR_NO_DATA if no process is in scope. */
sn_status sn_search_run(struct sn_recorded *recorded, const struct sn_library *library,
			const struct sn_search_options *options, struct sn_search **out,
			struct sn_error *err);
void sn_search_free(struct sn_search *search);

/** A search of which hosts do the steps: it begins without any, takes what they found, and settles what
 *  explains what. Members fall into classes only here, by their own severities. Statuses as of
 *  sn_search_run. */
sn_status sn_search_begin(struct sn_recorded *recorded, const struct sn_library *library,
			  const struct sn_search_options *options, struct sn_search **out,
			  struct sn_error *err);
/** Hosts come in their order, their candidates in any. */
void sn_search_share_add(struct sn_search *search, const struct sn_search_share *share);
void sn_search_settle(struct sn_search *search);
/** Lanes of all processes of some tables. */
double sn_search_lanes(const struct sn_tables *tables);

/** What the severity of a finding is. */
enum sn_severity sn_finding_unit(const struct sn_search *search, const struct sn_finding *finding);
/** Whether a property says where, and is no loss. */
bool sn_search_is_locator(const struct sn_property *property);
/** Whether a loss is none that the program makes: people see it behind those that it does. */
bool sn_search_is_of_machine(const struct sn_property *property);
/** Whether a region's values are its own alone, without what it holds or calls: none stands for another. */
bool sn_search_is_exclusive(const struct sn_property *property);
const struct sn_property *sn_finding_property(const struct sn_search *search,
					      const struct sn_finding *finding);
/** The region of a finding; NULL: the whole program. */
const struct sn_member *sn_finding_region(const struct sn_search *search,
					  const struct sn_finding *finding);
/** Regions from the program to this one, by the way that most time takes; the caller frees. */
uint32_t *sn_search_path(const struct sn_search *search, uint32_t region, size_t *count);
/** The severity that a property has at a region, over all lanes; NaN: not proven there. */
double sn_search_severity_at(const struct sn_search *search, uint32_t property, uint32_t region,
			     uint32_t data);
/** Why a property was not measurable, as a sentence. */
void sn_not_measurable_reason(const struct sn_search *search,
			      const struct sn_not_measurable *missing, struct sn_text *out);

/** The result as sonde.search/1, as psc_properties XML, as text. */
void sn_search_write_json(const struct sn_search *search, FILE *out);
void sn_search_write_xml(const struct sn_search *search, FILE *out);
void sn_search_write_text(const struct sn_search *search, FILE *out);
/** The same as lines of words, which stay in the experiment for `sonde show searched` and the page. */
void sn_search_write_rows(const struct sn_search *search, FILE *out);
/** Of such lines, which a search that ran the program has left: how many things it could not measure; SIZE_MAX: there are
 *  none, or they are those of a search of the recorded run. */
size_t sn_search_rows_unmeasured(FILE *in);

#endif

/**
 * Options that all commands on an experiment share: which part of it is looked at, and where
 * sources are.
 */
#ifndef SN_CLI_ANALYSIS_OPTIONS_H
#define SN_CLI_ANALYSIS_OPTIONS_H

#include "base/vec.h"
#include "cli/command.h"
#include "profile/analysis.h"

/** Rows for the option table of a command that takes a part of an experiment. */
#define SN_FILTER_OPTIONS                                                                          \
	{ "time", 'T', "T0-T1",                                                                    \
	  "look at this range of seconds only; 2- and -5 are open; @LABEL is a sample packet",     \
	  NULL },                                                                                  \
		{ "thread", 0, "TID,..", "look at these threads only", NULL },                     \
		{ "process", 'p', "N,..",                                                          \
		  "look at these processes only (index from 0, as in 'show processes')", NULL },   \
		{ "module", 'm', "NAME", "samples whose leaf lies in this module (name or regex)", \
		  NULL },                                                                          \
		{ "function", 0, "NAME",                                                           \
		  "samples with this function on their path (name or regex)", NULL },              \
	{                                                                                          \
		"source-map", 0, "FROM=TO",                                                        \
			"look for sources of FROM... under TO...; may be repeated", NULL           \
	}

/** The row for commands that estimate loops. struct sn_analysis_options has its value as `arch`. */
#define SN_ARCH_OPTION                                                                             \
	{                                                                                          \
		"arch", 'A', "NAME", "the machine to estimate loops for; native unless said", NULL \
	}

/** The values of SN_FILTER_OPTIONS. It owns its lists. */
struct sn_analysis_arguments {
	struct sn_filter filter;
	struct sn_analysis_options options;
	SN_VEC(uint32_t) processes;
	SN_VEC(int32_t) tids;
	SN_VEC(const char *) source_maps;
	char *from_label, *to_label; /* of --time; NULL: none */
};

sn_status sn_analysis_arguments_read(const struct sn_args *args, struct sn_analysis_arguments *out,
				     struct sn_error *err);
/** As sn_analysis_open. It warns of extracts that cannot be read, as every answer on the experiment
 * lacks what they held. */
sn_status sn_cli_analysis_open(const char *name, const struct sn_analysis_options *options,
			       struct sn_analysis **out, struct sn_error *err);
void sn_analysis_arguments_free(struct sn_analysis_arguments *arguments);

#endif

/* Analyses with a command of their own, which `sonde show` knows by name: 'show phases' is 'phases'. */
#include "views/view.h"

const struct sn_view sn_view_phases = {
	.name = "phases",
	.title = "what the run goes through, and where to watch it in production",
	.command = "phases",
};

const struct sn_view sn_view_comm = {
	.name = "comm",
	.title = "messages of a distributed program, by phase and rank",
	.command = "comm",
};

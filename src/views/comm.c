/* The view of messages, which has a command of its own: 'show comm' is 'comm'. */
#include "views/view.h"

const struct sn_view sn_view_comm = {
	.name = "comm",
	.title = "messages of a distributed program, by phase and rank",
	.command = "comm",
};

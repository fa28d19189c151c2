/* The view of a campaign's scalability, which has a command of its own: 'show scalability' is
 * 'scalability'. */
#include "views/view.h"

const struct sn_view sn_view_scalability = {
	.name = "scalability",
	.title = "what scales and what does not, from the runs of a campaign",
	.command = "scalability",
};

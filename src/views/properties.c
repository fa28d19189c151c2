/* The view of performance properties, which has a command of its own: 'show properties' is 'search'. */
#include "views/view.h"

const struct sn_view sn_view_properties = {
	.name = "properties",
	.title = "performance properties of the run: what is lost, where, how sure",
	.command = "search",
};

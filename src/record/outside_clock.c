/* CPU time out of event counts: a share that follows the kernel's account (outside_clock.h). */
#include "record/outside_clock.h"

enum {
	/* what was told too much is taken off this much at least, so that few samples do not vanish
	 */
	HORIZON_NS = 50000000,
};
/* the host of a virtual machine may take more than half, but not of each sample */
static const double part_least = 0.25;

void sn_outside_clock_begin(struct sn_outside_clock *clock)
{
	*clock = (struct sn_outside_clock){ .part = 1, .part_most = 1 };
}

static double clamped(double value, double low, double high)
{
	return value < low ? low : value > high ? high : value;
}

void sn_outside_clock_look(struct sn_outside_clock *clock, uint64_t counted_ns, uint64_t used_ns,
			   uint64_t slack_ns)
{
	double since = (double)(counted_ns - clock->looked_count_ns);
	double pending = (double)(counted_ns - clock->told_count_ns);

	clock->looked_count_ns = counted_ns;
	clock->part = 1;
	if (used_ns + slack_ns >= counted_ns &&
	    (clock->part_most <= 1 || counted_ns + slack_ns >= used_ns || !counted_ns))
		return;
	double share = (double)used_ns / (double)counted_ns;
	double ahead = (double)clock->told_ns + share * pending - (double)used_ns;
	double horizon = since > HORIZON_NS ? since : HORIZON_NS;
	clock->part = clamped(share - ahead / horizon, part_least, clock->part_most);
}

void sn_outside_clock_end(struct sn_outside_clock *clock, uint64_t counted_ns, uint64_t used_ns)
{
	double pending = (double)(counted_ns - clock->told_count_ns);

	clock->part = pending > 0 ? clamped(((double)used_ns - (double)clock->told_ns) / pending, 0,
					    clock->part_most)
				  : 1;
}

uint64_t sn_outside_clock_tell(struct sn_outside_clock *clock, uint64_t count_ns)
{
	uint64_t cpu_ns = (uint64_t)((double)count_ns * clock->part + 0.5);

	clock->told_count_ns += count_ns;
	clock->told_ns += cpu_ns;
	return cpu_ns;
}

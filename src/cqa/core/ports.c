/*
 * The bound of the execution units. An operation may go to any unit of a set; the bound is the
 * worst union of sets: the operations that only its units can execute over the number of these
 * units (Hall's condition).
 */
#include <math.h>
#include <string.h>

#include "cqa/block/address.h"
#include "cqa/core/bounds.h"

const char *const sn_bound_names[SN_BOUND_COUNT] = { "ports", "divider", "issue", "front_end",
						     "latency" };

enum { SETS_MAX = 40, UNIONS_MAX = 4096 };

struct usage {
	struct sn_unit_set sets[SETS_MAX];
	unsigned count;
};

static void usage_add(struct usage *usage, uint32_t units, float count)
{
	for (unsigned i = 0; i < usage->count; i++)
		if (usage->sets[i].units == units) {
			usage->sets[i].count += count;
			return;
		}
	if (usage->count < SETS_MAX)
		usage->sets[usage->count++] = (struct sn_unit_set){ units, count };
}

static bool uses_512(const struct sn_cqa_block *block)
{
	for (size_t i = 0; i < block->count; i++)
		if (block->insns[i].is_512 && block->insns[i].set_count)
			return true;
	return false;
}

/* While 512-bit uops are in flight, some units take no vector uops. */
static uint32_t without_closed(const struct sn_machine *machine, const struct sn_insn *insn,
			       uint32_t units)
{
	bool computes = insn->is_vector && !(units & machine->load_units) &&
			units != machine->store_data_units;
	uint32_t open = units & ~machine->rules.closed_by_wide_vectors;

	return computes && open ? open : units;
}

static void gather(const struct sn_machine *machine, const struct sn_cqa_block *block,
		   struct usage *usage)
{
	bool closes_units = machine->rules.closed_by_wide_vectors && uses_512(block);

	usage->count = 0;
	for (size_t i = 0; i < block->count; i++) {
		const struct sn_insn *insn = &block->insns[i];

		for (unsigned k = 0; k < insn->set_count; k++) {
			uint32_t units = insn->sets[k].units;

			if (closes_units)
				units = without_closed(machine, insn, units);
			usage_add(usage, units, insn->sets[k].count);
		}
	}
}

/* Operations that may go to some vector units and others that may go to some of these meet there.
 */
static double load_of_union(const struct sn_machine *machine, const struct usage *usage,
			    uint32_t units)
{
	double inside = 0;
	unsigned sets = 0;

	for (unsigned i = 0; i < usage->count; i++)
		if (!(usage->sets[i].units & ~units)) {
			inside += (double)usage->sets[i].count;
			sets++;
		}
	if (sets > 1 && machine->rules.vector_share > 0 && !(units & ~machine->vector_units))
		inside *= (double)machine->rules.vector_share;
	return inside / __builtin_popcount(units);
}

/* Unions of sets that share units; sets in disjoint parts of the core never need to be joined. */
static unsigned close_under_union(const struct usage *usage, uint32_t unions[UNIONS_MAX])
{
	unsigned count = 0;

	for (unsigned i = 0; i < usage->count; i++) {
		unsigned before = count;

		for (unsigned j = 0; j <= before && count < UNIONS_MAX; j++) {
			uint32_t units = usage->sets[i].units;
			bool is_known = false;

			if (j < before) {
				if (!(unions[j] & units))
					continue;
				units |= unions[j];
			}
			for (unsigned k = 0; k < count && !is_known; k++)
				is_known = unions[k] == units;
			if (!is_known)
				unions[count++] = units;
		}
	}
	return count;
}

double sn_bound_ports(const struct sn_machine *machine, const struct sn_cqa_block *block,
		      uint32_t *units_out)
{
	uint32_t unions[UNIONS_MAX];
	struct usage usage;
	unsigned count;
	double most = 0;

	gather(machine, block, &usage);
	count = close_under_union(&usage, unions);
	if (units_out)
		*units_out = 0;
	for (unsigned i = 0; i < count; i++) {
		double cycles = load_of_union(machine, &usage, unions[i]);

		if (cycles > most + 1e-9) {
			most = cycles;
			if (units_out)
				*units_out = unions[i];
		}
	}
	return most;
}

/* Loads and stores are given to two pairs of address units in program order, each to the other pair
 * than the one before it. Vector loads always go to the first pair, as only that one takes them. So
 * two operations that follow two vector loads do not both find the second pair free. */
struct steering {
	bool was_first; /* the last operation went to the first pair */
	double first, second;
};

static void steer(struct steering *state, bool is_vector_load, double count)
{
	while (count > 1e-6) {
		double part = count < 1 ? count : 1;

		state->was_first = is_vector_load || !state->was_first;
		*(state->was_first ? &state->first : &state->second) += part;
		count -= 1;
	}
}

static void steer_block(const struct sn_machine *machine, const struct sn_cqa_block *block,
			struct steering *state)
{
	uint32_t memory_units =
		machine->load_units | machine->vector_load_units | machine->store_data_units;

	for (size_t i = 0; i < block->count; i++)
		for (unsigned k = 0; k < block->insns[i].set_count; k++) {
			const struct sn_unit_set *set = &block->insns[i].sets[k];

			/* a store has one address, however long it takes to write */
			if (set->units == machine->store_data_units &&
			    !block->insns[i].memory[0].is_vector_index)
				steer(state, false, 1);
			else if (!(set->units & ~memory_units))
				steer(state, !(set->units & ~machine->vector_load_units),
				      (double)set->count);
		}
}

enum { ORDER_MOST = 8 };

/* False: more than ORDER_MOST operations, or other accesses. */
static bool order_of(const struct sn_machine *machine, const struct sn_cqa_block *block,
		     char order[2 * ORDER_MOST + 1])
{
	uint32_t memory_units =
		machine->load_units | machine->vector_load_units | machine->store_data_units;
	unsigned places = 0;

	for (size_t i = 0; i < block->count; i++) {
		const struct sn_insn *insn = &block->insns[i];
		char kind = '.';

		for (unsigned k = 0; k < insn->set_count; k++) {
			if (insn->sets[k].units & ~memory_units)
				continue;
			if (kind != '.')
				return false;
			if (!(insn->sets[k].units & ~machine->vector_load_units))
				kind = 'L';
			else if (insn->sets[k].units == machine->store_data_units)
				kind = 'S';
			else
				return false;
		}
		if (insn->fused_uops <= 0)
			continue;
		if (places == ORDER_MOST)
			return false;
		order[places++] = kind;
	}
	memcpy(order + places, order, places);
	order[2 * places] = 0;
	return true;
}

/* What loops of a few operations take whose accesses come in an order that no bound explains. */
static double slow_order_cycles(const struct sn_machine *machine, const struct sn_cqa_block *block)
{
	const struct sn_slow_order *slow = machine->rules.slow_orders;
	char twice[2 * ORDER_MOST + 1];
	size_t length;

	if (!slow || !order_of(machine, block, twice))
		return 0;
	length = strlen(twice) / 2;
	for (; slow->order; slow++)
		if (strlen(slow->order) == length &&
		    (slow->is_turned ? strstr(twice, slow->order) != NULL
				     : !memcmp(twice, slow->order, length)))
			return slow->cycles;
	return 0;
}

/* Loops that load 64 bytes twice and store lose a part of a cycle besides. */
static double wide_load_cycles(const struct sn_machine *machine, const struct sn_cqa_block *block)
{
	const struct sn_wide_loads *wide = machine->rules.wide_loads;
	double loads = 0, operations = 0;
	bool stores = false;

	for (size_t i = 0; i < block->count; i++) {
		const struct sn_insn *insn = &block->insns[i];

		operations += (double)insn->fused_uops;
		for (unsigned k = 0; k < insn->set_count; k++) {
			stores |= insn->sets[k].units == machine->store_data_units;
			if (!(insn->sets[k].units & ~machine->vector_load_units))
				loads += (double)insn->sets[k].count;
		}
	}
	if (!wide || !stores || loads < 2 || !uses_512(block))
		return 0;
	return loads / 2 + (loads > 2				 ? wide->several_cycles
			    : operations <= wide->few_operations ? wide->short_cycles
								 : wide->long_cycles);
}

double sn_bound_addresses(const struct sn_machine *machine, const struct sn_cqa_block *block)
{
	struct steering state = { .was_first = false };

	if (!machine->rules.alternates_address_units)
		return 0;
	steer_block(machine, block, &state);
	state.first = state.second = 0;
	/* two passes: with an odd number the pairs change places */
	steer_block(machine, block, &state);
	steer_block(machine, block, &state);
	return fmax(fmax(state.first, state.second) / 4,
		    fmax(slow_order_cycles(machine, block), wide_load_cycles(machine, block)));
}

void sn_parts_ports(const struct sn_machine *machine, const struct sn_cqa_block *block,
		    uint32_t units, double *cycles)
{
	bool closes_units = machine->rules.closed_by_wide_vectors && uses_512(block);

	for (size_t i = 0; i < block->count; i++) {
		const struct sn_insn *insn = &block->insns[i];

		cycles[i] = 0;
		for (unsigned k = 0; k < insn->set_count; k++) {
			uint32_t own = insn->sets[k].units;

			if (closes_units)
				own = without_closed(machine, insn, own);
			if (units && !(own & ~units))
				cycles[i] +=
					(double)insn->sets[k].count / __builtin_popcount(units);
		}
	}
}

/* Water-filling: move work from the busiest unit of a set to its idlest until nothing moves. */
void sn_ports_distribute(const struct sn_machine *machine, const struct sn_cqa_block *block,
			 double busy_cycles[SN_UNITS_MAX])
{
	struct usage usage;
	double share[SETS_MAX][SN_UNITS_MAX];

	gather(machine, block, &usage);
	memset(share, 0, sizeof(share));
	memset(busy_cycles, 0, SN_UNITS_MAX * sizeof(*busy_cycles));
	for (unsigned i = 0; i < usage.count; i++)
		for (unsigned u = 0; u < SN_UNITS_MAX; u++)
			if (usage.sets[i].units >> u & 1) {
				share[i][u] = (double)usage.sets[i].count /
					      __builtin_popcount(usage.sets[i].units);
				busy_cycles[u] += share[i][u];
			}
	for (unsigned round = 0; round < 200; round++) {
		double moved = 0;

		for (unsigned i = 0; i < usage.count; i++) {
			unsigned high = SN_UNITS_MAX, low = SN_UNITS_MAX;
			double step;

			for (unsigned u = 0; u < SN_UNITS_MAX; u++) {
				if (!(usage.sets[i].units >> u & 1))
					continue;
				if (share[i][u] > 1e-9 &&
				    (high == SN_UNITS_MAX || busy_cycles[u] > busy_cycles[high]))
					high = u;
				if (low == SN_UNITS_MAX || busy_cycles[u] < busy_cycles[low])
					low = u;
			}
			if (high == SN_UNITS_MAX || low == high)
				continue;
			step = (busy_cycles[high] - busy_cycles[low]) / 2;
			if (step > share[i][high])
				step = share[i][high];
			if (step <= 1e-6)
				continue;
			share[i][high] -= step;
			share[i][low] += step;
			busy_cycles[high] -= step;
			busy_cycles[low] += step;
			moved += step;
		}
		if (moved < 1e-4)
			break;
	}
}

double sn_bound_divider(const struct sn_cqa_block *block)
{
	double total = 0;

	for (size_t i = 0; i < block->count; i++)
		total += (double)block->insns[i].divider_cycles;
	return total;
}

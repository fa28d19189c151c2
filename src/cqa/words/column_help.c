/* What each figure of a loop's static quality means, for people: sonde explain, the report's page.
 */
#include <string.h>

#include "cqa/words/table.h"

struct help {
	const char *key, *text;
};

static const struct help helps[] = {
	{ "loop",
	  "build-id, function and head of the loop in hexadecimal: the same for the same file" },
	{ "label", "source file and lines; without line information function and offset" },
	{ "function", "the function whose source the loop is, be it inlined elsewhere" },
	{ "member", "the object file of the archive" },
	{ "file", "source file, as the compiler recorded it" },
	{ "line_first", "first source line of the loop" },
	{ "line_last", "last source line of the loop" },
	{ "header_link_addr", "address in the file of the first instruction of a pass" },
	{ "innermost", "whether no other loop lies in it" },
	{ "depth", "1 for a loop in no other loop" },
	{ "role",
	  "main, peel, tail or version: one loop of the source may be several of the code" },
	{ "unroll",
	  "iterations of the source that one pass over the code covers; empty: not known" },
	{ "source_loop", "id of the main loop of the same loop of the source" },
	{ "path_count",
	  "ways from the head of the loop back to it; 1000000000: that many or more" },
	{ "analysed_paths",
	  "ways that have an estimate of their own; 1 with more ways than eight" },
	{ "is_union", "more than eight ways, or not a natural innermost loop: one estimate of all "
		      "blocks" },
	{ "has_calls", "the body calls functions, whose time is not in the figures" },
	{ "irreducible", "entered elsewhere than at its head: paths cannot be told" },
	{ "trips_from_zero", "passes if the counter begins at 0, where its bound is a constant" },
	{ "exits", "edges that leave the loop" },
	{ "blocks", "basic blocks of the body" },
	{ "instructions", "instructions of a pass over the main path" },
	{ "uops", "operations that the processor makes of them" },
	{ "code_bytes", "bytes of code of a pass" },
	{ "masked_instructions", "instructions under an AVX-512 mask" },
	{ "special_instructions", "string, atomic and system instructions, tens of cycles each" },
	{ "l1_cycles", "core cycles of a pass with data in L1: the mean over the paths" },
	{ "min_cycles", "core cycles of the cheapest path" },
	{ "max_cycles", "core cycles of the costliest path" },
	{ "bottleneck", "the bound that is largest: ports, divider, issue, front_end or latency" },
	{ "ports_cycles", "cycles that the busiest execution units need for a pass" },
	{ "divider_cycles", "cycles for which a pass holds the divider" },
	{ "issue_cycles", "operations of a pass over those that the core takes up in a cycle" },
	{ "front_end_cycles", "cycles that fetching and decoding a pass takes" },
	{ "latency_cycles",
	  "cycles for which a pass waits for the one before: the longest dependence" },
	{ "units_cycles", "busy cycles of each execution unit in a pass" },
	{ "mispredicted_cycles",
	  "cycles that mispredicted branches add to a pass, by the samples" },
	{ "vector_passes",
	  "passes of the code as it is that one pass of full vectors would cover" },
	{ "ipc", "instructions a cycle" },
	{ "flop_per_cycle", "floating-point operations a cycle" },
	{ "loaded_bytes_per_cycle", "bytes loaded a cycle" },
	{ "stored_bytes_per_cycle", "bytes stored a cycle" },
	{ "peak_issue_share", "operations a cycle, of the most that the core takes up" },
	{ "peak_flop_share", "FLOP a cycle, of the most for elements of this size" },
	{ "peak_load_share", "bytes loaded a cycle, of the most" },
	{ "peak_store_share", "bytes stored a cycle, of the most" },
	{ "flop", "floating-point operations of a pass; an FMA counts two" },
	{ "add_sub_flop", "FLOP that are additions and subtractions" },
	{ "mul_flop", "FLOP that are multiplications" },
	{ "fma_flop", "FLOP in fused multiply-additions" },
	{ "div_flop", "FLOP that are divisions" },
	{ "sqrt_flop", "FLOP that are square roots" },
	{ "rcp_elements", "approximate reciprocals; no FLOP" },
	{ "rsqrt_elements", "approximate reciprocal square roots; no FLOP" },
	{ "add_per_mul", "additions over multiplications, FMAs left out" },
	{ "fma_pairs", "products that feed an addition, where one FMA could do both" },
	{ "sums_multiplied", "products of a sum: (a + b) * c, which no FMA does" },
	{ "fp_scalar_instructions", "FP arithmetic on one element" },
	{ "fp_packed_instructions", "FP arithmetic on vectors" },
	{ "x87_instructions", "instructions of the x87 unit" },
	{ "conversions", "conversions between types of numbers" },
	{ "divisions", "integer and FP divisions and square roots" },
	{ "element_types", "types of the elements that are computed with: f64, i32, ..." },
	{ "isa", "instruction sets in use beyond plain integers" },
	{ "x86_64_level", "level of the x86-64 ABI that a processor must have for it" },
	{ "width_bytes", "widest registers of FP arithmetic" },
	{ "loads", "loads of a pass" },
	{ "stores", "stores of a pass" },
	{ "loaded_bytes", "bytes loaded by a pass" },
	{ "stored_bytes", "bytes stored by a pass" },
	{ "prefetched_bytes", "bytes prefetched by a pass" },
	{ "new_bytes", "bytes that a pass brings in which no pass before had touched" },
	{ "flop_per_byte", "FLOP over bytes loaded and stored" },
	{ "stride_0_accesses", "accesses to the same address in every pass" },
	{ "stride_1_accesses", "accesses that go to the neighbour in the next pass" },
	{ "stride_n_accesses", "accesses that move by another constant" },
	{ "stride_unknown_accesses", "accesses that move by a register" },
	{ "indirect_accesses", "accesses whose address comes from memory" },
	{ "structure_accesses",
	  "accesses to fields of structures that are stepped over as a whole" },
	{ "stack_references", "accesses to the stack frame: spilled values, mostly" },
	{ "stack_bytes", "bytes that go over the stack frame" },
	{ "gathers", "gathers and scatters" },
	{ "array_access_efficiency_share", "accesses at a regular stride: same and neighbouring "
					   "addresses count whole, other constants half" },
	{ "advice", "the most certain piece of advice" },
	{ "advice_confidence", "gain (the model shows it), potential, hint or expert" },
	{ "advice_subjects", "what all pieces of advice are about" },
	{ "missing_options", "useful options that it was compiled without, as far as is recorded" },
	{ "estimated_instructions", "instructions whose figures are those of a similar one" },
	{ "lacked_extensions",
	  "instruction sets that the loop needs and the machine lacks: its figures "
	  "are of the nearest instructions" },
	{ "undecoded_bytes", "bytes of the body that are no known instruction" },
	{ "is_weighed", "paths weighed by the samples of a run" },
	{ "not_analysed", "why there are no figures" },
};

static const char *find(const struct help *list, size_t count, const char *key, size_t length)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(list[i].key) == length && memcmp(list[i].key, key, length) == 0)
			return list[i].text;
	return NULL;
}

#define FIND(list, key, length) find(list, sizeof(list) / sizeof(*(list)), key, length)

static bool ends_in(const char *key, const char *end, size_t *length)
{
	size_t whole = strlen(key), tail = strlen(end);

	if (whole < tail || strcmp(key + whole - tail, end) != 0)
		return false;
	*length = whole - tail;
	return true;
}

/* "clean_speedup", "fp_vector_cycles", "full_vector_ram_speedup". */
static bool explain_variant(const char *key, struct sn_text *out)
{
	static const struct help variants[] = {
		{ "clean", "without everything that is not FP work or loop control" },
		{ "fp_vector",
		  "with its FP arithmetic in full vectors, memory accesses as they are" },
		{ "full_vector",
		  "with full vectors, memory accesses too where they are contiguous" },
		{ "no_dependence", "without the dependence of a pass on the one before" },
		{ "next_bottleneck", "without its first bottleneck" },
	};
	static const struct help forms[] = {
		{ "_ram_speedup",
		  "how many times as fast the loop would be %s, if data come from RAM" },
		{ "_speedup", "how many times as fast the loop would be %s, with data in L1" },
		{ "_cycles", "core cycles for the work of a pass %s" },
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		size_t length;
		const char *text =
			ends_in(key, forms[i].key, &length) ? FIND(variants, key, length) : NULL;
		const char *gap = strstr(forms[i].text, "%s");

		if (!text)
			continue;
		sn_text_add_bytes(out, forms[i].text, (size_t)(gap - forms[i].text));
		sn_text_add(out, text);
		sn_text_add(out, gap + 2);
		return true;
	}
	return false;
}

/* "vector_fp_load_efficiency_share". */
static bool explain_vector(const char *key, struct sn_text *out)
{
	static const struct help classes[] = {
		{ "", "work that vectors could do" },
		{ "load_", "loads" },
		{ "store_", "stores" },
		{ "add_sub_", "additions and subtractions" },
		{ "mul_", "multiplications" },
		{ "other_", "other arithmetic" },
	};
	const char *kind = "";
	const char *class;
	size_t length;
	bool is_efficiency;

	if (strncmp(key, "vector_", 7) != 0)
		return false;
	key += 7;
	if (strncmp(key, "int_", 4) == 0 || strncmp(key, "fp_", 3) == 0) {
		kind = key[0] == 'i' ? " on integers" : " on FP numbers";
		key += key[0] == 'i' ? 4 : 3;
	}
	is_efficiency = ends_in(key, "efficiency_share", &length);
	if (!is_efficiency && !ends_in(key, "share", &length))
		return false;
	class = FIND(classes, key, length);
	if (class)
		sn_text_addf(out,
			     is_efficiency ? "mean part of the widest register that %s%s use"
					   : "%s%s: the part that vector instructions do",
			     class, kind);
	return class != NULL;
}

/* "l2_ipc", "ram_max_cycles", "latency_min_cycles". */
static bool explain_level(const char *key, struct sn_text *out)
{
	static const struct help levels[] = { { "l2_", "L2" }, { "l3_", "L3" }, { "ram_", "RAM" } };
	static const struct help bounds[] = { { "latency", "the longest dependence" },
					      { "divider", "the divider" } };
	const char *text;
	size_t length;

	for (size_t i = 0; i < sizeof(bounds) / sizeof(*bounds); i++)
		if (strncmp(key, bounds[i].key, strlen(bounds[i].key)) == 0 &&
		    (strstr(key, "_min_") || strstr(key, "_max_"))) {
			sn_text_addf(out, "cycles of %s in the path where they are %s",
				     bounds[i].text, strstr(key, "_min_") ? "least" : "most");
			return true;
		}
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		size_t prefix = strlen(levels[i].key);

		if (strncmp(key, levels[i].key, prefix) != 0)
			continue;
		text = FIND(helps, key + prefix, strlen(key + prefix));
		if (!text && ends_in(key, "_cycles", &length))
			text = strstr(key, "_min_")   ? "core cycles of the cheapest path"
			       : strstr(key, "_max_") ? "core cycles of the costliest path"
						      : "core cycles of a pass";
		if (text)
			sn_text_addf(out, "%s, if data come from %s", text, levels[i].text);
		return text != NULL;
	}
	return false;
}

bool sn_cqa_column_explain(size_t column, struct sn_text *out)
{
	const char *key = sn_cqa_columns[column].key;
	const char *text = FIND(helps, key, strlen(key));

	if (text)
		sn_text_add(out, text);
	return text || explain_variant(key, out) || explain_vector(key, out) ||
	       explain_level(key, out);
}

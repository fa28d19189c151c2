/**
 * Every figure of a loop's static quality by key (docs/manual/cqa.md). Private to table.c.
 */
#ifndef SN_CQA_COLUMNS_H
#define SN_CQA_COLUMNS_H

/* The columns of a loop's static quality: one list, from which the enumeration, the table and the
 * groups follow. X(name, key, title, kind, decimals, group) */
#define SN_CQA_COLUMNS(X)                                                                          \
	X(LOOP, "loop", NULL, TEXT, 0, IDENTITY)                                                   \
	X(LABEL, "label", "loop", TEXT, 0, IDENTITY)                                               \
	X(FUNCTION, "function", "function", TEXT, 0, IDENTITY)                                     \
	X(MEMBER, "member", NULL, TEXT, 0, IDENTITY)                                               \
	X(FILE, "file", NULL, TEXT, 0, IDENTITY)                                                   \
	X(LINE_FIRST, "line_first", NULL, INT, 0, IDENTITY)                                        \
	X(LINE_LAST, "line_last", NULL, INT, 0, IDENTITY)                                          \
	X(ADDRESS, "header_link_addr", NULL, INT, 0, IDENTITY)                                     \
	X(INNERMOST, "innermost", NULL, BOOL, 0, IDENTITY)                                         \
	X(DEPTH, "depth", NULL, INT, 0, IDENTITY)                                                  \
	X(ROLE, "role", "role", TEXT, 0, SOURCE)                                                   \
	X(UNROLL, "unroll", "unroll", INT, 0, SOURCE)                                              \
	X(GROUP, "source_loop", NULL, TEXT, 0, SOURCE)                                             \
	X(PATHS, "path_count", "paths", INT, 0, FLOW)                                              \
	X(ANALYSED, "analysed_paths", NULL, INT, 0, FLOW)                                          \
	X(UNION, "is_union", NULL, BOOL, 0, FLOW)                                                  \
	X(CALLS, "has_calls", "calls", BOOL, 0, FLOW)                                              \
	X(IRREDUCIBLE, "irreducible", NULL, BOOL, 0, FLOW)                                         \
	X(TRIPS, "trips_from_zero", NULL, INT, 0, FLOW)                                            \
	X(EXITS, "exits", NULL, INT, 0, FLOW)                                                      \
	X(BLOCKS, "blocks", NULL, INT, 0, FLOW)                                                    \
	X(INSTRUCTIONS, "instructions", "insns", INT, 0, SIZE)                                     \
	X(UOPS, "uops", NULL, INT, 0, SIZE)                                                        \
	X(BYTES, "code_bytes", NULL, INT, 0, SIZE)                                                 \
	X(MASKED, "masked_instructions", NULL, INT, 0, SIZE)                                       \
	X(SPECIAL, "special_instructions", NULL, INT, 0, SIZE)                                     \
	X(CYCLES, "l1_cycles", "cycles", REAL, 2, CYCLES)                                          \
	X(CYCLES_MIN, "min_cycles", NULL, REAL, 2, CYCLES)                                         \
	X(CYCLES_MAX, "max_cycles", NULL, REAL, 2, CYCLES)                                         \
	X(BOTTLENECK, "bottleneck", "bottleneck", TEXT, 0, CYCLES)                                 \
	X(PORTS, "ports_cycles", NULL, REAL, 2, CYCLES)                                            \
	X(DIVIDER, "divider_cycles", NULL, REAL, 2, CYCLES)                                        \
	X(ISSUE, "issue_cycles", NULL, REAL, 2, CYCLES)                                            \
	X(FRONT, "front_end_cycles", NULL, REAL, 2, CYCLES)                                        \
	X(LATENCY, "latency_cycles", NULL, REAL, 2, CYCLES)                                        \
	X(LATENCY_MIN, "latency_min_cycles", NULL, REAL, 2, CYCLES)                                \
	X(LATENCY_MAX, "latency_max_cycles", NULL, REAL, 2, CYCLES)                                \
	X(DIVIDER_MIN, "divider_min_cycles", NULL, REAL, 2, CYCLES)                                \
	X(DIVIDER_MAX, "divider_max_cycles", NULL, REAL, 2, CYCLES)                                \
	X(UNITS, "units_cycles", NULL, TEXT, 0, CYCLES)                                            \
	X(L2, "l2_cycles", NULL, REAL, 2, CYCLES)                                                  \
	X(L3, "l3_cycles", NULL, REAL, 2, CYCLES)                                                  \
	X(RAM, "ram_cycles", "RAM cycles", REAL, 2, CYCLES)                                        \
	X(MISSED, "mispredicted_cycles", NULL, REAL, 2, CYCLES)                                    \
	X(L2_MIN, "l2_min_cycles", NULL, REAL, 2, CYCLES)                                          \
	X(L2_MAX, "l2_max_cycles", NULL, REAL, 2, CYCLES)                                          \
	X(L3_MIN, "l3_min_cycles", NULL, REAL, 2, CYCLES)                                          \
	X(L3_MAX, "l3_max_cycles", NULL, REAL, 2, CYCLES)                                          \
	X(RAM_MIN, "ram_min_cycles", NULL, REAL, 2, CYCLES)                                        \
	X(RAM_MAX, "ram_max_cycles", NULL, REAL, 2, CYCLES)                                        \
	X(CLEAN, "clean_speedup", "clean", REAL, 2, VARIANTS)                                      \
	X(FP_VECTOR, "fp_vector_speedup", "FP vector", REAL, 2, VARIANTS)                          \
	X(FULL_VECTOR, "full_vector_speedup", "full vector", REAL, 2, VARIANTS)                    \
	X(NO_DEPENDENCE, "no_dependence_speedup", NULL, REAL, 2, VARIANTS)                         \
	X(NEXT, "next_bottleneck_speedup", NULL, REAL, 2, VARIANTS)                                \
	X(CLEAN_CYCLES, "clean_cycles", NULL, REAL, 2, VARIANTS)                                   \
	X(FP_VECTOR_CYCLES, "fp_vector_cycles", NULL, REAL, 2, VARIANTS)                           \
	X(FULL_VECTOR_CYCLES, "full_vector_cycles", NULL, REAL, 2, VARIANTS)                       \
	X(NO_DEPENDENCE_CYCLES, "no_dependence_cycles", NULL, REAL, 2, VARIANTS)                   \
	X(NEXT_CYCLES, "next_bottleneck_cycles", NULL, REAL, 2, VARIANTS)                          \
	X(CLEAN_RAM, "clean_ram_speedup", NULL, REAL, 2, VARIANTS)                                 \
	X(FP_VECTOR_RAM, "fp_vector_ram_speedup", NULL, REAL, 2, VARIANTS)                         \
	X(FULL_VECTOR_RAM, "full_vector_ram_speedup", NULL, REAL, 2, VARIANTS)                     \
	X(NO_DEPENDENCE_RAM, "no_dependence_ram_speedup", NULL, REAL, 2, VARIANTS)                 \
	X(NEXT_RAM, "next_bottleneck_ram_speedup", NULL, REAL, 2, VARIANTS)                        \
	X(WIDENING, "vector_passes", NULL, INT, 0, VARIANTS)                                       \
	X(IPC, "ipc", NULL, REAL, 2, RATES)                                                        \
	X(IPC_L2, "l2_ipc", NULL, REAL, 2, RATES)                                                  \
	X(IPC_L3, "l3_ipc", NULL, REAL, 2, RATES)                                                  \
	X(IPC_RAM, "ram_ipc", NULL, REAL, 2, RATES)                                                \
	X(FLOP, "flop", NULL, REAL, 0, MIX)                                                        \
	X(FLOP_RATE, "flop_per_cycle", NULL, REAL, 2, RATES)                                       \
	X(FLOP_RATE_L2, "l2_flop_per_cycle", NULL, REAL, 2, RATES)                                 \
	X(FLOP_RATE_L3, "l3_flop_per_cycle", NULL, REAL, 2, RATES)                                 \
	X(FLOP_RATE_RAM, "ram_flop_per_cycle", NULL, REAL, 2, RATES)                               \
	X(LOAD_RATE, "loaded_bytes_per_cycle", NULL, REAL, 2, RATES)                               \
	X(LOAD_RATE_L2, "l2_loaded_bytes_per_cycle", NULL, REAL, 2, RATES)                         \
	X(LOAD_RATE_L3, "l3_loaded_bytes_per_cycle", NULL, REAL, 2, RATES)                         \
	X(LOAD_RATE_RAM, "ram_loaded_bytes_per_cycle", NULL, REAL, 2, RATES)                       \
	X(STORE_RATE, "stored_bytes_per_cycle", NULL, REAL, 2, RATES)                              \
	X(STORE_RATE_L2, "l2_stored_bytes_per_cycle", NULL, REAL, 2, RATES)                        \
	X(STORE_RATE_L3, "l3_stored_bytes_per_cycle", NULL, REAL, 2, RATES)                        \
	X(STORE_RATE_RAM, "ram_stored_bytes_per_cycle", NULL, REAL, 2, RATES)                      \
	X(PEAK_ISSUE, "peak_issue_share", NULL, SHARE, 0, RATES)                                   \
	X(PEAK_FLOP, "peak_flop_share", NULL, SHARE, 0, RATES)                                     \
	X(PEAK_LOAD, "peak_load_share", NULL, SHARE, 0, RATES)                                     \
	X(PEAK_STORE, "peak_store_share", NULL, SHARE, 0, RATES)                                   \
	X(FLOP_ADD_SUB, "add_sub_flop", NULL, REAL, 0, MIX)                                        \
	X(FLOP_MUL, "mul_flop", NULL, REAL, 0, MIX)                                                \
	X(FLOP_FMA, "fma_flop", NULL, REAL, 0, MIX)                                                \
	X(FLOP_DIV, "div_flop", NULL, REAL, 0, MIX)                                                \
	X(FLOP_SQRT, "sqrt_flop", NULL, REAL, 0, MIX)                                              \
	X(RCP, "rcp_elements", NULL, INT, 0, MIX)                                                  \
	X(RSQRT, "rsqrt_elements", NULL, INT, 0, MIX)                                              \
	X(ADD_PER_MUL, "add_per_mul", NULL, REAL, 2, MIX)                                          \
	X(FMA_PAIRS, "fma_pairs", NULL, INT, 0, MIX)                                               \
	X(SUM_TIMES, "sums_multiplied", NULL, INT, 0, MIX)                                         \
	X(FP_SCALAR, "fp_scalar_instructions", NULL, INT, 0, MIX)                                  \
	X(FP_PACKED, "fp_packed_instructions", NULL, INT, 0, MIX)                                  \
	X(X87, "x87_instructions", NULL, INT, 0, MIX)                                              \
	X(CONVERSIONS, "conversions", NULL, INT, 0, MIX)                                           \
	X(DIVISIONS, "divisions", NULL, INT, 0, MIX)                                               \
	X(ELEMENTS, "element_types", NULL, TEXT, 0, MIX)                                           \
	X(ISA, "isa", NULL, TEXT, 0, MIX)                                                          \
	X(LEVEL, "x86_64_level", NULL, INT, 0, MIX)                                                \
	X(VALL, "vector_share", "vectorized", SHARE, 0, VECTOR)                                    \
	X(VLOAD, "vector_load_share", NULL, SHARE, 0, VECTOR)                                      \
	X(VSTORE, "vector_store_share", NULL, SHARE, 0, VECTOR)                                    \
	X(VADD, "vector_add_sub_share", NULL, SHARE, 0, VECTOR)                                    \
	X(VMUL, "vector_mul_share", NULL, SHARE, 0, VECTOR)                                        \
	X(VOTHER, "vector_other_share", NULL, SHARE, 0, VECTOR)                                    \
	X(EALL, "vector_efficiency_share", NULL, SHARE, 0, VECTOR)                                 \
	X(ELOAD, "vector_load_efficiency_share", NULL, SHARE, 0, VECTOR)                           \
	X(ESTORE, "vector_store_efficiency_share", NULL, SHARE, 0, VECTOR)                         \
	X(EADD, "vector_add_sub_efficiency_share", NULL, SHARE, 0, VECTOR)                         \
	X(EMUL, "vector_mul_efficiency_share", NULL, SHARE, 0, VECTOR)                             \
	X(EOTHER, "vector_other_efficiency_share", NULL, SHARE, 0, VECTOR)                         \
	X(VINT_ALL, "vector_int_share", NULL, SHARE, 0, VECTOR)                                    \
	X(VINT_LOAD, "vector_int_load_share", NULL, SHARE, 0, VECTOR)                              \
	X(VINT_STORE, "vector_int_store_share", NULL, SHARE, 0, VECTOR)                            \
	X(VINT_ADD, "vector_int_add_sub_share", NULL, SHARE, 0, VECTOR)                            \
	X(VINT_MUL, "vector_int_mul_share", NULL, SHARE, 0, VECTOR)                                \
	X(VINT_OTHER, "vector_int_other_share", NULL, SHARE, 0, VECTOR)                            \
	X(EINT_ALL, "vector_int_efficiency_share", NULL, SHARE, 0, VECTOR)                         \
	X(EINT_LOAD, "vector_int_load_efficiency_share", NULL, SHARE, 0, VECTOR)                   \
	X(EINT_STORE, "vector_int_store_efficiency_share", NULL, SHARE, 0, VECTOR)                 \
	X(EINT_ADD, "vector_int_add_sub_efficiency_share", NULL, SHARE, 0, VECTOR)                 \
	X(EINT_MUL, "vector_int_mul_efficiency_share", NULL, SHARE, 0, VECTOR)                     \
	X(EINT_OTHER, "vector_int_other_efficiency_share", NULL, SHARE, 0, VECTOR)                 \
	X(VFP_ALL, "vector_fp_share", NULL, SHARE, 0, VECTOR)                                      \
	X(VFP_LOAD, "vector_fp_load_share", NULL, SHARE, 0, VECTOR)                                \
	X(VFP_STORE, "vector_fp_store_share", NULL, SHARE, 0, VECTOR)                              \
	X(VFP_ADD, "vector_fp_add_sub_share", NULL, SHARE, 0, VECTOR)                              \
	X(VFP_MUL, "vector_fp_mul_share", NULL, SHARE, 0, VECTOR)                                  \
	X(VFP_OTHER, "vector_fp_other_share", NULL, SHARE, 0, VECTOR)                              \
	X(EFP_ALL, "vector_fp_efficiency_share", NULL, SHARE, 0, VECTOR)                           \
	X(EFP_LOAD, "vector_fp_load_efficiency_share", NULL, SHARE, 0, VECTOR)                     \
	X(EFP_STORE, "vector_fp_store_efficiency_share", NULL, SHARE, 0, VECTOR)                   \
	X(EFP_ADD, "vector_fp_add_sub_efficiency_share", NULL, SHARE, 0, VECTOR)                   \
	X(EFP_MUL, "vector_fp_mul_efficiency_share", NULL, SHARE, 0, VECTOR)                       \
	X(EFP_OTHER, "vector_fp_other_efficiency_share", NULL, SHARE, 0, VECTOR)                   \
	X(WIDTH, "width_bytes", NULL, INT, 0, VECTOR)                                              \
	X(LOADS, "loads", NULL, INT, 0, MEMORY)                                                    \
	X(STORES, "stores", NULL, INT, 0, MEMORY)                                                  \
	X(BYTES_LOADED, "loaded_bytes", NULL, INT, 0, MEMORY)                                      \
	X(BYTES_STORED, "stored_bytes", NULL, INT, 0, MEMORY)                                      \
	X(PREFETCHED, "prefetched_bytes", NULL, INT, 0, MEMORY)                                    \
	X(FROM_MEMORY, "new_bytes", NULL, INT, 0, MEMORY)                                          \
	X(INTENSITY, "flop_per_byte", NULL, REAL, 3, MEMORY)                                       \
	X(STRIDE_0, "stride_0_accesses", NULL, INT, 0, MEMORY)                                     \
	X(STRIDE_1, "stride_1_accesses", NULL, INT, 0, MEMORY)                                     \
	X(STRIDE_N, "stride_n_accesses", NULL, INT, 0, MEMORY)                                     \
	X(STRIDE_UNKNOWN, "stride_unknown_accesses", NULL, INT, 0, MEMORY)                         \
	X(INDIRECT, "indirect_accesses", NULL, INT, 0, MEMORY)                                     \
	X(FIELDS, "structure_accesses", NULL, INT, 0, MEMORY)                                      \
	X(STACK_REFS, "stack_references", NULL, INT, 0, MEMORY)                                    \
	X(STACK, "stack_bytes", NULL, INT, 0, MEMORY)                                              \
	X(GATHERS, "gathers", NULL, INT, 0, MEMORY)                                                \
	X(EFFICIENCY, "array_access_efficiency_share", NULL, SHARE, 0, MEMORY)                     \
	X(ADVICE, "advice", NULL, TEXT, 0, HINTS)                                                  \
	X(ADVICE_LEVEL, "advice_confidence", NULL, TEXT, 0, HINTS)                                 \
	X(ADVICE_ALL, "advice_subjects", NULL, TEXT, 0, HINTS)                                     \
	X(MISSING, "missing_options", NULL, TEXT, 0, HINTS)                                        \
	X(ESTIMATED, "estimated_instructions", NULL, INT, 0, TRUST)                                \
	X(UNDECODED, "undecoded_bytes", NULL, INT, 0, TRUST)                                       \
	X(LACKED, "lacked_extensions", NULL, TEXT, 0, TRUST)                                       \
	X(WEIGHED, "is_weighed", NULL, BOOL, 0, TRUST)                                             \
	X(WHY_NOT, "not_analysed", NULL, TEXT, 0, TRUST)

#define SN_CQA_GROUPS(X)                                                                           \
	X(IDENTITY, "identity")                                                                    \
	X(SOURCE, "source")                                                                        \
	X(FLOW, "flow")                                                                            \
	X(SIZE, "size")                                                                            \
	X(CYCLES, "cycles")                                                                        \
	X(VARIANTS, "variants")                                                                    \
	X(RATES, "rates")                                                                          \
	X(MIX, "mix")                                                                              \
	X(VECTOR, "vector")                                                                        \
	X(MEMORY, "memory")                                                                        \
	X(HINTS, "hints")                                                                          \
	X(TRUST, "trust")

#endif

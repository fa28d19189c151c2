/* Adds stacks into a tree, step by step, and sorts the children of each node by time. */
#include "profile/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

struct builder {
	struct sn_tree *tree;
	const struct sn_profile *profile;
	struct sn_tree_options options;
	struct sn_map children; /* parent and step number to node */
	struct sn_map steps;	/* (kind, index) and call line to a step number */
};

static uint32_t node_add(struct builder *b, uint32_t parent, uint32_t kind, uint32_t index,
			 uint32_t call_line)
{
	struct sn_tree_node node = {
		.parent = parent,
		.first_child = SN_NONE,
		.next_sibling = SN_NONE,
		.depth = parent == SN_NONE ? 0 : b->tree->nodes.items[parent].depth + 1,
		.kind = kind,
		.index = index,
		.call_line = call_line,
	};

	sn_vec_push(&b->tree->nodes, node);
	return (uint32_t)b->tree->nodes.count - 1;
}

/* A step's number is 2 * index + kind; with call lines, pairs of that and the line are numbered. */
static uint32_t step_number(struct builder *b, uint32_t kind, uint32_t index, uint32_t call_line)
{
	uint32_t number = 2 * index + kind;
	bool is_new;
	uint64_t *slot;

	if (!b->options.by_call_line)
		return number;
	slot = sn_map_put(&b->steps, (uint64_t)number << 32 | call_line, &is_new);
	if (is_new)
		*slot = b->steps.count - 1;
	return (uint32_t)*slot;
}

static uint32_t child_of(struct builder *b, uint32_t parent, uint32_t kind, uint32_t index,
			 uint32_t call_line)
{
	uint64_t key = (uint64_t)parent << 32 | step_number(b, kind, index, call_line);
	bool is_new;
	uint64_t *slot = sn_map_put(&b->children, key, &is_new);

	if (is_new)
		*slot = node_add(b, parent, kind, index, call_line);
	return (uint32_t)*slot;
}

static void stack_add_down(struct builder *b, const struct sn_step_vec *steps,
			   const struct sn_weight *weight)
{
	uint32_t node = 0, line = SN_NONE;

	sn_weight_add(&b->tree->nodes.items[0].inclusive, weight);
	for (size_t i = 0; i < steps->count; i++) {
		const struct sn_step *step = &steps->items[i];
		bool is_function = step->kind == SN_STEP_FUNCTION;

		if (is_function || !b->options.without_loops) {
			node = child_of(b, node, step->kind, step->index,
					b->options.by_call_line && is_function ? line : SN_NONE);
			sn_weight_add(&b->tree->nodes.items[node].inclusive, weight);
		}
		line = step->line;
	}
	sn_weight_add(&b->tree->nodes.items[node].exclusive, weight);
}

static void stack_add_up(struct builder *b, const struct sn_step_vec *steps,
			 const struct sn_weight *weight)
{
	uint32_t node = 0, line = SN_NONE;

	sn_weight_add(&b->tree->nodes.items[0].inclusive, weight);
	for (size_t i = steps->count; i-- > 0;) {
		const struct sn_step *step = &steps->items[i];

		if (step->kind != SN_STEP_FUNCTION)
			continue;
		if (node)
			line = step->line; /* where this caller calls the one below */
		node = child_of(b, node, SN_STEP_FUNCTION, step->index,
				b->options.by_call_line ? line : SN_NONE);
		sn_weight_add(&b->tree->nodes.items[node].inclusive, weight);
	}
	sn_weight_add(&b->tree->nodes.items[node].exclusive, weight);
}

/* ---- order ---- */

static const char *node_name(const struct builder *b, const struct sn_tree_node *node)
{
	const struct sn_program *program = b->profile->program;

	return node->kind == SN_STEP_LOOP ? program->loops.items[node->index].code->label
					  : program->functions.items[node->index].name;
}

static int nodes_compare(const void *left, const void *right, void *context)
{
	const struct builder *b = context;
	const struct sn_tree_node *x = &b->tree->nodes.items[*(const uint32_t *)left];
	const struct sn_tree_node *y = &b->tree->nodes.items[*(const uint32_t *)right];
	uint64_t tx = sn_weight_time(&x->inclusive, b->options.time);
	uint64_t ty = sn_weight_time(&y->inclusive, b->options.time);
	int by_name;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (tx != ty)
		return tx > ty ? -1 : 1;
	by_name = strcmp(node_name(b, x), node_name(b, y));
	return by_name ? by_name : (x > y) - (x < y);
}

static void children_link(struct builder *b)
{
	struct sn_tree_node *nodes = b->tree->nodes.items;
	size_t count = b->tree->nodes.count - 1;
	uint32_t *order = sn_alloc_zeroed(count + 1, sizeof(*order));

	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i + 1;
	qsort_r(order, count, sizeof(*order), nodes_compare, b);
	for (size_t i = count; i-- > 0;) {
		struct sn_tree_node *node = &nodes[order[i]];

		node->next_sibling = nodes[node->parent].first_child;
		nodes[node->parent].first_child = order[i];
	}
	free(order);
}

struct sn_tree *sn_tree_new(const struct sn_profile *profile, const struct sn_tree_options *options)
{
	struct sn_tree *tree = sn_alloc_zeroed(1, sizeof(*tree));
	struct builder b = { .tree = tree, .profile = profile, .options = *options };
	struct sn_step_vec steps = { 0 };

	tree->kind = options->kind;
	node_add(&b, SN_NONE, SN_STEP_FUNCTION, SN_NONE, SN_NONE);
	for (uint32_t s = 0; s <= profile->program->stack_count; s++) {
		const struct sn_weight *weight = &profile->stacks[s];

		if (!weight->cpu_ns && !weight->samples && !weight->waits)
			continue;
		sn_program_stack_steps(profile->program, s, &steps);
		if (options->kind == SN_TREE_CALLEES)
			stack_add_down(&b, &steps, weight);
		else
			stack_add_up(&b, &steps, weight);
	}
	children_link(&b);
	sn_vec_free(&steps);
	sn_map_free(&b.children);
	sn_map_free(&b.steps);
	return tree;
}

void sn_tree_free(struct sn_tree *tree)
{
	if (!tree)
		return;
	sn_vec_free(&tree->nodes);
	free(tree);
}

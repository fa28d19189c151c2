/* A small lattice in the language of Graphviz, for people who want to lay it out themselves. */
#include "pandore/lattice/draw.h"
#include "pandore/lattice/picture.h"

/* A string of Graphviz' language: quotes and backslashes escaped, control bytes left out. */
static void add_quoted(struct sn_text *dot, const char *chars)
{
	sn_text_add_char(dot, '"');
	for (; *chars; chars++) {
		if (*chars == '"' || *chars == '\\')
			sn_text_add_char(dot, '\\');
		if ((unsigned char)*chars >= ' ')
			sn_text_add_char(dot, *chars);
	}
	sn_text_add_char(dot, '"');
}

static void add_node(struct sn_text *dot, const struct sn_picture *picture, uint32_t node)
{
	const uint32_t *cut = sn_picture_cut(picture, node);

	sn_text_addf(dot, "  n%u [label=\"", node);
	for (uint32_t p = 0; p < picture->process_count; p++)
		sn_text_addf(dot, "%s%u", p ? "," : "", cut[p]);
	sn_text_addf(
		dot, "\", level=%u, out_degree=%u, fillcolor=\"%s\"", picture->levels[node],
		picture->degrees[node],
		sn_picture_colour(picture->degrees[node], picture->answer->profile.active_count));
	if (picture->process_count == 2)
		sn_text_addf(dot, ", pos=\"%u,%u!\"", cut[0], cut[1]);
	sn_text_add(dot, "];\n");
}

static void add_arcs(struct sn_text *dot, const struct sn_picture *picture, uint32_t node)
{
	const uint32_t *arcs = sn_lattice_graph_arcs(picture->graph, node);
	struct sn_text name = { 0 };

	for (uint32_t p = 0; p < picture->process_count; p++) {
		if (arcs[p] == SN_NODE_NONE)
			continue;
		sn_text_clear(&name);
		sn_picture_add_name(&name, picture->answer->execution, p,
				    sn_picture_cut(picture, node)[p] + 1, 60);
		sn_text_addf(dot, "  n%u -> n%u [process=%u, color=\"%s\", label=", node, arcs[p],
			     p, sn_picture_process_colour(p, picture->process_count));
		add_quoted(dot, name.chars ? name.chars : "");
		sn_text_add(dot, "];\n");
	}
	sn_text_free(&name);
}

sn_status sn_lattice_draw_dot(const struct sn_lattice_answer *answer, uint32_t exact_cuts,
			      FILE *out, struct sn_error *err)
{
	struct sn_picture picture;
	struct sn_text dot = { 0 };

	if (!sn_picture_make(&picture, answer, exact_cuts))
		return sn_error_set(
			err, SN_ERR_UNSUPPORTED,
			"lattice: more than %u cuts are not written as DOT; --svg draws the "
			"silhouette, or observe fewer events",
			exact_cuts);
	sn_text_add(&dot, "digraph lattice {\n  rankdir=LR;\n"
			  "  node [shape=circle, style=filled, fontsize=9];\n"
			  "  edge [fontsize=8, arrowsize=0.5];\n");
	for (uint32_t node = 0; node < picture.node_count; node++)
		add_node(&dot, &picture, node);
	for (uint32_t node = 0; node < picture.node_count; node++)
		add_arcs(&dot, &picture, node);
	sn_text_add(&dot, "}\n");
	fputs(dot.chars, out);
	sn_text_free(&dot);
	sn_picture_free(&picture);
	return SN_OK;
}

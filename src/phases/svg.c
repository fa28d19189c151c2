/* The ribbon of phases as a picture: a row a process, time from left to right. */
#include "base/text.h"
#include "phases/phases.h"

enum { WIDTH = 1000, LEFT = 80, RIGHT = 20, TOP = 30, BAR_MAX = 24, HEIGHT_MAX = 2400, TICKS = 8 };

/* Told apart by colour-blind people too (Okabe and Ito 2008); then lighter ones. */
static const char *const colours[] = { "#0072b2", "#e69f00", "#009e73", "#cc79a7",
				       "#56b4e9", "#d55e00", "#f0e442", "#999999",
				       "#66aad2", "#f0c566", "#66c5ab", "#e0afca" };

struct picture {
	const struct sn_phases *phases;
	struct sn_text text;
	double seconds, pitch; /* of the time axis; of rows */
	uint32_t bars;
};

static double x_of(const struct picture *pic, double seconds)
{
	return LEFT + (WIDTH - LEFT - RIGHT) * (pic->seconds > 0 ? seconds / pic->seconds : 0);
}

static const char *colour_of(uint32_t phase)
{
	return colours[phase % (sizeof(colours) / sizeof(*colours))];
}

/* One rectangle for neighbours of one phase. */
static size_t run_draw(struct picture *pic, size_t from, double y)
{
	const struct sn_phases *p = pic->phases;
	const struct sn_interval_row *rows = p->intervals->rows.items;
	double step = (double)p->intervals->interval_ns / 1e9;
	uint32_t phase = p->phase_of[from];
	size_t r = from;
	double x0, x1;

	while (r < p->intervals->row_count && rows[r].process == rows[from].process &&
	       p->phase_of[r] == phase)
		r++;
	if (phase == SN_NONE)
		return r;
	x0 = x_of(pic, rows[from].number * step);
	x1 = x_of(pic, (double)rows[r - 1].end_ns / 1e9);
	sn_text_addf(&pic->text,
		     "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\">"
		     "<title>",
		     x0, y, x1 - x0, pic->pitch * 0.85, colour_of(phase));
	sn_text_addf(&pic->text, "%u ", phase);
	sn_text_add_html(&pic->text, p->phases.items[phase].name);
	sn_text_add(&pic->text, "</title></rect>\n");
	return r;
}

static void bars_draw(struct picture *pic)
{
	const struct sn_phases *p = pic->phases;
	const struct sn_interval_row *rows = p->intervals->rows.items;
	uint32_t bar = 0;

	for (size_t r = 0; r < p->intervals->row_count; bar++) {
		uint32_t process = rows[r].process;
		int32_t rank = p->profile->experiment->processes.items[process].rank;
		double y = TOP + bar * pic->pitch;

		if (pic->pitch >= 8 || bar % (1 + (uint32_t)(12 / pic->pitch)) == 0)
			sn_text_addf(&pic->text,
				     "<text x=\"%d\" y=\"%.2f\" text-anchor=\"end\">%s %d</text>\n",
				     LEFT - 6, y + pic->pitch * 0.65,
				     rank >= 0 ? "rank" : "process",
				     rank >= 0 ? rank : (int32_t)process);
		while (r < p->intervals->row_count && rows[r].process == process)
			r = run_draw(pic, r, y);
	}
}

static void axis_draw(struct picture *pic, double y)
{
	for (int i = 0; i <= TICKS; i++) {
		double seconds = pic->seconds * i / TICKS;

		sn_text_addf(&pic->text,
			     "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"middle\">%.3g s</text>\n",
			     x_of(pic, seconds), y, seconds);
	}
}

static void legend_draw(struct picture *pic, double y)
{
	for (size_t i = 0; i < pic->phases->phases.count; i++) {
		const struct sn_phase *phase = &pic->phases->phases.items[i];
		double row = y + 18 * (double)i;

		sn_text_addf(&pic->text,
			     "<rect x=\"%d\" y=\"%.2f\" width=\"12\" height=\"12\" fill=\"%s\"/>"
			     "<text x=\"%d\" y=\"%.2f\">%zu ",
			     LEFT, row - 10, colour_of((uint32_t)i), LEFT + 18, row, i);
		sn_text_add_html(&pic->text, phase->name);
		sn_text_addf(&pic->text, " (%.1f %%)</text>\n", 100 * phase->share);
	}
}

void sn_phases_write_svg(const struct sn_phases *phases, FILE *out)
{
	struct picture pic = { .phases = phases };
	const struct sn_intervals *intervals = phases->intervals;
	double bottom;

	for (size_t r = 0; r < intervals->row_count; r++) {
		double end = (double)intervals->rows.items[r].end_ns / 1e9;

		pic.bars += !r || intervals->rows.items[r].process !=
					  intervals->rows.items[r - 1].process;
		pic.seconds = end > pic.seconds ? end : pic.seconds;
	}
	pic.pitch = pic.bars * BAR_MAX <= HEIGHT_MAX ? BAR_MAX : (double)HEIGHT_MAX / pic.bars;
	bottom = TOP + pic.bars * pic.pitch;
	sn_text_addf(&pic.text,
		     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
		     "font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n"
		     "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text x=\"%d\" "
		     "y=\"18\">",
		     WIDTH, bottom + 40 + 18 * (double)phases->phases.count, LEFT);
	sn_text_add_html(&pic.text, phases->profile->experiment->name
					    ? phases->profile->experiment->name
					    : "phases");
	sn_text_add(&pic.text, "</text>\n");
	bars_draw(&pic);
	axis_draw(&pic, bottom + 14);
	legend_draw(&pic, bottom + 40);
	sn_text_add(&pic.text, "</svg>\n");
	fwrite(pic.text.chars, 1, pic.text.length, out);
	sn_text_free(&pic.text);
}

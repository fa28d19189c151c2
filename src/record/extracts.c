/*
 * After the run: which addresses of which modules were sampled, and an extract of each (code,
 * symbols, lines, source), so that the experiment can be read on another machine. Name lists of
 * just-in-time compilers are copied, too, before another process overwrites them.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/progress.h"
#include "code/extract.h"
#include "code/image.h"
#include "code/jit.h"
#include "code/structure.h"
#include "experiment/experiment.h"
#include "record/record.h"

/* Source text goes along for modules with at least this share of the samples' CPU time. */
static const double source_share_least = 0.001;

struct module_use {
	SN_VEC(uint64_t) link_addrs;
	uint64_t cpu_ns;
};

static void stack_use(const struct sn_experiment *e, uint32_t stack_index, uint64_t cpu_ns,
		      struct module_use *uses, bool *is_seen)
{
	const struct sn_stack *stack;

	if (stack_index == SN_NONE)
		return;
	stack = &e->stacks.items[stack_index];
	if (stack->depth)
		uses[stack->frames[0].module].cpu_ns += cpu_ns;
	if (is_seen[stack_index])
		return;
	is_seen[stack_index] = true;
	for (uint32_t i = 0; i < stack->depth; i++) {
		/* A return address belongs to the call before it. */
		uint64_t link_addr = stack->frames[i].link_addr - (i > 0);

		sn_vec_push(&uses[stack->frames[i].module].link_addrs, link_addr);
	}
}

static void module_keep(const struct sn_experiment *e, size_t index, const struct module_use *use,
			double share, const struct sn_record_options *options)
{
	const struct sn_module *module = &e->modules.items[index];
	struct sn_image_options image_options = { .debug_folders = options->debug_folders,
						  .debug_folder_count = options->debug_folder_count,
						  .ask_debuginfod = options->ask_debuginfod };
	struct sn_extract_options extract_options = { .with_source = !options->without_source &&
								     share >= source_share_least };
	struct sn_module_code *code;
	struct sn_text path = { 0 };
	struct sn_error err;

	if (sn_module_code_open(module->path, &image_options, use->link_addrs.items,
				use->link_addrs.count, &code, &err) != SN_OK)
		return; /* gone or damaged: readers say so at the number */
	if (module->build_id[0] && strcmp(sn_module_code_id(code), module->build_id) != 0 &&
	    sn_module_code_has_build_id(code))
		goto out; /* the file was replaced while the target ran */
	sn_text_addf(&path, "%s/extracts/%s.extract", e->path, sn_module_code_id(code));
	if (sn_module_code_write(code, &extract_options, path.chars, &err) != SN_OK)
		sn_error_print(&err);
out:
	sn_text_free(&path);
	sn_module_code_free(code);
}

/* ---- names of generated code ---- */

static const size_t jit_list_most_bytes = (size_t)64 << 20;

static void file_keep(const char *from, const char *to)
{
	struct sn_file_writer writer;
	struct sn_file_view view;
	struct sn_error err;

	if (!access(to, F_OK) || sn_file_map(from, &view, &err) != SN_OK)
		return;
	if (view.length > jit_list_most_bytes) {
		sn_warn("'%s' is larger than %zu MB and was not kept; names of generated code are "
			"known only as long as it stays there",
			from, jit_list_most_bytes >> 20);
	} else if (sn_file_writer_open(&writer, to, &err) != SN_OK) {
		sn_error_print(&err);
	} else {
		fwrite(view.bytes, 1, view.length, writer.out);
		if (sn_file_writer_commit(&writer, &err) != SN_OK)
			sn_error_print(&err);
	}
	sn_file_unmap(&view);
}

/* Maps lie in /tmp, where the next process of that number overwrites them; a jitdump is mapped by
 * its writer, which is how its path is known. */
static void jit_lists_keep(const struct sn_experiment *e)
{
	struct sn_text from = { 0 }, to = { 0 };

	for (size_t i = 0; i < e->processes.count; i++) {
		sn_text_clear(&from);
		sn_text_clear(&to);
		sn_text_addf(&from, "/tmp/perf-%d.map", e->processes.items[i].pid);
		sn_text_addf(&to, "%s/perf-%d.map", e->path, e->processes.items[i].pid);
		if (sn_jit_list_is_since(from.chars, e->started_realtime_ns))
			file_keep(from.chars, to.chars);
	}
	for (size_t i = 0; i < e->modules.count; i++) {
		const char *path = e->modules.items[i].path, *slash = strrchr(path, '/');
		int pid;

		if (!slash || sscanf(slash, "/jit-%d.dump", &pid) != 1 ||
		    !sn_jit_list_is_since(path, e->started_realtime_ns))
			continue;
		sn_text_clear(&to);
		sn_text_addf(&to, "%s/jit-%d.dump", e->path, pid);
		file_keep(path, to.chars);
	}
	sn_text_free(&from);
	sn_text_free(&to);
}

/* Module after module takes some megabytes and gives them back. A page of the kernel costs 1.3 us, two thousand for
 * the C library's debug sections: so what is given back stays here, and comes in large pages where there are such. */
static void memory_prepare(void)
{
	enum { LARGE_PAGE = 2 << 20, LARGEST_IN_HEAP = 32 << 20, FIRST_BLOCK = 4 << 20 };
	uintptr_t first, end;

	mallopt(M_MMAP_THRESHOLD, LARGEST_IN_HEAP);
	mallopt(M_TRIM_THRESHOLD, 2 * LARGEST_IN_HEAP);
	mallopt(M_TOP_PAD, LARGEST_IN_HEAP);
	first = ((uintptr_t)sbrk(0) + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
	free(sn_alloc(FIRST_BLOCK));
	end = (uintptr_t)sbrk(0) / LARGE_PAGE * LARGE_PAGE;
	if (end > first)
		madvise((void *)first, end - first, MADV_HUGEPAGE);
	mallopt(M_TOP_PAD, LARGE_PAGE);
}

void sn_record_extracts(const char *experiment_path, const struct sn_record_options *options)
{
	struct sn_progress progress;
	struct sn_experiment *e;
	struct module_use *uses;
	struct sn_text folder = { 0 };
	struct sn_error err;
	uint64_t total_ns = 1;
	bool *is_seen;

	if (sn_experiment_open(experiment_path, &e, &err) != SN_OK) {
		sn_error_print(&err);
		return;
	}
	memory_prepare();
	sn_text_addf(&folder, "%s/extracts", experiment_path);
	mkdir(folder.chars, 0777);
	uses = sn_alloc_zeroed(e->modules.count, sizeof(*uses));
	is_seen = sn_alloc_zeroed(e->stacks.count, sizeof(*is_seen));
	for (size_t i = 0; i < e->samples.count; i++) {
		total_ns += e->samples.items[i].cpu_ns;
		stack_use(e, e->samples.items[i].stack, e->samples.items[i].cpu_ns, uses, is_seen);
	}
	for (size_t i = 0; i < e->waits.count; i++)
		stack_use(e, e->waits.items[i].stack, 0, uses, is_seen);
	for (size_t i = 0; i < e->instances.count; i++)
		stack_use(e, e->instances.items[i].stack, 0, uses, is_seen);
	for (size_t i = 0; i < e->block_counts.count; i++)
		stack_use(e, e->block_counts.items[i].stack, 0, uses, is_seen);
	for (size_t i = 0; i < e->tallies.count; i++)
		stack_use(e, e->tallies.items[i].stack, 0, uses, is_seen);
	sn_progress_begin(&progress, "keeping code and symbols", e->modules.count);
	for (size_t i = 0; i < e->modules.count; i++) {
		sn_progress_update(&progress, i);
		if (uses[i].link_addrs.count && e->modules.items[i].kind == SN_MODULE_FILE)
			module_keep(e, i, &uses[i], (double)uses[i].cpu_ns / (double)total_ns,
				    options);
		sn_vec_free(&uses[i].link_addrs);
	}
	sn_progress_end(&progress);
	jit_lists_keep(e);
	free(uses);
	free(is_seen);
	sn_text_free(&folder);
	sn_experiment_free(e);
}

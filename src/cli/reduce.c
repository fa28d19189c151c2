/* sonde reduce: the ranks of each node summed up, so that tables of a large run come soon. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "base/vec.h"
#include "cli/command.h"
#include "cli/record.h"
#include "experiment/reduction.h"
#include "experiment/store.h"
#include "experiment/unpack.h"
#include "profile/reduce.h"
#include "record/launch_key.h"
#include "wire/data.h"

/* From so many ranks on a launch is reduced as it ends: before, reading all data takes no longer than a second. */
enum { RANKS_MANY = 64 };

static const struct sn_option reduce_options[] = { { 0 } };

static const char *const reduce_examples[] = {
	"sonde reduce sonde.app.1",
	"Sum up the ranks of each node; 'sonde show functions' then reads the sums.",
	"mpirun -n 16 sonde reduce sonde.app.1",
	"The same by sixteen processes, which share the nodes among them.",
	NULL,
};

static sn_status node_reduce(const char *path, const char *host, struct sn_error *err)
{
	struct sn_node node;
	struct sn_experiment *sums;
	sn_status status = sn_node_read(path, host, &node, err);

	if (status != SN_OK)
		return status;
	sums = sn_reduce(node.experiment);
	status = sn_reduction_write(path, &node, sums, err);
	sn_experiment_free(sums);
	sn_node_free(&node);
	return status;
}

void sn_cli_reduce_at_end(const char *path)
{
	char host[SN_DATA_HOST_MAX] = "";
	struct sn_error err;
	int32_t rank, count;

	sn_launch_place(&rank, &count);
	gethostname(host, sizeof(host) - 1);
	if (count < RANKS_MANY || !sn_node_has_ended(path, host))
		return;
	if (node_reduce(path, host, &err) != SN_OK)
		sn_error_print(&err); /* the data are there, and are read */
}

static int reduce_run(const struct sn_args *args)
{
	struct sn_text path = { 0 };
	struct sn_error err;
	sn_strings hosts = { 0 };
	int32_t rank, count;
	sn_status status;

	if (args->operand_count > 1) {
		sn_warn("reduce takes one experiment; '%s' is too many", args->operands[1]);
		return SN_EXIT_USAGE;
	}
	if (args->operand_count && sn_is_archive(args->operands[0])) {
		sn_warn("'%s' is an archive, which stays as it is; reduce the folder that it was made of",
			args->operands[0]);
		return SN_EXIT_USAGE;
	}
	sn_launch_place(&rank, &count);
	status = sn_store_resolve(args->operand_count ? args->operands[0] : NULL, &path, &err);
	if (status == SN_OK)
		status = sn_nodes_find(path.chars, &hosts, &err);
	for (size_t i = (size_t)rank; status == SN_OK && i < hosts.count; i += (size_t)count)
		if ((status = node_reduce(path.chars, hosts.items[i], &err)) == SN_OK)
			printf("%s/%s.reduced\n", path.chars, hosts.items[i]);
	sn_vec_free_owned(&hosts);
	sn_text_free(&path);
	return status == SN_OK ? SN_EXIT_OK : sn_error_print(&err);
}

const struct sn_command sn_command_reduce = {
	.name = "reduce",
	.operands = "[EXPERIMENT]",
	.summary = "Sums up the ranks of each node of a large run",
	.description =
		"Writes a file HOST.reduced into EXPERIMENT (a folder; @0, the newest here, is the "
		"default) for each node: for each thread and call path a sum, and what the order "
		"of samples tells of the accuracy. Tables that show sums (functions, loops and "
		"their kin) read these files in place of the data, where they are asked for "
		"the whole run; all others read the data as before. A file that its data do "
		"not match any more is left alone.\n\n"
		"A launch of 64 ranks or more is reduced as it ends: whoever is the last of its node "
		"does it.\n\n"
		"Under mpirun or srun the processes share the nodes among them, and the files are "
		"the same.",
	.options = reduce_options,
	.examples = reduce_examples,
	.run = reduce_run,
};

/** What the files of this folder share. */
#ifndef SN_MPI_LATTICE_PARTS_H
#define SN_MPI_LATTICE_PARTS_H

#include "mpi/lattice/order.h"
#include "mpi/sites.h"

/** An event of the execution before it is one. */
struct sn_mpi_node {
	uint32_t process;     /* of the execution */
	uint32_t event;	      /* of MPI; SN_NONE: a label */
	const char *label;    /* else NULL */
	int64_t time_ns;      /* its place in its process */
	int64_t t0_ns, t1_ns; /* that it spans: work, then the call without its waiting */
	uint32_t sequence;
	bool is_begin; /* of a call that has a second node */
	bool is_idle;  /* it only asked, and found nothing */
	double work_s, call_s;
	uint64_t work_key, call_key;  /* nodes that do the same */
	struct sn_mpi_site work_site; /* where most samples of such work lie; SN_NONE: no sample */
};

struct sn_mpi_nodes {
	const struct sn_program *program;
	const struct sn_mpi *mpi;
	SN_VEC(struct sn_mpi_node) items; /* by process, then time */
	uint32_t process_count;
	uint32_t *process_of;  /* of the experiment -> of the execution; SN_NONE */
	uint32_t *first;       /* by process, and one more */
	uint32_t *begin, *end; /* by event of MPI: its nodes; the same if it has one; SN_NONE */
};

/** points.c: whether a node is one of the points; `zone` is the last label of its process, or NULL. */
bool sn_mpi_points_have(const struct sn_mpi_points *points, const struct sn_program *program,
			const struct sn_mpi *mpi, const struct sn_mpi_node *node,
			struct sn_mpi_site site, const char *zone);

/** work.c: the first node of a process that ended at this time or later; NULL: none did. */
const struct sn_mpi_node *sn_mpi_node_at(const struct sn_mpi_nodes *nodes, uint32_t process,
					 int64_t time_ns);

/** durations.c: fills work_s and call_s of all nodes. */
void sn_mpi_durations_set(struct sn_mpi_nodes *nodes);

/** work.c: fills work_site of all nodes; `sites` by stack. After the durations are set. */
void sn_mpi_work_sites_find(struct sn_mpi_nodes *nodes, const struct sn_mpi_site *sites);

/** races.c */
void sn_mpi_races_find(const struct sn_mpi_nodes *nodes, struct sn_mpi_order *order);

#endif
